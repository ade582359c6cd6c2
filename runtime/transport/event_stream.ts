/**
 * Reading a stream of server-sent events (HTML, "Server-sent events") within bounds.
 *
 * @module
 */
import { createParser } from "eventsource-parser";
import { startTimer } from "../timers.ts";
import { BodyTooLarge } from "./body.ts";

/**
 * How long a stream may stay open once its answer came. Servers end it at once, and reading that end keeps the
 * connection for the next request; a stream that stays open is cancelled.
 */
const END_GRACE_MS = 50;

/** What a reader of events is told. */
export interface EventSink {
  /** Bytes came. */
  onChunk(): void;
  /** Data of an event of type `message`, never empty. Returns true when no more is needed. */
  onData(data: string): boolean;
  /** The last event id changed; an empty one takes it back. */
  onId(id: string): void;
  /** The server asks for this delay before a resumption, in milliseconds. */
  onRetry(ms: number): void;
}

/**
 * Reads events until the sink needs no more, the stream ends or it breaks. In each case the stream is released.
 *
 * @param body the body of a response
 * @param maxBytes longest event
 * @param sink is told what comes
 * @returns resolves at the end of the stream, and in the background after the sink needs no more
 * @throws {BodyTooLarge} for an event that is too long; what broke the stream otherwise
 */
export async function readEvents(body: ReadableStream<Uint8Array>, maxBytes: number, sink: EventSink): Promise<void> {
  let enough = false;
  let tooLarge = false;
  const parser = createParser({
    ...(maxBytes === Infinity ? {} : { maxBufferSize: maxBytes }),
    onEvent({ event, data }) {
      if (enough || tooLarge || data === "" || event !== undefined && event !== "message") return;
      if (isLonger(data, maxBytes)) tooLarge = true;
      else enough = sink.onData(data);
    },
    onId: (id) => sink.onId(id),
    onRetry: (ms) => sink.onRetry(ms),
    onError: ({ type }) => void (tooLarge ||= type === "max-buffer-size-exceeded"),
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    sink.onChunk();
    parser.feed(decoder.decode(value, { stream: true }));
    if (tooLarge) {
      await reader.cancel().catch(() => {}); // A stream that broke at this moment needs no cancelling.
      throw new BodyTooLarge();
    }
    if (enough) return await readEnd(reader);
  }
}

/** The answer is there; nothing that happens to the stream now matters. */
async function readEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = startTimer(() => void reader.cancel().catch(() => {}), END_GRACE_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // Broken after the answer: the connection is gone, the answer is not.
  } finally {
    clearTimeout(timer);
  }
}

function isLonger(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  // A UTF-16 unit takes at most three bytes of UTF-8, so counting is needed only near the limit.
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes;
}
