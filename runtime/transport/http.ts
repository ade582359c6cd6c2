/**
 * The Streamable HTTP transport (MCP 2025-11-25, Transports, Streamable HTTP).
 *
 * @module
 */
import type { AuthRecord } from "../auth.ts";
import type { HttpSourceTransport, McpSourceConnection } from "../connection.ts";
import { printAsJson } from "../inspect.ts";
import { jsonText } from "../json.ts";
import { limitOf } from "../limits.ts";
import { shortId } from "../secrets.ts";
import { settledWithin, startTimer, type Timer } from "../timers.ts";
import { discard } from "./body.ts";
import { CredentialsSource } from "./credentials.ts";
import { type Endpoint, endpointOf } from "./endpoint.ts";
import { Exchange, type ExchangeHost } from "./exchange.ts";
import { HttpFailures } from "./http_failures.ts";
import { HttpRequester } from "./http_requester.ts";
import type { JsonRpcMessage, McpTransport, RequestId, TransportSendOptions } from "./message.ts";
import type { TransportOptions } from "./mod.ts";

/** How long the acceptance of a notification or a response may take, in milliseconds. */
const NOTIFICATION_MS = 30_000;

/**
 * How long a stream may stay open once its answer came, in milliseconds, twice at most. Servers end it at once, and
 * waiting for that keeps the connection for the next request; a stream that stays open is ended by us.
 */
const END_GRACE_MS = 50;

/** Longer session ids are refused: one is sent with each request. */
const MAX_SESSION_ID_LENGTH = 1_024;

/**
 * Carries messages to one Streamable HTTP server.
 *
 * - One POST for each message; a request's exchange ends with its response, or when it is cancelled.
 * - A request goes on the wire once. It is sent again only after a refusal of its credentials, once, by the server.
 * - No stream is opened for the server's own messages; GET is used to resume a stream that broke.
 * - The session that `initialize` opened is ended with one DELETE, unless the server has forgotten it.
 */
export class HttpTransport implements McpTransport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: ((message: JsonRpcMessage) => void) | undefined;
  /** The id of the session, from the response to `initialize`. */
  sessionId: string | undefined;
  readonly #endpoint: Endpoint;
  readonly #failures: HttpFailures;
  readonly #requester: HttpRequester;
  readonly #host: ExchangeHost;
  readonly #maxMessageBytes: number;
  readonly #closeTimeoutMs: number;
  readonly #exchanges = new Set<Exchange>();
  readonly #requests = new Map<RequestId, Exchange>();
  #state: "new" | "open" | "closed" = "new";
  #received = 0;
  #protocolVersion: string | undefined;
  #headers: Record<"POST" | "GET", Record<string, string>>;
  #sessionUnknown = false;
  /** Answered exchanges whose streams are open still. One timer serves them all: a timer for each costs more than it. */
  readonly #ending = new Set<Exchange>();
  #endTimer: Timer | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param connection the connection, parsed
   * @param transport its transport
   * @param auth its auth record, parsed, or `null`
   * @param options limits and hooks
   * @throws {McpRuntimeError} `CONNECTION_INVALID`, `INPUT_INVALID`
   */
  constructor(
    connection: McpSourceConnection,
    transport: HttpSourceTransport,
    auth: AuthRecord | null,
    options: TransportOptions,
  ) {
    this.#endpoint = endpointOf(transport, auth);
    this.#failures = new HttpFailures(connection, auth, this.#endpoint);
    this.#maxMessageBytes = limitOf("maxMessageBytes", options.maxMessageBytes);
    this.#closeTimeoutMs = limitOf("closeTimeoutMs", options.closeTimeoutMs);
    const credentials = sourceOf(connection, auth, options);
    this.#requester = new HttpRequester(this.#endpoint, this.#failures, credentials, options.fetch);
    this.#headers = this.#prepareHeaders();
    this.#host = this.#makeHost(options);
  }

  /** Grows with each response and each part of a body. */
  get received(): number {
    return this.#received;
  }

  setProtocolVersion = (version: string): void => {
    this.#protocolVersion = version;
    this.#headers = this.#prepareHeaders();
  };

  start(): Promise<void> {
    if (this.#state !== "new") return Promise.reject(this.#failures.closed("not-sent"));
    this.#state = "open";
    return Promise.resolve();
  }

  async send(message: JsonRpcMessage, options: TransportSendOptions = {}): Promise<void> {
    if (this.#state !== "open") throw this.#failures.closed("not-sent");
    const text = jsonText(message);
    const body = new Blob([text ?? ""]);
    if (text === undefined || body.size > this.#maxMessageBytes) {
      throw this.#failures.tooLarge("request", this.#maxMessageBytes);
    }
    const exchange = new Exchange(this.#host, message, options);
    const id = "method" in message && "id" in message ? message.id : undefined;
    this.#exchanges.add(exchange);
    if (id !== undefined) this.#requests.set(id, exchange);
    // A request is given up by whoever waits for its response; nobody waits for what gets none.
    const timer = id === undefined ? startTimer(() => exchange.end("cancelled"), NOTIFICATION_MS) : undefined;
    try {
      await exchange.run(body);
    } finally {
      clearTimeout(timer);
      this.#exchanges.delete(exchange);
      if (this.#ending.size > 0) this.#ending.delete(exchange);
      if (id !== undefined && this.#requests.get(id) === exchange) this.#requests.delete(id);
    }
  }

  cancel(id: RequestId): void {
    this.#requests.get(id)?.end("cancelled");
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#state = "closed";
    clearTimeout(this.#endTimer);
    for (const exchange of this.#exchanges) exchange.end("closed");
    if (this.sessionId !== undefined && !this.#sessionUnknown) await this.#endSession();
    this.onclose?.();
  }

  /** MCP 2025-11-25, Session Management, item 5. What the server answers is its own affair; it may not allow it. */
  async #endSession(): Promise<void> {
    const controller = new AbortController();
    const request = { method: "DELETE" as const, headers: this.#headers.GET, signal: controller.signal };
    const done = this.#requester.send(request).then(discard);
    if (await settledWithin(done, this.#closeTimeoutMs)) return;
    controller.abort();
    await settledWithin(done, END_GRACE_MS); // Rejects at once, unless an injected fetch ignores its signal.
  }

  #makeHost(options: TransportOptions): ExchangeHost {
    // The exchange sees the transport through this, so that none of it is public.
    const hasSession = () => this.sessionId !== undefined;
    return {
      requester: this.#requester,
      failures: this.#failures,
      maxMessageBytes: this.#maxMessageBytes,
      sessionUnknownTexts: options.sessionUnknownTexts ?? [],
      headers: (method) => this.#headers[method],
      get hasSession() {
        return hasSession();
      },
      onReceived: () => void this.#received++,
      onMessage: (message) => this.#onMessage(message),
      onInitialized: (response) => this.#onInitialized(response),
      onSessionUnknown: () => void (this.#sessionUnknown = true),
      onAnswered: (exchange) => this.#onAnswered(exchange),
    };
  }

  #onMessage(message: JsonRpcMessage): void {
    if (this.#state !== "open") return;
    try {
      this.onmessage?.(message);
    } catch (error) {
      // A listener's failure is not the server's.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #onAnswered(exchange: Exchange): void {
    this.#ending.add(exchange);
    if (this.#state === "open") this.#endTimer ??= startTimer(() => this.#endStreams([exchange]), END_GRACE_MS);
  }

  /** @param due exchanges that have had their time since the answer */
  #endStreams(due: readonly Exchange[]): void {
    for (const exchange of due) {
      if (this.#ending.delete(exchange)) exchange.end("cancelled");
    }
    const rest = [...this.#ending];
    this.#endTimer = rest.length === 0 ? undefined : startTimer(() => this.#endStreams(rest), END_GRACE_MS);
  }

  #onInitialized(response: Response): void {
    const id = response.headers.get("mcp-session-id");
    this.#failures.sessionIdHidden = id === null && response.type === "cors";
    if (id === null) return;
    // MCP 2025-11-25, Session Management, item 1: visible ASCII.
    if (!/^[\x21-\x7e]+$/.test(id) || id.length > MAX_SESSION_ID_LENGTH) {
      throw this.#failures.protocol(
        `gave a session id that is not 1 to ${MAX_SESSION_ID_LENGTH} characters of visible ASCII`,
        null,
        "answered",
      );
    }
    this.sessionId = id;
    this.#failures.sessionId = id;
    this.#headers = this.#prepareHeaders();
  }

  /** Made when something in them changes, not for each request. */
  #prepareHeaders(): Record<"POST" | "GET", Record<string, string>> {
    const common = {
      ...this.#endpoint.headers,
      ...(this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId }),
      ...(this.#protocolVersion === undefined ? {} : { "mcp-protocol-version": this.#protocolVersion }),
    };
    return {
      POST: { ...common, "content-type": "application/json", accept: "application/json, text/event-stream" },
      GET: { ...common, accept: "text/event-stream" },
    };
  }

  /** What may be shown of it in logs: neither headers nor hooks. */
  toJSON(): Record<string, unknown> {
    const { sessionId } = this;
    return {
      kind: "http",
      url: this.#endpoint.shown,
      state: this.#state,
      ...(sessionId === undefined ? {} : { sessionId: shortId(sessionId) }),
    };
  }
}
printAsJson(HttpTransport);

function sourceOf(
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  { credentials, scope, credentialsTimeoutMs: timeoutMs, fetch }: TransportOptions,
): CredentialsSource | undefined {
  if (typeof credentials !== "function") {
    limitOf("credentialsTimeoutMs", timeoutMs);
    return credentials;
  }
  return new CredentialsSource(credentials, { connection, auth, scope, timeoutMs, fetch });
}
