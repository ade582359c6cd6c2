/** A transport that a test plays: it keeps what was sent, and the test says what comes. */
import type { McpRuntimeError } from "../../runtime/errors.ts";
import type { JsonRpcMessage, McpTransport, RequestId, TransportSendOptions } from "../../runtime/transport/message.ts";

/** What was sent, as the tests look at it. */
export interface SentMessage {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number };
}

/** Options of {@linkcode ScriptedTransport}. */
export interface ScriptOptions {
  /** What `initialize` is answered with: a result, an error, or nothing. Default: a good result. */
  initialize?: { result?: unknown; error?: unknown } | "nothing";
  /** Whether messages stay unwritten, so that `onsent` is not called. */
  stalled?: boolean;
}

/** Answers `initialize` by itself and leaves everything else to the test. */
export class ScriptedTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onrequesterror?: ((id: RequestId | undefined, error: McpRuntimeError) => void) | undefined;
  lost: McpRuntimeError | undefined;
  stalled: boolean;
  readonly sent: SentMessage[] = [];
  readonly cancelled: RequestId[] = [];
  /** What the next `send` rejects with. */
  refuse: unknown;
  started = 0;
  closed = 0;
  readonly #initialize: ScriptOptions["initialize"];

  constructor(options: ScriptOptions = {}) {
    this.stalled = options.stalled ?? false;
    this.#initialize = options.initialize;
  }

  start(): Promise<void> {
    this.started++;
    return Promise.resolve();
  }

  send(message: JsonRpcMessage, options: TransportSendOptions = {}): Promise<void> {
    const sent = message as SentMessage;
    if (this.refuse !== undefined) return Promise.reject(this.refuse);
    if (sent.method === "tools/call" && this.stalled) return new Promise(() => {});
    options.onsent?.();
    this.sent.push(sent);
    const answer = this.#initialize;
    if (sent.method === "initialize" && answer !== "nothing") {
      const result = {
        protocolVersion: sent.params?.protocolVersion,
        capabilities: {},
        serverInfo: { name: "s", version: "1" },
      };
      queueMicrotask(() => this.receive({ id: sent.id, ...(answer ?? { result }) }));
    }
    return Promise.resolve();
  }

  cancel(id: RequestId): void {
    this.cancelled.push(id);
  }

  close(): Promise<void> {
    if (this.closed++ === 0) this.onclose?.();
    return Promise.resolve();
  }

  /** A message comes from the server. */
  receive(message: Record<string, unknown>): void {
    this.onmessage?.({ jsonrpc: "2.0", ...message } as JsonRpcMessage);
  }

  /** The transport ends by itself. */
  end(lost?: McpRuntimeError): void {
    this.lost = lost;
    this.closed++;
    this.onclose?.();
  }

  /** The messages with this method. */
  of(method: string): SentMessage[] {
    return this.sent.filter((message) => message.method === method);
  }
}
