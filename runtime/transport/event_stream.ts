/**
 * Reading a stream of server-sent events (HTML, "Server-sent events") within bounds.
 *
 * @module
 */
import { createParser } from "eventsource-parser";
import { BodyTooLarge } from "./body.ts";
import { ChunkReader } from "./chunks.ts";

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
 * Reads events until the stream ends or breaks. Once the sink needs no more, only the end is waited for: reading it keeps
 * the connection for the next request. Whoever cannot wait aborts the request.
 *
 * @param body the body of a response
 * @param maxBytes longest event
 * @param sink is told what comes
 * @returns resolves at the end of the stream
 * @throws {BodyTooLarge} for an event that is too long; what the sink throws; what broke the stream otherwise
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
  const reader = new ChunkReader(body);
  const decoder = new TextDecoder();
  try {
    for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
      sink.onChunk();
      // After the answer only the end is waited for; what else comes is nobody's.
      if (!enough) parser.feed(decoder.decode(chunk, { stream: true }));
      if (tooLarge) throw new BodyTooLarge();
    }
  } catch (error) {
    await reader.cancel();
    throw error;
  }
}

function isLonger(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  // A UTF-16 unit takes at most three bytes of UTF-8, so counting is needed only near the limit.
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes;
}
