/**
 * Recognising a server of the HTTP+SSE transport, which MCP 2025-03-26 replaced.
 *
 * @module
 */
import { createParser } from "eventsource-parser";
import { startTimer } from "../timers.ts";
import { discard, mediaTypeOf } from "./body.ts";
import { ChunkReader } from "./chunks.ts";
import type { HttpRequester } from "./http_requester.ts";

/** How long the first event may take, in milliseconds; old servers send it at once. */
const PROBE_MS = 2_000;
/** Most bytes that are looked at for it. */
const PROBE_BYTES = 8 * 1024;

/** Statuses after which a client looks for an old server (MCP 2025-11-25, Transports, Backwards Compatibility). */
export const LEGACY_STATUSES: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Whether a server that did not take `initialize` opens the stream of the old transport: its first event is `endpoint`.
 *
 * @param requester makes the request
 * @param headers headers of a GET
 * @param signal ends the probe
 * @returns true for an old server; false for everything else, failures included
 */
export async function isLegacyServer(
  requester: HttpRequester,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<boolean> {
  const controller = new AbortController();
  const end = () => controller.abort();
  const timer = startTimer(end, PROBE_MS);
  signal.addEventListener("abort", end, { once: true });
  try {
    const response = await requester.send({ method: "GET", headers, signal: controller.signal });
    if (response.ok && response.body && mediaTypeOf(response) === "text/event-stream") {
      return await firstEventType(response.body) === "endpoint";
    }
    await discard(response);
    return false;
  } catch {
    return false; // What the server said to POST is the failure to tell.
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

async function firstEventType(body: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let first: string | undefined;
  const parser = createParser({ onEvent: ({ event }) => void (first ??= event ?? "message") });
  const reader = new ChunkReader(body);
  const decoder = new TextDecoder();
  let seen = 0;
  try {
    for (let chunk = await reader.read(); chunk && !first && seen < PROBE_BYTES; chunk = await reader.read()) {
      seen += chunk.length;
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (first) break;
    }
    return first;
  } finally {
    await reader.cancel();
  }
}
