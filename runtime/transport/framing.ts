/**
 * Bytes to messages: one JSON-RPC message a line (MCP 2025-11-25, Transports, stdio). Pure.
 *
 * @module
 */
import type { JsonRpcMessage } from "./message.ts";

/** Bytes that are gathered before they are decoded; also the size of a read. */
const GATHER_BYTES = 64 * 1024;
/** From this size on a piece is decoded where it lies, without copying it first. */
const DIRECT_BYTES = 16 * 1024;
/** How much is kept of the start of a line that is too long. */
const PREFIX_LENGTH = 4 * 1024;
/** How much is kept of its end. */
const SUFFIX_BYTES = 256;
const OPENING_BRACE = 0x7b;

/** What a {@linkcode MessageFramer} tells. */
export interface FramingHandlers {
  /** A message has come. */
  onmessage(message: JsonRpcMessage): void;
  /** A line that is no message has come: a log line, a banner, a part of a pretty-printed object. */
  onskip(line: string): void;
  /** A line has grown beyond the limit; the rest of it is thrown away as it comes. */
  onoversize(prefix: string): void;
  /** The end of that line has come. */
  onoversizeend(suffix: string): void;
}

/**
 * Splits what a server writes into messages.
 *
 * - Each byte is looked at once and copied at most twice, whatever the chunks: the time is linear in the length.
 * - A line that is longer than the limit costs no more memory than the limit.
 * - Complete messages are delivered in order, also those in front of a line that is too long.
 * - A chunk may be reused by the caller as soon as `push` has returned.
 */
export class MessageFramer {
  readonly #maxBytes: number;
  readonly #handlers: FramingHandlers;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Decoded beginning of the current line, in pieces: joining them once is linear, adding them up need not be. */
  #parts: string[] = [];
  #gathered: Uint8Array | undefined;
  #fill = 0;
  #lineBytes = 0;
  /** The end of the current line while it is thrown away; `undefined` while it is kept. */
  #suffix: Uint8Array | undefined;

  /** @param maxBytes longest line, without its end @param handlers told what came */
  constructor(maxBytes: number, handlers: FramingHandlers) {
    this.#maxBytes = maxBytes;
    this.#handlers = handlers;
  }

  /** @param chunk the next bytes; read before this returns */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#endLine(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#extendLine(start === 0 ? chunk : chunk.subarray(start));
  }

  /** Takes what is left as a line: a server may have ended without a line break behind its last message. */
  end(): void {
    if (this.#lineBytes > 0) this.#endLine(new Uint8Array(0));
  }

  #endLine(piece: Uint8Array): void {
    if (this.#lineBytes === 0 && piece.length <= this.#maxBytes) return this.#deliver(this.#decoder.decode(piece));
    this.#extendLine(piece);
    if (this.#suffix !== undefined) {
      const suffix = this.#decoder.decode(this.#suffix);
      this.#reset();
      return this.#handlers.onoversizeend(suffix);
    }
    if (this.#fill > 0) this.#parts.push(this.#decoder.decode(this.#gathered!.subarray(0, this.#fill)));
    const line = this.#parts.length === 1 ? this.#parts[0] : this.#parts.join("");
    this.#reset();
    this.#deliver(line);
  }

  #reset(): void {
    this.#parts = [];
    this.#fill = 0;
    this.#lineBytes = 0;
    this.#suffix = undefined;
  }

  #extendLine(piece: Uint8Array): void {
    this.#lineBytes += piece.length;
    if (this.#suffix !== undefined) {
      this.#suffix = lastBytes(this.#suffix, piece);
    } else if (this.#lineBytes > this.#maxBytes) {
      this.#giveUpLine(piece);
    } else if (this.#fill === 0 && piece.length >= DIRECT_BYTES) {
      const whole = wholeCharacters(piece, piece.length);
      this.#parts.push(this.#decoder.decode(piece.subarray(0, whole)));
      this.#gather(piece.subarray(whole));
    } else {
      this.#gather(piece);
    }
  }

  #gather(piece: Uint8Array): void {
    const gathered = this.#gathered ??= new Uint8Array(GATHER_BYTES);
    while (piece.length > 0) {
      const taken = Math.min(piece.length, GATHER_BYTES - this.#fill);
      gathered.set(piece.subarray(0, taken), this.#fill);
      this.#fill += taken;
      piece = piece.subarray(taken);
      if (this.#fill < GATHER_BYTES) return;
      const whole = wholeCharacters(gathered, GATHER_BYTES);
      this.#parts.push(this.#decoder.decode(gathered.subarray(0, whole)));
      gathered.copyWithin(0, whole);
      this.#fill = GATHER_BYTES - whole;
    }
  }

  #giveUpLine(piece: Uint8Array): void {
    const gathered = this.#gathered?.subarray(0, this.#fill) ?? new Uint8Array(0);
    let prefix = this.#parts.length > 0 ? this.#parts[0].slice(0, PREFIX_LENGTH) : "";
    if (prefix.length < PREFIX_LENGTH) {
      prefix += this.#decoder.decode(gathered.subarray(0, PREFIX_LENGTH));
      prefix += this.#decoder.decode(piece.subarray(0, PREFIX_LENGTH));
    }
    this.#suffix = lastBytes(gathered, piece);
    this.#parts = [];
    this.#fill = 0;
    this.#handlers.onoversize(prefix.slice(0, PREFIX_LENGTH));
  }

  #deliver(line: string): void {
    const value = parseLine(line);
    if (isMessage(value)) this.#handlers.onmessage(value);
    else if (Array.isArray(value) && value.length > 0 && value.every(isMessage)) {
      // A batch (MCP 2025-03-26 had them): its members count as if each had come on a line of its own.
      for (const message of value) this.#handlers.onmessage(message);
    } else this.#handlers.onskip(line);
  }
}

function parseLine(line: string): unknown {
  const text = line.charCodeAt(0) === 0xfeff ? line.slice(1) : line;
  // Most log lines are told by their first character, which spares building the error of a failed parse.
  if (text.charCodeAt(0) !== OPENING_BRACE && !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A line that is not JSON is skipped and counted; what it says is for the server's author.
  }
}

function isMessage(value: unknown): value is JsonRpcMessage {
  if (typeof value !== "object" || value === null) return false;
  const message = value as Record<string, unknown>;
  return message.jsonrpc === "2.0" &&
    (message.result !== undefined || typeof message.method === "string" || message.error !== undefined);
}

/** How many of the first `length` bytes end with a whole UTF-8 character. */
function wholeCharacters(bytes: Uint8Array, length: number): number {
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back];
    if (byte < 0x80) return length;
    // A lead byte says how many bytes its character has: 110x two, 1110 three, 11110 four.
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? length - back : length;
  }
  return length;
}

function lastBytes(before: Uint8Array, piece: Uint8Array): Uint8Array {
  if (piece.length >= SUFFIX_BYTES) return piece.slice(-SUFFIX_BYTES);
  const kept = before.subarray(Math.max(0, before.length - (SUFFIX_BYTES - piece.length)));
  const joined = new Uint8Array(kept.length + piece.length);
  joined.set(kept);
  joined.set(piece, kept.length);
  return joined;
}
