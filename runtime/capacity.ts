/**
 * How many sessions a pool may have at once. Pure.
 *
 * @module
 */
import { LinkedQueue, type QueueNode } from "./queue.ts";

interface CapacityWaiter extends QueueNode<CapacityWaiter> {
  grant: () => void;
}

/** Permits for sessions: opening, live and closing ones hold one each. Waiters are served in order. */
export class Capacity {
  readonly #max: number;
  readonly #waiters = new LinkedQueue<CapacityWaiter>();
  #used = 0;
  /** Permits that are on their way back for those who wait. */
  #expected = 0;

  /** @param max most permits at once; `Infinity` for no limit */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether somebody waits for a permit that nothing on its way back will give. */
  get short(): boolean {
    return this.#waiters.size > this.#expected;
  }

  /** Somebody who has a permit will give it back soon. */
  expect(): void {
    this.#expected++;
  }

  /**
   * Takes a permit, waiting until there is one.
   *
   * @param signal gives the wait up
   */
  acquire(signal: AbortSignal): Promise<void> {
    if (this.#used < this.#max) {
      this.#used++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiter: CapacityWaiter = { grant: resolve };
      const onAbort = () => {
        this.#waiters.remove(waiter);
        reject(signal.reason);
      };
      waiter.grant = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.push(waiter);
    });
  }

  /**
   * Gives a permit back; the first waiter gets it.
   *
   * @param expected whether it was announced by `expect`
   */
  release(expected = false): void {
    // In one turn with the permit: a caller that comes in between must not count on the room of the one before.
    if (expected) this.#expected--;
    const waiter = this.#waiters.shift();
    if (waiter) waiter.grant();
    else this.#used--;
  }
}
