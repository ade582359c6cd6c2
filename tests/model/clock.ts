/**
 * The time of the model: fake, moved from one timer to the next, with a register of the timers that are left.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { FakeTime } from "@std/testing/time";

/** Fake time that lets promises settle between two timers, as a real event loop does. */
export class ModelClock {
  readonly #time = new FakeTime(1_000_000);
  readonly #due = new Map<unknown, number>();
  readonly #servers = new Set<unknown>();

  constructor() {
    const { setTimeout: start, clearTimeout: clear } = globalThis;
    globalThis.setTimeout = ((callback: () => void, ms = 0) => {
      const id = start(() => {
        this.#due.delete(id);
        callback();
      }, ms);
      this.#due.set(id, this.now + ms);
      return id;
    }) as typeof setTimeout;
    globalThis.clearTimeout = (id) => {
      if (id !== undefined) this.#due.delete(id);
      clear(id);
    };
  }

  /** Milliseconds. */
  get now(): number {
    return Date.now();
  }

  /** Timers of the library that were started and neither fired nor were cleared. */
  get pending(): number {
    return [...this.#due.keys()].filter((id) => !this.#servers.has(id)).length;
  }

  /** A timer of a fake server, which does not count as pending. */
  after(ms: number, callback: () => void): void {
    this.#servers.add(setTimeout(callback, ms));
  }

  /** Lets some turns of the microtask queue pass. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await Promise.resolve();
  }

  /** Lets everything settle that can settle without time. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves the time on, and lets everything settle after each moment at which a timer fires. */
  async tick(ms: number): Promise<void> {
    await this.settle();
    const end = this.now + ms;
    // Bounded: a timer that starts itself anew without waiting would never end.
    for (let moments = 0; moments < 2_000; moments++) {
      const next = Math.min(...this.#due.values());
      if (next > end) break;
      this.#time.tick(Math.max(0, next - this.now));
      await this.settle();
    }
    this.#time.tick(end - this.now);
    await this.settle();
  }

  restore(): void {
    this.#time.restore();
  }
}
