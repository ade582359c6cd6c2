/**
 * When an opening may be tried again. Pure: the clock and the dice are arguments.
 *
 * @module
 */

/** Delays between openings that keep failing; `false` for none. */
export interface BackoffLimits {
  /** Delay after the second failure in a row, in milliseconds. */
  initialMs: number;
  /** Longest delay, in milliseconds. */
  maxMs: number;
}

/** What is remembered of a configuration that cannot be opened. */
interface Failing {
  failures: number;
  failedAt: number;
  delayMs: number;
  lastError: unknown;
}

/** Configurations remembered for one key. Callers that alternate use two; one that rotates a secret uses any number. */
const MAX_REMEMBERED = 8;

/**
 * The openings of one key, for each fingerprint. The first failure delays nothing; from the second in a row the delay
 * doubles, with jitter of at most a quarter, so that many clients of one server do not return at the same moment.
 */
export class OpenBackoff {
  readonly #failing = new Map<string, Failing>();

  /**
   * @param fingerprint what is to be opened
   * @returns the failure that its delay is owed to
   */
  lastError(fingerprint: string): unknown {
    return this.#failing.get(fingerprint)?.lastError;
  }

  /**
   * @param fingerprint what is to be opened
   * @param now milliseconds
   * @returns how long to wait, `0` when an opening may be tried
   */
  waitMs(fingerprint: string, now: number): number {
    const failing = this.#failing.get(fingerprint);
    if (!failing) return 0;
    const elapsed = now - failing.failedAt;
    // A clock that was set back would make the wait endless.
    return elapsed < 0 ? 0 : Math.max(0, failing.delayMs - elapsed);
  }

  /** An opening failed. */
  failed(fingerprint: string, error: unknown, limits: BackoffLimits | false, now: number, random: number): void {
    const failures = (this.#failing.get(fingerprint)?.failures ?? 0) + 1;
    const doublings = failures - 2;
    const delayMs = limits === false || doublings < 0
      ? 0
      : Math.ceil(Math.min(limits.maxMs, limits.initialMs * 2 ** Math.min(doublings, 30)) * (1 - random / 4));
    this.#failing.delete(fingerprint); // Put at the end: the one that failed longest ago is forgotten first.
    this.#failing.set(fingerprint, { failures, failedAt: now, delayMs, lastError: error });
    if (this.#failing.size > MAX_REMEMBERED) this.#failing.delete(this.#failing.keys().next().value!);
  }

  /** An opening succeeded. */
  succeeded(fingerprint: string): void {
    this.#failing.delete(fingerprint);
  }
}
