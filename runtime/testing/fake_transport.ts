/**
 * The wire to a fake server: one session of it, and the transport that leads there.
 *
 * @module
 */
import { McpRuntimeError } from "../errors.ts";
import { isPlainObject } from "../json.ts";
import { MAX_TIMER_MS } from "../limits.ts";
import type { FakeCall, FakeMcpServer, FakeTool, FakeToolContext } from "../testing.ts";
import type {
  JsonRpcMessage,
  JsonRpcRequest,
  McpTransport,
  RequestId,
  TransportSendOptions,
} from "../transport/message.ts";

/** Thrown by a fake tool to answer with a JSON-RPC error. */
export class FakeRpcError extends Error {
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  /** The error's data. */
  readonly data?: unknown;

  /**
   * Makes the error.
   *
   * @param rpcCode the JSON-RPC error code, such as -32602
   * @param message the error's message
   * @param data the error's data, if any
   */
  constructor(rpcCode: number, message: string, data?: unknown) {
    super(message);
    this.name = "FakeRpcError";
    this.rpcCode = rpcCode;
    if (data !== undefined) this.data = data;
  }
}

/** What a session needs of its server. */
export interface FakeBackend {
  server: FakeMcpServer;
  started(transport: FakeTransport): number;
  ended(transport: FakeTransport): void;
  tool(name: string): FakeTool | undefined;
  protocolVersion: string | undefined;
}

interface RunningCall {
  record: FakeCall;
  controller: AbortController;
}

/** One session of the server, and the transport to it. */
export class FakeTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onrequesterror?: ((id: RequestId | undefined, error: McpRuntimeError) => void) | undefined;
  lost: McpRuntimeError | undefined;
  received = 0;
  forgotten = false;
  readonly #backend: FakeBackend;
  readonly #running = new Map<RequestId, RunningCall>();
  readonly #ended = new AbortController();
  #session = 0;
  #state: "new" | "open" | "ended" = "new";
  #keepingAlive: ReturnType<typeof setTimeout> | undefined;

  constructor(backend: FakeBackend) {
    this.#backend = backend;
  }

  start(): Promise<void> {
    this.#state = "open";
    this.ref(); // Until the client says that nothing is owed.
    this.#session = this.#backend.started(this);
    return Promise.resolve();
  }

  async send(message: JsonRpcMessage, options: TransportSendOptions = {}): Promise<void> {
    if (this.#state !== "open") throw this.lost?.withDelivery("not-sent") ?? this.#error("is closed", "SESSION_CLOSED");
    options.onsent?.();
    const call = "method" in message && "id" in message && message.method === "tools/call";
    if (call && this.forgotten) throw this.#error("does not know the session any more", "SESSION_LOST");
    // As a wire does: what is sent later cannot change, and what JSON cannot carry is gone.
    const copy = JSON.parse(JSON.stringify(message)) as JsonRpcMessage;
    this.#backend.server.messages.push(copy);
    await Promise.resolve();
    if ("method" in copy && "id" in copy) void this.#answer(copy as JsonRpcRequest);
    else if ("method" in copy && copy.method === "notifications/cancelled") this.#cancelled(copy.params?.requestId);
  }

  cancel(_id: RequestId): void {
    // The server hears of it by the notification, as over stdio.
  }

  /** As a process or socket does while it owes an answer; without it a test could end before a call's own limit. */
  ref(): void {
    if (this.#state !== "ended") this.#keepingAlive ??= setTimeout(() => {}, MAX_TIMER_MS);
  }

  unref(): void {
    clearTimeout(this.#keepingAlive);
    this.#keepingAlive = undefined;
  }

  close(): Promise<void> {
    this.#end();
    return Promise.resolve();
  }

  crash(message: string): void {
    this.lost = this.#error(`was lost: ${message}`, "SESSION_LOST");
    this.#end();
  }

  #end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.unref();
    for (const { record, controller } of this.#running.values()) {
      record.outcome = "lost";
      controller.abort();
    }
    this.#running.clear();
    this.#ended.abort();
    this.#backend.ended(this);
    this.onclose?.();
  }

  async #answer(request: JsonRpcRequest): Promise<void> {
    const { id, method, params = {} } = request;
    if (method === "initialize") await this.#initialize(id, params);
    else if (method === "tools/call") await this.#callTool(id, params);
    else this.#reply({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  }

  async #initialize(id: RequestId, params: Record<string, unknown>): Promise<void> {
    const { server, protocolVersion } = this.#backend;
    if (server.openDelayMs > 0) {
      try {
        await wait(server.openDelayMs, this.#ended.signal);
      } catch {
        return; // The client gave the opening up.
      }
    }
    if (server.refuseOpenings !== undefined) {
      this.#reply({ jsonrpc: "2.0", id, error: { code: -32000, message: server.refuseOpenings } });
      return;
    }
    this.#reply({
      jsonrpc: "2.0",
      id,
      result: {
        protocolVersion: protocolVersion ?? params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "fake-mcp-server", version: "1.0.0" },
      },
    });
  }

  async #callTool(id: RequestId, params: Record<string, unknown>): Promise<void> {
    const { calls } = this.#backend.server;
    const { name: toolName, arguments: args = {}, _meta: meta = {} } = params as {
      name: string;
      arguments?: Record<string, unknown>;
      _meta?: Record<string, unknown>;
    };
    const record: FakeCall = { toolName, args, meta, session: this.#session, outcome: "running" };
    calls.push(record);
    const running: RunningCall = { record, controller: new AbortController() };
    this.#running.set(id, running);
    const context = this.#context(running, calls.length);
    try {
      const tool = this.#backend.tool(toolName);
      if (!tool) throw new FakeRpcError(-32602, `Unknown tool: ${toolName}`);
      // Copied here, so that a result that JSON cannot carry is the tool's failure and not a call without an answer.
      const result = JSON.parse(JSON.stringify(toResult(await tool(args, context)))) as Record<string, unknown>;
      if (!this.#running.delete(id)) return;
      record.outcome = result.isError === true ? "error" : "ok";
      this.#reply({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!this.#running.delete(id)) return;
      record.outcome = "error";
      this.#reply(failure(id, error));
    }
  }

  #context({ record, controller: { signal } }: RunningCall, call: number): FakeToolContext {
    return {
      session: this.#session,
      call,
      meta: record.meta,
      signal,
      progress: (progress, total, message) =>
        this.#reply({
          jsonrpc: "2.0",
          method: "notifications/progress",
          params: { progressToken: record.meta.progressToken, progress, total, message },
        }),
      delay: (ms) => wait(ms, signal),
    };
  }

  #cancelled(id: unknown): void {
    const running = this.#running.get(id as RequestId);
    if (!running) return;
    this.#running.delete(id as RequestId);
    running.record.outcome = "cancelled";
    running.controller.abort();
  }

  #reply(message: JsonRpcMessage): void {
    if (this.#state !== "open") return;
    this.received++;
    this.onmessage?.(JSON.parse(JSON.stringify(message)));
  }

  #error(what: string, code: "SESSION_CLOSED" | "SESSION_LOST"): McpRuntimeError {
    return new McpRuntimeError(`session of the fake server ${what}`, { code });
  }
}

function failure(id: RequestId, error: unknown): JsonRpcMessage {
  if (error instanceof FakeRpcError) {
    const { rpcCode: code, message, data } = error;
    return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }], isError: true } };
}

function toResult(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return { content: [] };
  if (!isPlainObject(value)) {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return { content: [{ type: "text", text }] };
  }
  const raw = ["content", "structuredContent", "toolResult", "isError"].some((key) => key in value);
  return raw ? value : { content: [], structuredContent: value };
}

/** This timer keeps the program alive: a test that waits for it has nothing else to wait for. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(new Error("the call was cancelled"));
    };
    const timer = ms === Infinity ? undefined : setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
