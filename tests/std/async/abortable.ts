/** Giving up on a promise or an async iterable. */

/** Follows a promise until a signal aborts, and then rejects with the signal's reason. */
export function abortable<T>(p: Promise<T>, signal: AbortSignal): Promise<T>;
/** Follows an async iterable until a signal aborts, and then throws the signal's reason. */
export function abortable<T>(p: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T>;
export function abortable<T>(
  p: Promise<T> | AsyncIterable<T>,
  signal: AbortSignal,
): Promise<T> | AsyncGenerator<T> {
  return p instanceof Promise ? until(p, signal) : iterateUntil(p, signal);
}

function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

async function* iterateUntil<T>(iterable: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  signal.throwIfAborted();
  const source = iterable[Symbol.asyncIterator]();
  let ended = false;
  try {
    while (true) {
      const step = await until(source.next(), signal);
      if (step.done) {
        ended = true;
        return step.value;
      }
      yield step.value;
    }
  } finally {
    if (!ended) await source.return?.();
  }
}
