/**
 * Reading response bodies within bounds. Every body is read to its end or cancelled, so that its connection is free.
 *
 * @module
 */
import { startTimer, type Timer } from "../timers.ts";
import { ChunkReader } from "./chunks.ts";

/** The body was longer than allowed; the rest of it was not read. */
export class BodyTooLarge extends Error {}

/** Up to this length a body is read in one go: its limit is known to hold, and there is nothing to be told on the way. */
const ONE_READ_BYTES = 256 * 1024;

/**
 * Media type of a response.
 *
 * @param response the response
 * @returns lower-case, without parameters; `null` when the server gave none
 */
export function mediaTypeOf(response: Response): string | null {
  const value = response.headers.get("content-type");
  if (value === null || value === "application/json") return value;
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}

/**
 * Reads a whole body as UTF-8.
 *
 * @param response the response
 * @param maxBytes most bytes to take
 * @param onChunk called for each chunk
 * @returns its text
 * @throws {BodyTooLarge} when the body is longer; it is cancelled then
 */
export async function readText(response: Response, maxBytes: number, onChunk: () => void): Promise<string> {
  // With a content coding the length is that of the coded body, which says nothing about ours.
  const declared = response.headers.has("content-encoding") ? null : response.headers.get("content-length");
  const length = declared === null ? NaN : Number(declared);
  if (length > maxBytes) {
    await discard(response);
    throw new BodyTooLarge();
  }
  if (length <= ONE_READ_BYTES || response.body === null) {
    const text = await response.text();
    onChunk();
    return text;
  }
  return new TextDecoder().decode(await readBytes(response.body, length, maxBytes, onChunk));
}

/** Chunks are copied where they belong as they come: joining them at the end would take the memory twice. */
async function readBytes(
  body: ReadableStream<Uint8Array>,
  expected: number,
  maxBytes: number,
  onChunk: () => void,
): Promise<Uint8Array> {
  let bytes = new Uint8Array(expected > 0 ? expected : 64 * 1024);
  let length = 0;
  const reader = new ChunkReader(body);
  for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
    onChunk();
    const end = length + chunk.length;
    if (end > maxBytes) {
      await reader.cancel();
      throw new BodyTooLarge();
    }
    if (end > bytes.length) {
      const grown = new Uint8Array(Math.min(maxBytes, Math.max(end, bytes.length * 2)));
      grown.set(bytes.subarray(0, length));
      bytes = grown;
    }
    bytes.set(chunk, length);
    length = end;
  }
  return bytes.subarray(0, length);
}

/**
 * Reads the start of a body that is only shown, then cancels the rest.
 *
 * @param response the response
 * @param maxBytes most bytes to take
 * @param maxMs longest wait
 * @returns the text that came within both limits
 */
export async function readStart(response: Response, maxBytes: number, maxMs: number): Promise<string> {
  if (response.body === null) return "";
  const reader = new ChunkReader(response.body);
  const decoder = new TextDecoder();
  const timer: Timer | undefined = startTimer(() => void reader.cancel(), maxMs);
  let text = "";
  let left = maxBytes;
  try {
    for (let chunk = await reader.read(); chunk; chunk = await reader.read()) {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.length;
      if (left <= 0) break;
    }
  } catch {
    // It broke in the middle: what came is enough to be shown.
  } finally {
    clearTimeout(timer);
    await reader.cancel();
  }
  return text;
}

/**
 * Gives a body up, read or not.
 *
 * @param response the response
 */
export async function discard(response: Response): Promise<void> {
  // A body that broke or was read already needs no cancelling.
  await response.body?.cancel().catch(() => {});
}
