/**
 * The last of what a process wrote to stderr, and its lines. Pure.
 *
 * @module
 */
import type { Redactor } from "../secrets.ts";

/** Longest line that is handed to a callback; a longer one comes in pieces of this many characters. */
const MAX_LINE_LENGTH = 8 * 1024;

/** Keeps the last bytes of a stream; each byte is copied once, whatever the chunks. */
export class StderrTail {
  readonly #limit: number;
  readonly #redactor: Redactor;
  readonly #ring: Uint8Array;
  #written = 0;

  /** @param limit most bytes of text to give @param redactor removes the secrets */
  constructor(limit: number, redactor: Redactor) {
    this.#limit = limit;
    this.#redactor = redactor;
    // More is kept than is given, so that a secret of which the ring has lost the head can be dropped, see text().
    this.#ring = new Uint8Array(limit + 12 * redactor.longest + 64);
  }

  /** @param chunk the next bytes; read before this returns */
  push(chunk: Uint8Array): void {
    const size = this.#ring.length;
    const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % size;
    const first = Math.min(kept.length, size - at);
    this.#ring.set(kept.subarray(0, first), at);
    this.#ring.set(kept.subarray(first), 0);
    this.#written += kept.length;
  }

  /**
   * The tail as text.
   *
   * @returns at most `limit` bytes of text without known secrets, trimmed
   */
  text(): string {
    let text = this.#redactor.redact(new TextDecoder().decode(this.#bytes()));
    if (this.#written > this.#ring.length) {
      // The first characters may be the rest of a secret that no longer matches. It is shorter than the longest one,
      // and masks set inside it make it at most 10/6 longer.
      text = text.slice(2 * this.#redactor.longest + 16);
    }
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > this.#limit) {
      text = new TextDecoder().decode(bytes.subarray(bytes.length - this.#limit)).replace(/^\ufffd+/, "");
    }
    return text.trim();
  }

  #bytes(): Uint8Array {
    const size = this.#ring.length;
    if (this.#written <= size) return this.#ring.subarray(0, this.#written);
    const at = this.#written % size;
    const bytes = new Uint8Array(size);
    bytes.set(this.#ring.subarray(at));
    bytes.set(this.#ring.subarray(0, at), size - at);
    return bytes;
  }
}

/** Cuts a stream into lines for a callback. */
export class StderrLines {
  readonly #decoder = new TextDecoder();
  readonly #redactor: Redactor;
  readonly #online: (line: string) => void;
  #rest = "";

  /** @param redactor removes the secrets @param online called for each line, without its end */
  constructor(redactor: Redactor, online: (line: string) => void) {
    this.#redactor = redactor;
    this.#online = online;
  }

  /** @param chunk the next bytes; read before this returns */
  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) this.#emit(line);
    // An endless line is handed on in pieces, without its end: that may be the head of a secret still to come.
    if (this.#rest.length > MAX_LINE_LENGTH + this.#redactor.longest) {
      const clean = this.#redactor.redact(this.#rest);
      const ready = Math.max(0, clean.length - this.#redactor.longest);
      this.#rest = clean.slice(ready);
      if (ready > 0) this.#emit(clean.slice(0, ready));
    }
  }

  /** Hands on what is left without a line break. */
  end(): void {
    if (this.#rest !== "") this.#emit(this.#rest);
    this.#rest = "";
  }

  #emit(line: string): void {
    const clean = this.#redactor.redact(line.endsWith("\r") ? line.slice(0, -1) : line);
    for (let at = 0; at === 0 || at < clean.length; at += MAX_LINE_LENGTH) {
      this.#online(clean.slice(at, at + MAX_LINE_LENGTH));
    }
  }
}
