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

  /** @param max most permits at once; `Infinity` for no limit */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many wait for a permit. */
  get waiting(): number {
    return this.#waiters.size;
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

  /** Gives a permit back; the first waiter gets it. */
  release(): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter.grant();
    else this.#used--;
  }
}
