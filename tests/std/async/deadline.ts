/** Bounding the time a promise may take. */

import { abortable } from "./abortable.ts";

/** What else bounds the wait. */
export interface DeadlineOptions {
  /** Gives the wait up: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Follows a promise for a number of milliseconds at most, and then rejects with a `DOMException` named `TimeoutError`.
 */
export async function deadline<T>(p: Promise<T>, ms: number, options: DeadlineOptions = {}): Promise<T> {
  const bounds = options.signal ? [options.signal] : [];
  if (ms < Number.MAX_SAFE_INTEGER) bounds.push(AbortSignal.timeout(ms));
  return await abortable(p, AbortSignal.any(bounds));
}
