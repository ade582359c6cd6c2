/**
 * Messages on their way into a pipe: in order, coalesced, withdrawable until their first byte leaves. Pure: the pipe is
 * a function.
 *
 * @module
 */
import type { RequestId } from "./message.ts";

/** Messages are put together up to this many characters; a stalled pipe then holds no more calls than needed. */
const BATCH_LENGTH = 64 * 1024;

/** Why the queue rejects a message. */
export type UnsentState = "unwritten" | "perhaps written";

interface Entry {
  id: RequestId | undefined;
  text: string;
  onsent: (() => void) | undefined;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * A queue in front of one pipe.
 *
 * - Order is kept. A message that finds the pipe free leaves at once; those that come while a write is under way leave
 *   together in the next one, up to 64 KiB of them.
 * - `onsent` of a message runs before the write that holds its first byte.
 * - When a write fails, the queue stands still and its messages stay pending until {@linkcode WriteQueue.fail} says why.
 */
export class WriteQueue {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #onbroken: (error: unknown) => void;
  readonly #encoder = new TextEncoder();
  #state: "idle" | "writing" | "broken" | "failed" = "idle";
  #waiting: Entry[] = [];
  #writing: Entry[] = [];
  #failure: ((state: UnsentState) => Error) | undefined;
  readonly #written = () => this.#settleWritten();
  readonly #refused = (error: unknown) => this.#break(error);

  /** @param write hands bytes to the pipe @param onbroken called once, when the pipe refused a write */
  constructor(write: (bytes: Uint8Array) => Promise<void>, onbroken: (error: unknown) => void) {
    this.#write = write;
    this.#onbroken = onbroken;
  }

  /** Whether the pipe has not taken all of what it was given. */
  get stalled(): boolean {
    return this.#state === "writing" || this.#state === "broken";
  }

  /**
   * Queues one message.
   *
   * @param text the message, one line without its end
   * @param id its request id, when it is a request
   * @param onsent called before its first byte leaves
   * @returns settles when the pipe took it, or it was withdrawn or the queue failed
   */
  push(text: string, id: RequestId | undefined, onsent: (() => void) | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure("unwritten"));
      const entry = { id, text, onsent, resolve, reject };
      if (this.#state === "idle") this.#writeBatch([entry]);
      else this.#waiting.push(entry);
    });
  }

  /**
   * Withdraws a request of which nothing was written.
   *
   * @param id id of the request
   * @param reason what its promise rejects with
   */
  withdraw(id: RequestId, reason: () => Error): void {
    const at = this.#waiting.findIndex((entry) => entry.id === id);
    if (at !== -1) this.#waiting.splice(at, 1)[0].reject(reason());
  }

  /**
   * Ends the queue: every pending message is rejected, and every later one.
   *
   * @param failure makes the reason, told whether a part of the message may have left
   */
  fail(failure: (state: UnsentState) => Error): void {
    if (this.#state === "failed") return;
    this.#state = "failed";
    this.#failure = failure;
    for (const entry of this.#writing.splice(0)) entry.reject(failure("perhaps written"));
    for (const entry of this.#waiting.splice(0)) entry.reject(failure("unwritten"));
  }

  #writeBatch(entries: Entry[]): void {
    this.#state = "writing";
    this.#writing = entries;
    let text = "";
    for (const entry of entries) {
      entry.onsent?.();
      text += entry.text + "\n";
    }
    this.#write(this.#encoder.encode(text)).then(this.#written, this.#refused);
  }

  #takeBatch(): Entry[] {
    const waiting = this.#waiting;
    let count = 0;
    let length = 0;
    while (count < waiting.length && (count === 0 || length + waiting[count].text.length <= BATCH_LENGTH)) {
      length += waiting[count++].text.length;
    }
    if (count < waiting.length) return waiting.splice(0, count);
    this.#waiting = [];
    return waiting;
  }

  #settleWritten(): void {
    if (this.#state === "failed") return;
    for (const entry of this.#writing) entry.resolve();
    this.#writing = [];
    if (this.#waiting.length > 0) this.#writeBatch(this.#takeBatch());
    else this.#state = "idle";
  }

  #break(error: unknown): void {
    if (this.#state === "failed") return;
    this.#state = "broken";
    this.#onbroken(error);
  }
}
