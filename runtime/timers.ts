/**
 * Timers that never keep a program alive by themselves.
 *
 * @module
 */

/** A timer that was started; opaque. */
export type Timer = ReturnType<typeof setTimeout>;

interface TimerRuntime {
  Deno?: { unrefTimer?: (id: number) => void };
}

/**
 * Starts a timer that does not keep the program alive.
 *
 * @param callback called once, after `ms`
 * @param ms milliseconds, at most 2³¹−1; `Infinity` starts none
 * @returns the timer, for `clearTimeout`; `undefined` when none was started
 */
export function startTimer(callback: () => void, ms: number): Timer | undefined {
  if (ms === Infinity) return undefined;
  const timer = setTimeout(callback, ms);
  if (typeof timer === "object") (timer as { unref?: () => void }).unref?.();
  else (globalThis as TimerRuntime).Deno?.unrefTimer?.(timer);
  return timer;
}

/**
 * Waits for a promise, but not for ever.
 *
 * @param promise what to wait for
 * @param ms milliseconds; `Infinity` for no limit
 * @returns true when the promise settled in time, however it did
 */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: Timer | undefined;
  const expired = new Promise<boolean>((resolve) => timer = startTimer(() => resolve(false), ms));
  const settled = promise.then(() => true, () => true);
  try {
    return await Promise.race([settled, expired]);
  } finally {
    clearTimeout(timer);
  }
}
