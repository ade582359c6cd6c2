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

/**
 * The openings of one key and fingerprint. The first failure delays nothing; from the second in a row the delay doubles,
 * with jitter of at most a quarter, so that many clients of one server do not return at the same moment.
 */
export class OpenBackoff {
  #fingerprint: string | undefined;
  #failures = 0;
  #failedAt = 0;
  #delayMs = 0;
  #lastError: unknown;

  /** The failure that the delay is owed to. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Whether there is anything to remember. */
  get clear(): boolean {
    return this.#failures === 0;
  }

  /**
   * @param fingerprint what is to be opened
   * @param now milliseconds
   * @returns how long to wait, `0` when an opening may be tried
   */
  waitMs(fingerprint: string, now: number): number {
    if (fingerprint !== this.#fingerprint) return 0;
    const elapsed = now - this.#failedAt;
    // A clock that was set back would make the wait endless.
    return elapsed < 0 ? 0 : Math.max(0, this.#delayMs - elapsed);
  }

  /** An opening failed. */
  failed(fingerprint: string, error: unknown, limits: BackoffLimits | false, now: number, random: number): void {
    this.#failures = fingerprint === this.#fingerprint ? this.#failures + 1 : 1;
    this.#fingerprint = fingerprint;
    this.#lastError = error;
    this.#failedAt = now;
    const doublings = this.#failures - 2;
    this.#delayMs = limits === false || doublings < 0
      ? 0
      : Math.ceil(Math.min(limits.maxMs, limits.initialMs * 2 ** Math.min(doublings, 30)) * (1 - random / 4));
  }

  /** An opening succeeded. */
  succeeded(): void {
    this.#failures = this.#delayMs = 0;
    this.#fingerprint = this.#lastError = undefined;
  }
}
