/**
 * One POST and its answer (MCP 2025-11-25, Transports, Sending Messages to the Server).
 *
 * @module
 */
import { McpRuntimeError } from "../errors.ts";
import { isPlainObject } from "../json.ts";
import { BodyTooLarge, discard, mediaTypeOf, readText } from "./body.ts";
import { readEvents } from "./event_stream.ts";
import { type HttpFailures, readRefusal, type Refusal } from "./http_failures.ts";
import type { HttpRequester } from "./http_requester.ts";
import { isLegacyServer, LEGACY_STATUSES } from "./legacy_probe.ts";
import type { JsonRpcMessage, RequestId, TransportSendOptions } from "./message.ts";
import { Resumption } from "./resumption.ts";
import { errorSaysSessionUnknown, refusesSession, type SessionUnknownTexts } from "./session_unknown.ts";

/** What an exchange needs of its transport. */
export interface ExchangeHost {
  readonly requester: HttpRequester;
  readonly failures: HttpFailures;
  readonly maxMessageBytes: number;
  readonly sessionUnknownTexts: SessionUnknownTexts;
  /** Headers of a POST, or of the GET that resumes a stream. */
  headers(method: "POST" | "GET"): Record<string, string>;
  /** Whether requests carry a session id. */
  readonly hasSession: boolean;
  /** Something came from the server. */
  onReceived(): void;
  /** A message came. */
  onMessage(message: JsonRpcMessage): void;
  /** The response to `initialize` came; throws when its headers are of no use. */
  onInitialized(response: Response): void;
  /** The server does not know the session. */
  onSessionUnknown(): void;
  /** The response came as an event; the stream may still be open. */
  onAnswered(exchange: Exchange): void;
}

/** One message on its way to the server, and what comes back for it. */
export class Exchange {
  readonly #host: ExchangeHost;
  readonly #message: JsonRpcMessage;
  readonly #controller = new AbortController();
  /** Id of the request; `undefined` for what gets no response. */
  readonly #id: RequestId | undefined;
  readonly #options: TransportSendOptions;
  #state: "unsent" | "sent" | "answered" | "cancelled" | "closed" = "unsent";
  #resumption: Resumption | undefined;
  /** Whether the server has begun to work on the request, as far as it shows: no refusal undoes that. */
  #begun = false;

  /**
   * @param host the transport
   * @param message the message
   * @param options is told when it is handed to `fetch`, and when the server refused it
   */
  constructor(host: ExchangeHost, message: JsonRpcMessage, options: TransportSendOptions) {
    this.#host = host;
    this.#message = message;
    this.#id = "method" in message && "id" in message ? message.id : undefined;
    this.#options = options;
  }

  /**
   * Ends the exchange; `run` settles.
   *
   * @param how `cancelled` when nobody waits for the response, `closed` with the transport
   */
  end(how: "cancelled" | "closed"): void {
    // After the answer only the end of its stream is waited for.
    if (this.#state !== "answered") this.#state = how;
    this.#controller.abort();
  }

  /**
   * Makes the exchange.
   *
   * @param body the message as JSON
   * @returns resolves when it is over
   * @throws {McpRuntimeError} when the response cannot come any more
   */
  async run(body: Blob): Promise<void> {
    let sent = false;
    let response: Response | undefined;
    try {
      response = await this.#host.requester.send({
        method: "POST",
        headers: this.#host.headers("POST"),
        body,
        signal: this.#controller.signal,
        onsent: () => {
          sent = true;
          if (this.#state === "unsent") this.#state = "sent";
          this.#options.onsent?.();
        },
        onrefused: () => {
          sent = false;
          this.#options.onrefused?.();
        },
      });
      this.#host.onReceived();
      await this.#read(response);
    } catch (error) {
      // Whatever was not read of the answer goes with the request.
      this.#controller.abort();
      if (this.#state === "cancelled" || this.#state === "answered") return;
      const delivery = sent ? "unknown" : "not-sent";
      if (this.#state === "closed") throw this.#host.failures.closed(delivery);
      if (error instanceof McpRuntimeError) throw error;
      if (response) throw this.#host.failures.broken(error, delivery, "broke its answer off");
      throw this.#host.failures.noResponse(error, delivery);
    }
  }

  #read(response: Response): Promise<void> {
    if (!response.ok) return this.#readRefusal(response);
    if (this.#id === undefined) return discard(response);
    if (this.#isInitialize) this.#initialized(response);
    const mediaType = mediaTypeOf(response);
    if (mediaType === "application/json") return this.#readJson(response);
    if (mediaType === "text/event-stream") return this.#readStreams(response);
    return this.#readOther(response);
  }

  #initialized(response: Response): void {
    try {
      this.#host.onInitialized(response);
    } catch (error) {
      void discard(response);
      throw error;
    }
  }

  async #readRefusal(response: Response): Promise<void> {
    const refusal = await readRefusal(response);
    const { status, json, body } = refusal;
    const error = isPlainObject(json) && isPlainObject(json.error) ? json.error : undefined;
    if (this.#host.hasSession && refusesSession(status, error, body, this.#host.sessionUnknownTexts)) {
      this.#host.onSessionUnknown();
      throw this.#host.failures.sessionUnknown(status);
    }
    // A JSON-RPC error for this very request says more than its status does.
    if (error && this.#id !== undefined && this.#isMine(json as object)) return this.#deliver(json as JsonRpcMessage);
    if (error === undefined && LEGACY_STATUSES.has(status) && this.#isInitialize) await this.#checkLegacy(refusal);
    throw this.#host.failures.status(refusal, "POST");
  }

  async #checkLegacy(refusal: Refusal): Promise<void> {
    const { requester, failures } = this.#host;
    const init = { code: "UNSUPPORTED" as const, delivery: "not-sent" as const };
    if (await isLegacyServer(requester, this.#host.headers("GET"), this.#controller.signal)) {
      const what = "speaks only the old HTTP+SSE transport of MCP 2024-11-05, which is not supported; " +
        `it answered POST with status ${refusal.status}`;
      throw failures.refused(what, refusal, init);
    }
    if (refusal.status !== 405) return;
    throw failures.refused("takes no POST (status 405), so this is no Streamable HTTP endpoint", refusal, init);
  }

  get #isInitialize(): boolean {
    return "method" in this.#message && this.#message.method === "initialize";
  }

  /** The server took the request, and what it sent back is no answer: the tool may have run. */
  async #readOther(response: Response): Promise<void> {
    const refusal = await readRefusal(response);
    const { status } = refusal;
    if (status === 202 || status === 204 || refusal.body === "") {
      throw this.#host.failures.noAnswer(
        `took the request without an answer (status ${status})`,
        status,
        refusal.mediaType,
      );
    }
    const what = `answered with status ${status} in a form that is neither JSON nor events`;
    throw this.#host.failures.refused(what, refusal, { delivery: "unknown" });
  }

  async #readJson(response: Response): Promise<void> {
    const { failures, maxMessageBytes } = this.#host;
    let text: string;
    try {
      text = await readText(response, maxMessageBytes, () => this.#host.onReceived());
    } catch (error) {
      throw error instanceof BodyTooLarge ? failures.tooLarge("answer", maxMessageBytes) : error;
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      // Not kept as a cause: the message of a JSON error quotes the text.
      throw failures.protocol("answered with text that is not JSON", response.status, "unknown");
    }
    // MCP 2025-03-26 allows an answer to be a batch.
    for (const message of Array.isArray(json) ? json : [json]) this.#deliver(message);
    if (this.#state !== "answered") {
      throw failures.protocol("answered with JSON that holds no response to the request", response.status, "unknown");
    }
  }

  /** Reads the answer's stream, and those that resume it. */
  async #readStreams(first: Response): Promise<void> {
    const resumption = this.#resumption = new Resumption(this.#host, this.#controller.signal);
    let stream: Response | undefined = first;
    while (stream) {
      const failure = await this.#readStream(stream, resumption);
      if (this.#state !== "sent") return;
      stream = await resumption.next(failure);
      this.#begun = true;
    }
  }

  /** @returns what broke the stream; `undefined` when it ended */
  async #readStream(response: Response, resumption: Resumption): Promise<unknown> {
    const { failures, maxMessageBytes } = this.#host;
    // A body of length zero may have no stream at all.
    if (response.body === null) return;
    try {
      await readEvents(response.body, maxMessageBytes, {
        onChunk: () => this.#host.onReceived(),
        onData: (data) => this.#onData(data),
        onId: (id) => resumption.onId(id),
        onRetry: (ms) => resumption.onRetry(ms),
      });
    } catch (error) {
      if (error instanceof BodyTooLarge) throw failures.tooLarge("answer", maxMessageBytes);
      if (error instanceof McpRuntimeError) throw error;
      return error;
    }
  }

  #onData(data: string): boolean {
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      return false; // An event of something else; should it have been the answer, the end of the stream tells.
    }
    for (const each of Array.isArray(message) ? message : [message]) this.#deliver(each);
    if (this.#state === "answered") this.#host.onAnswered(this);
    return this.#state !== "sent";
  }

  #deliver(message: unknown): void {
    if (!isMessage(message) || this.#state !== "sent") return;
    const mine = !("method" in message) && this.#isMine(message);
    if (mine && "error" in message && this.#host.hasSession) this.#checkSession(message.error);
    if (mine) this.#state = "answered";
    else {
      this.#begun = true;
      this.#resumption?.onMessage();
    }
    this.#host.onMessage("error" in message ? this.#host.failures.cleaned(message) : message);
  }

  #checkSession(error: unknown): void {
    if (!errorSaysSessionUnknown(error, this.#host.sessionUnknownTexts)) return;
    this.#host.onSessionUnknown();
    throw this.#host.failures.sessionUnknown(200, this.#begun ? "unknown" : "not-sent");
  }

  /** Some servers return the id as text. */
  #isMine(message: object): boolean {
    const { id } = message as { id?: unknown };
    if (id === this.#id) return id !== undefined;
    return this.#id !== undefined && (typeof id === "string" || typeof id === "number") &&
      String(id) === String(this.#id);
  }
}

function isMessage(value: unknown): value is JsonRpcMessage {
  return isPlainObject(value) && ("method" in value || "result" in value || "error" in value);
}
