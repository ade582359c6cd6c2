/**
 * The two limits of a call that was sent: silence, which progress ends, and the total, which nothing extends.
 *
 * @module
 */
import { startTimer, type Timer } from "./timers.ts";

/** Watches one call. Started by its constructor, which happens when the call is handed to the transport. */
export class CallClock {
  readonly #timeoutMs: number;
  readonly #totalMs: number;
  readonly #onExpire: (elapsedMs: number, limitMs: number) => void;
  // Wall time: it is what fake clocks move, and it is only read to measure the total of a call that reported progress.
  readonly #startedAt = Date.now();
  #timer: Timer | undefined;

  /**
   * @param timeoutMs longest silence, in milliseconds; `Infinity` for no limit
   * @param totalMs longest duration, in milliseconds; `Infinity` for no limit
   * @param onExpire called once when either runs out, with the time passed and the limit that it hit
   */
  constructor(timeoutMs: number, totalMs: number, onExpire: (elapsedMs: number, limitMs: number) => void) {
    this.#timeoutMs = timeoutMs;
    this.#totalMs = totalMs;
    this.#onExpire = onExpire;
    this.#arm(totalMs);
  }

  /** The server reported progress: the silence starts anew, the total goes on. */
  progress(): void {
    clearTimeout(this.#timer);
    this.#arm(Math.max(0, this.#totalMs - (Date.now() - this.#startedAt)));
  }

  /** The call is over. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #arm(remainingTotalMs: number): void {
    const limit = this.#timeoutMs <= remainingTotalMs ? this.#timeoutMs : this.#totalMs;
    this.#timer = startTimer(
      () => this.#onExpire(Date.now() - this.#startedAt, limit),
      Math.min(this.#timeoutMs, remainingTotalMs),
    );
  }
}
