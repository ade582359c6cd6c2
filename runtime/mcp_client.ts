/**
 * The protocol engine: requests and responses over a transport, for the handshake and `tools/call` and nothing else.
 *
 * It is our own. The SDK's `Protocol` parses every message with zod and is 38 KB (gzip) of a page's 60; the five
 * messages needed here are few enough to be read by hand, and only so can each failure say whether its call was sent.
 * docs/dependencies.md has the measurements.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import { type CallClock, CallClocks } from "./call_clock.ts";
import type { CallToolOptions, OpenSessionOptions, ToolClient } from "./client.ts";
import type { McpSourceConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import { limitOf } from "./limits.ts";
import { RequestErrors } from "./request_errors.ts";
import type { RawCallToolResult } from "./result.ts";
import { type Redactor, redactorFor } from "./secrets.ts";
import { type FollowedCallOptions, type FollowedOpening, TELEMETRY } from "./telemetry_hooks.ts";
import { startTimer, type Timer } from "./timers.ts";
import { checkToolCall } from "./tool_call.ts";
import type { JsonRpcMessage, McpTransport, RequestId } from "./transport/message.ts";

/** How long the transport stays referenced after its last call, so that calls in a row cost no ref and unref each. */
const UNREF_DELAY_MS = 20;

/** Most replies to the server's own requests that may be unsent; a server that asks but never reads gets no more. */
const MAX_UNSENT_REPLIES = 100;

/** A request that waits for its response. */
class PendingRequest {
  readonly onsent = (): void => void (this.sent = true);
  readonly onrefused = (): void => void (this.sent = false);
  clock: CallClock | undefined;
  abandon: (() => void) | undefined;

  constructor(
    readonly id: number,
    readonly what: string,
    public sent: boolean,
    readonly options: CallToolOptions,
    readonly resolve: (result: RawCallToolResult) => void,
    readonly reject: (reason: unknown) => void,
  ) {}

  release(): void {
    this.clock?.stop();
    if (this.abandon) this.options.signal?.removeEventListener("abort", this.abandon);
  }
}

/** The client over one transport. Private to the library: callers see {@linkcode ToolClient}. */
export class McpClient implements ToolClient, AsyncDisposable {
  readonly closed: Promise<McpRuntimeError | undefined>;
  /** Knows the secrets of the connection; used for what the server says. */
  readonly redactor: Redactor;
  protocolVersion: string | undefined;
  readonly #connection: McpSourceConnection;
  readonly #transport: McpTransport;
  readonly #errors: RequestErrors;
  readonly #timeoutMs: number;
  readonly #maxTotalTimeoutMs: number;
  readonly #pending = new Map<RequestId, PendingRequest>();
  readonly #clocks = new CallClocks();
  #nextId = 0;
  #messages = 0;
  #unsentReplies = 0;
  #ended: McpRuntimeError | undefined;
  #resolveClosed!: (cause: McpRuntimeError | undefined) => void;
  #closing: Promise<void> | undefined;
  #unrefTimer: Timer | undefined;
  #referenced = true;

  constructor(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    transport: McpTransport,
    options: OpenSessionOptions,
  ) {
    this.#connection = connection;
    this.#transport = transport;
    this.#timeoutMs = limitOf("timeoutMs", options.timeoutMs);
    this.#maxTotalTimeoutMs = limitOf("maxTotalTimeoutMs", options.maxTotalTimeoutMs);
    this.redactor = redactorFor(connection, auth);
    this.#errors = new RequestErrors(connection.id, this.redactor);
    this.closed = new Promise((resolve) => this.#resolveClosed = resolve);
    transport.onmessage = (message) => this.#onMessage(message);
    transport.onrequesterror = (id, error) => this.#onRequestError(id, error);
    transport.onclose = () => this.#onClose();
  }

  get received(): number {
    return this.#transport.received ?? this.#messages;
  }

  get pid(): number | undefined {
    return this.#transport.pid;
  }

  get sessionId(): string | undefined {
    return this.#transport.sessionId;
  }

  callTool(
    toolName: string,
    payload: Record<string, unknown>,
    options: FollowedCallOptions = {},
  ): Promise<RawCallToolResult> {
    return new Promise((resolve, reject) => {
      checkToolCall(this.#connection.id, toolName, payload, options);
      if (options.signal?.aborted) throw options.signal.reason;
      const timeoutMs = limitOf("timeoutMs", options.timeoutMs, this.#timeoutMs);
      const totalMs = limitOf("maxTotalTimeoutMs", options.maxTotalTimeoutMs, this.#maxTotalTimeoutMs);
      // The progress token is asked for even without `onProgress`: progress restarts the silence in either case.
      const id = this.#nextId++;
      const _meta = { ...options.meta, ...options[TELEMETRY]?.request(id), progressToken: id };
      const params = { name: toolName, arguments: payload, _meta };
      const what = `call of tool "${toolName}"`;
      const pending = this.#send(id, "tools/call", what, params, options, resolve as (r: unknown) => void, reject);
      if (!pending) return;
      pending.clock = this.#clocks.start(timeoutMs, totalMs, (elapsedMs, limitMs) => {
        this.#giveUp(pending, this.#errors.timeout(pending, elapsedMs, limitMs, this.#transport.hint?.()));
      });
      if (options.signal) {
        const { signal } = options;
        pending.abandon = () => this.#giveUp(pending, signal.reason);
        signal.addEventListener("abort", pending.abandon, { once: true });
      }
    });
  }

  /**
   * Sends `initialize` or another request of the handshake; the caller limits the wait and closes on failure.
   *
   * @param method the method
   * @param params its parameters
   * @param telemetry who follows the opening
   * @returns the result as it came
   */
  request(
    method: string,
    params: Record<string, unknown>,
    telemetry: FollowedOpening | null | undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const _meta = telemetry?.request(id) ?? {};
      const whole = Object.keys(_meta).length > 0 ? { ...params, _meta } : params;
      this.#send(id, method, method, whole, {}, resolve, reject);
    });
  }

  /**
   * Sends a notification.
   *
   * @param method the method
   * @param params its parameters
   * @returns settles as the transport's `send` does
   */
  notify(method: string, params?: Record<string, unknown>): Promise<void> {
    return this.#transport.send({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
  }

  /** Rejects every call that is open, each with whether it was sent, and takes no more. `close` is still to be called. */
  abandon(error: McpRuntimeError): void {
    this.#end(error);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const error = new McpRuntimeError(`session of connection "${this.#connection.id}" was closed`, {
      code: "SESSION_CLOSED",
      connectionId: this.#connection.id,
    });
    this.#end(this.#ended ?? error);
    await this.#transport.close();
    this.#resolveClosed(this.#ended === error ? undefined : this.#ended);
  }

  #send(
    id: number,
    method: string,
    what: string,
    params: Record<string, unknown>,
    options: CallToolOptions,
    resolve: (result: unknown) => void,
    reject: (reason: unknown) => void,
  ): PendingRequest | undefined {
    if (this.#ended) {
      reject(this.#ended.withDelivery("not-sent"));
      return undefined;
    }
    const pending = new PendingRequest(id, what, this.#transport.cancel === undefined, options, resolve, reject);
    this.#pending.set(id, pending);
    if (!this.#referenced) this.#reference(true);
    const onFailed = (error: unknown) => this.#settle(pending)?.reject(this.#errors.send(pending, error));
    try {
      this.#transport.send({ jsonrpc: "2.0", id, method, params }, pending).catch(onFailed);
    } catch (error) {
      onFailed(error);
    }
    // A transport that is not ours may throw, or answer before it returns.
    return this.#pending.has(id) ? pending : undefined;
  }

  #onMessage(message: JsonRpcMessage): void {
    this.#messages++;
    if ("method" in message) {
      if ("id" in message) this.#reply(message.id, message.method);
      else if (message.method === "notifications/progress") this.#onProgress(message.params);
      return;
    }
    // Some servers return the id as text.
    const id = typeof message.id === "string" ? Number(message.id) : message.id;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (!pending) return; // A late answer to a call that was given up settles nothing.
    this.#settle(pending);
    if ("error" in message) pending.reject(this.#errors.rpc(pending, message.error));
    else pending.resolve(message.result);
  }

  /** MCP 2025-11-25, Ping: answered at once. Everything else is refused: no capability was declared for it. */
  #reply(id: RequestId, method: string): void {
    if (this.#unsentReplies >= MAX_UNSENT_REPLIES) return;
    this.#unsentReplies++;
    const done = () => void this.#unsentReplies--;
    const reply = method === "ping"
      ? { jsonrpc: "2.0" as const, id, result: {} }
      : { jsonrpc: "2.0" as const, id, error: { code: -32601, message: "Method not found" } };
    this.#transport.send(reply).then(done, done);
  }

  #onProgress(params: Record<string, unknown> | undefined): void {
    if (!isPlainObject(params) || typeof params.progress !== "number") return;
    const pending = this.#pending.get(params.progressToken as RequestId);
    if (!pending) return;
    pending.clock?.progress();
    const { progress, total, message } = params;
    try {
      pending.options.onProgress?.({
        progress,
        ...(typeof total === "number" ? { total } : {}),
        ...(typeof message === "string" ? { message } : {}),
      });
    } catch {
      // The listener is the caller's; its failure must not end a session that others share.
    }
  }

  #onRequestError(id: RequestId | undefined, error: McpRuntimeError): void {
    // Without an id the only request in flight is the one; with several it stays open until its own limit.
    const key = id ?? (this.#pending.size === 1 ? this.#pending.keys().next().value : undefined);
    const pending = key === undefined ? undefined : this.#pending.get(key);
    if (pending) this.#settle(pending)?.reject(error);
  }

  #onClose(): void {
    // A transport may call this from within its `close`, before there is a promise of ours.
    if (this.#ended) return;
    this.#end(
      this.#transport.lost ??
        new McpRuntimeError(`the server of connection "${this.#connection.id}" ended the session`, {
          code: "SESSION_LOST",
          connectionId: this.#connection.id,
        }),
    );
    this.#resolveClosed(this.#ended);
  }

  #end(error: McpRuntimeError): void {
    this.#ended = error;
    clearTimeout(this.#unrefTimer);
    this.#clocks.stop();
    for (const pending of [...this.#pending.values()]) {
      if (!this.#settle(pending)) continue;
      // The transport closes some turns later; until then it must not send what was told as not sent.
      if (!pending.sent) this.#transport.cancel?.(pending.id);
      pending.reject(error.withDelivery(pending.sent ? "unknown" : "not-sent"));
    }
  }

  /** Takes a request out; `undefined` when it was settled before, so that each settles once. */
  #settle(pending: PendingRequest): PendingRequest | undefined {
    if (!this.#pending.delete(pending.id)) return undefined;
    pending.release();
    if (this.#pending.size === 0 && !this.#ended && this.#transport.unref) {
      this.#unrefTimer ??= startTimer(() => {
        this.#unrefTimer = undefined;
        if (this.#pending.size === 0) this.#reference(false);
      }, UNREF_DELAY_MS);
    }
    return pending;
  }

  #reference(on: boolean): void {
    this.#referenced = on;
    if (on) this.#transport.ref?.();
    else this.#transport.unref?.();
  }

  /** MCP 2025-11-25, Cancellation: the server is told once, best effort, and only of what it was sent. */
  #giveUp(pending: PendingRequest, reason: unknown): void {
    if (!this.#settle(pending)) return;
    if (pending.sent) {
      const params = { requestId: pending.id, reason: "the client gave the call up" };
      this.notify("notifications/cancelled", params).catch(() => {}); // Best effort, as the specification has it.
    }
    this.#transport.cancel?.(pending.id);
    pending.reject(reason);
  }
}
