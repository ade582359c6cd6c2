/**
 * The two limits of a call that was sent: silence, which progress ends, and the total, which nothing extends.
 *
 * @module
 */
import { startTimer, type Timer } from "./timers.ts";

/** Told once, with the time passed and the limit that was hit. */
type OnExpire = (elapsedMs: number, limitMs: number) => void;

/**
 * The clocks of one client's calls. One timer serves them all and outlives them: starting and clearing one for each
 * call costs a tenth of a small exchange over HTTP.
 */
export class CallClocks {
  readonly #running = new Set<CallClock>();
  #timer: Timer | undefined;
  #firesAt = Infinity;

  /**
   * Starts the clock of a call that is handed to the transport.
   *
   * @param timeoutMs longest silence, in milliseconds; `Infinity` for no limit
   * @param totalMs longest duration, in milliseconds; `Infinity` for no limit
   * @param onExpire called once when either runs out
   * @returns the clock
   */
  start(timeoutMs: number, totalMs: number, onExpire: OnExpire): CallClock {
    const clock = new CallClock(timeoutMs, totalMs, onExpire, this);
    this.#running.add(clock);
    this.#arm(clock.expiresAt);
    return clock;
  }

  /** @param clock a clock that is not needed any more */
  remove(clock: CallClock): void {
    this.#running.delete(clock);
  }

  /** Stops the timer; for the end of the client. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#running.clear();
    this.#firesAt = Infinity;
  }

  #arm(at: number): void {
    if (at >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    this.#timer = startTimer(() => this.#fire(at), Math.max(0, at - Date.now()));
  }

  #fire(at: number): void {
    this.#firesAt = Infinity;
    // The planned time counts, not the wall clock, which a runtime's timer may be ahead of by a fraction.
    for (const clock of [...this.#running]) {
      if (clock.expiresAt > at) continue;
      this.#running.delete(clock);
      clock.expire();
    }
    let next = Infinity;
    for (const { expiresAt } of this.#running) next = Math.min(next, expiresAt);
    this.#arm(next);
  }
}

/** Watches one call. */
export class CallClock {
  /** When it runs out unless there is progress. */
  expiresAt: number;
  readonly #timeoutMs: number;
  readonly #totalMs: number;
  readonly #onExpire: OnExpire;
  readonly #clocks: CallClocks;
  // Wall time: it is what fake clocks move.
  readonly #startedAt = Date.now();

  /** Made by {@linkcode CallClocks.start}. */
  constructor(timeoutMs: number, totalMs: number, onExpire: OnExpire, clocks: CallClocks) {
    this.#timeoutMs = timeoutMs;
    this.#totalMs = totalMs;
    this.#onExpire = onExpire;
    this.#clocks = clocks;
    this.expiresAt = this.#startedAt + Math.min(timeoutMs, totalMs);
  }

  /** The server reported progress: the silence starts anew, the total goes on. */
  progress(): void {
    this.expiresAt = Math.min(Date.now() + this.#timeoutMs, this.#startedAt + this.#totalMs);
  }

  /** The call is over. */
  stop(): void {
    this.#clocks.remove(this);
  }

  /** Its time has run out. */
  expire(): void {
    const silence = this.expiresAt < this.#startedAt + this.#totalMs;
    this.#onExpire(Date.now() - this.#startedAt, silence ? this.#timeoutMs : this.#totalMs);
  }
}
