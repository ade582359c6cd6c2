/**
 * A queue whose members can leave from any place. Pure.
 *
 * @module
 */

/** What a queue holds: objects that carry their own links, so that every operation is O(1) and allocates nothing. */
export interface QueueNode<T> {
  /** The member before this one, while queued. */
  previous?: T | undefined;
  /** The member after this one, while queued. */
  next?: T | undefined;
}

/** First in, first out; a member is in at most one queue. */
export class LinkedQueue<T extends QueueNode<T>> {
  #head: T | undefined;
  #tail: T | undefined;
  #size = 0;

  /** Number of members. */
  get size(): number {
    return this.#size;
  }

  /** Adds a member at the end. */
  push(node: T): void {
    node.previous = this.#tail;
    node.next = undefined;
    if (this.#tail) this.#tail.next = node;
    else this.#head = node;
    this.#tail = node;
    this.#size++;
  }

  /** Takes the first member out; `undefined` when there is none. */
  shift(): T | undefined {
    const node = this.#head;
    if (node) this.remove(node);
    return node;
  }

  /** Takes a member out, wherever it is. It must be in this queue. */
  remove(node: T): void {
    if (node.previous) node.previous.next = node.next;
    else this.#head = node.next;
    if (node.next) node.next.previous = node.previous;
    else this.#tail = node.previous;
    node.previous = node.next = undefined;
    this.#size--;
  }
}
