/** Waiting for a time. */

/** How to wait. */
export interface DelayOptions {
  /** Gives the wait up: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Whether the wait keeps the process alive. It does by default. */
  persistent?: boolean;
}

/** The longest wait that one timer can make. */
const LONGEST = 2 ** 31 - 1;

/**
 * Resolves after a number of milliseconds.
 *
 * A difference from `@std/async`: `persistent: false` is honoured for the parts of a wait too long for one timer, too.
 */
export function delay(ms: number, options: DelayOptions = {}): Promise<void> {
  const { signal, persistent = true } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout>;
  const giveUp = () => {
    clearTimeout(timer);
    reject(signal?.reason);
  };
  const wait = (left: number) => {
    const part = Math.min(left, LONGEST);
    timer = setTimeout(() => {
      if (left > part) return wait(left - part);
      signal?.removeEventListener("abort", giveUp);
      resolve();
    }, part);
    if (!persistent) Deno.unrefTimer(timer);
  };
  wait(Math.trunc(Math.max(ms, 0)) || 0);
  signal?.addEventListener("abort", giveUp, { once: true });
  return promise;
}
