/**
 * Going on with a stream that ended before its answer (MCP 2025-11-25, Transports, Resumability and Redelivery).
 *
 * @module
 */
import { McpRuntimeError } from "../errors.ts";
import { DEFAULT_LIMITS } from "../limits.ts";
import { mediaTypeOf } from "./body.ts";
import type { ExchangeHost } from "./exchange.ts";
import { readRefusal } from "./http_failures.ts";

/** Wait before a resumption when the server asked for none, in milliseconds. */
const RETRY_MS = 1_000;
/** Longest wait before a resumption, whatever the server asked for, in milliseconds. */
const MAX_RETRY_MS = 30_000;
/** A longer event id is not sent back: headers have no room for it. */
const MAX_EVENT_ID_LENGTH = 1_024;

/** What one exchange knows of its stream, and the requests that resume it. */
export class Resumption {
  readonly #host: ExchangeHost;
  readonly #signal: AbortSignal;
  #lastEventId = "";
  #retryMs = RETRY_MS;
  #tries = 0;

  /**
   * @param host the transport
   * @param signal ends the exchange
   */
  constructor(host: ExchangeHost, signal: AbortSignal) {
    this.#host = host;
    this.#signal = signal;
  }

  /** @param id the last event id; an empty one takes it back */
  onId(id: string): void {
    this.#lastEventId = id.length > MAX_EVENT_ID_LENGTH ? "" : id;
  }

  /** @param ms the wait that the server asks for */
  onRetry(ms: number): void {
    this.#retryMs = Math.min(ms, MAX_RETRY_MS);
  }

  /** A message came: a server may close the stream between any two, so the count starts anew. */
  onMessage(): void {
    this.#tries = 0;
  }

  /**
   * Opens the rest of the stream.
   *
   * @param failure what broke it, if anything did
   * @returns the rest
   * @throws {McpRuntimeError} `HTTP_ERROR`, or `SESSION_LOST`, with delivery `unknown`: the tool may have run
   */
  async next(failure: unknown): Promise<Response> {
    const { failures, requester } = this.#host;
    let reason = failure;
    while (this.#lastEventId !== "" && this.#tries < DEFAULT_LIMITS.maxResumptions) {
      this.#tries++;
      await this.#pause();
      const headers = { ...this.#host.headers("GET"), "last-event-id": asHeaderValue(this.#lastEventId) };
      try {
        const response = await requester.send({ method: "GET", headers, signal: this.#signal });
        this.#host.onReceived();
        return await this.#checked(response);
      } catch (error) {
        if (this.#signal.aborted) throw error;
        // What the request itself was refused for says nothing of the call, which was sent long before.
        if (error instanceof McpRuntimeError) throw error.withDelivery("unknown");
        reason = error;
      }
    }
    const tries = this.#tries === 0 ? "" : ` and was resumed ${this.#tries} times in vain`;
    const what = `ended the stream of its answer early${tries}`;
    if (reason !== undefined) throw failures.broken(reason, "unknown", what);
    throw failures.noAnswer(what, 200, "text/event-stream");
  }

  async #checked(response: Response): Promise<Response> {
    if (response.ok && mediaTypeOf(response) === "text/event-stream") return response;
    const { failures } = this.#host;
    const refusal = await readRefusal(response);
    if (this.#host.hasSession && response.status === 404) {
      this.#host.onSessionUnknown();
      throw failures.sessionUnknown(404, "unknown");
    }
    const what = `ended the stream of its answer early and refused to resume it with status ${response.status}`;
    throw failures.refused(what, refusal, { delivery: "unknown" });
  }

  #pause(): Promise<void> {
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      // Between two streams nothing else keeps the program alive, and the server owes an answer.
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, this.#retryMs);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** An event id is UTF-8 text, a header value bytes (HTML, "Last-Event-ID"). */
function asHeaderValue(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
