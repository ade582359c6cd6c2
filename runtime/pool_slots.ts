/**
 * The slots of a pool, by connection and scope.
 *
 * @module
 */
import { Slot, type SlotHost } from "./slot.ts";

/** Keys whose sessions are gone are remembered for their generation and backoff, but not for ever. */
const MAX_RETIRED_SLOTS = 10_000;

/** Slots that hold something, and a bounded memory of those that held something before. */
export class PoolSlots implements Iterable<Slot> {
  readonly #host: SlotHost;
  readonly #active = new Map<string, Slot>();
  /** Slots that hold nothing, oldest first. */
  readonly #retired = new Map<string, Slot>();
  /** No generation at or below it is given to a key that is not remembered, so that none is ever given twice. */
  #generationFloor = 0;

  constructor(host: SlotHost) {
    this.#host = host;
  }

  /** The slots that hold something. */
  [Symbol.iterator](): Iterator<Slot> {
    return this.#active.values();
  }

  /**
   * The slot of a key, made when there is none. Whoever puts something into it activates it.
   *
   * @param connectionId id of the connection
   * @param scope who shares the session
   * @returns the slot
   */
  get(connectionId: string, scope: string | undefined): Slot {
    const key = scope === undefined ? connectionId : `${connectionId}\0${scope}`;
    let slot = this.#active.get(key) ?? this.#retired.get(key);
    if (!slot) {
      slot = new Slot(this.#host, key, connectionId, scope, this.#generationFloor);
      this.retire(slot);
    }
    return slot;
  }

  /** Something is about to be put into the slot. */
  activate(slot: Slot): void {
    this.#retired.delete(slot.key);
    this.#active.set(slot.key, slot);
  }

  /** Something left the slot; perhaps it holds nothing any more. */
  retire(slot: Slot): void {
    if (!slot.empty) return;
    this.#active.delete(slot.key);
    this.#retired.set(slot.key, slot);
    if (this.#retired.size <= MAX_RETIRED_SLOTS) return;
    const [key, oldest] = this.#retired.entries().next().value!;
    this.#retired.delete(key);
    this.#generationFloor = Math.max(this.#generationFloor, oldest.generation);
  }
}
