/**
 * The servers of the model: transports that keep what reached them and do what a command says.
 *
 * @module
 */
import { McpRuntimeError } from "../../runtime/errors.ts";
import type { JsonRpcMessage, McpTransport, TransportSendOptions } from "../../runtime/transport/message.ts";
import type { ModelClock } from "./clock.ts";

/** How a server meets an opening. */
export type Opening = "good" | "refuses" | "silent" | "held";
/** How it meets its end. */
export type Closing = "quick" | "slow" | "stuck" | "throws";

/** What a server of a connection does from now on. */
export interface ServerMode {
  opening: Opening;
  closing: Closing;
  /** Whether what is written to it stays unsent. */
  stalled: boolean;
}

/** One `tools/call` that was handed to a transport. */
export interface WireRequest {
  readonly id: number;
  /** Number of the call; its tool is called so. */
  readonly call: number;
  readonly transport: ModelTransport;
  /** Whether it left this program. */
  written: boolean;
  /** `open`: the client waits for it. The other words say how that ended. */
  state: "open" | "answered" | "refused" | "broken" | "given up" | "lost";
  onsent: () => void;
  done: () => void;
  failed: (error: McpRuntimeError) => void;
}

/** What the transports tell. */
export interface WireObserver {
  onStart(transport: ModelTransport): void;
  onWritten(request: WireRequest): void;
}

const SLOW_CLOSE_MS = 300;
let nextPid = 1_000;

/** A transport to a process (it has a pid and may crash) or over HTTP (its server may forget the session). */
export class ModelTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  lost: McpRuntimeError | undefined;
  readonly pid: number | undefined;
  readonly requests: WireRequest[] = [];
  /** `alive` until the session is closing, lost or forgotten; `gone` when nothing of it is left. */
  state: "new" | "opening" | "alive" | "ended" | "gone" = "new";
  forgotten = false;
  /** Its end was asked for and never comes: the library may only wait so long. */
  stuck = false;
  startedAt = 0;
  generation: number | undefined;
  #initialize: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    readonly key: string,
    readonly config: number,
    readonly mode: ServerMode,
    readonly clock: ModelClock,
    readonly observer: WireObserver,
    readonly kind: "stdio" | "http",
  ) {
    this.pid = kind === "stdio" ? nextPid++ : undefined;
  }

  start(): Promise<void> {
    this.state = "opening";
    this.startedAt = this.clock.now;
    this.observer.onStart(this);
    return Promise.resolve();
  }

  send(message: JsonRpcMessage, options: TransportSendOptions = {}): Promise<void> {
    if (this.state === "ended" || this.state === "gone") return Promise.reject(this.#lost("not-sent"));
    const { id, method, params } = message as { id?: number; method: string; params?: Record<string, unknown> };
    if (method === "initialize") return this.#opening(id!, params!.protocolVersion);
    if (method !== "tools/call") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const request: WireRequest = {
        id: id!,
        call: Number((params!.name as string).slice(1)),
        transport: this,
        written: false,
        state: "open",
        onsent: () => options.onsent?.(),
        done: resolve,
        failed: reject,
      };
      this.requests.push(request);
      if (!this.mode.stalled) this.#write(request);
    });
  }

  cancel(id: number): void {
    const request = this.open.find((each) => each.id === id);
    if (request) this.#end(request, "given up").done();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Requests that the client waits for. */
  get open(): WireRequest[] {
    return this.requests.filter((request) => request.state === "open");
  }

  /** Sends what was stalled. */
  flush(): void {
    for (const request of this.open) if (!request.written) this.#write(request);
  }

  /** Answers a held `initialize`. */
  admit(): void {
    this.#initialize?.();
    this.#initialize = undefined;
  }

  get held(): boolean {
    return this.#initialize !== undefined && this.state === "opening";
  }

  answer(request: WireRequest, how: "ok" | "error" | "rpc error"): void {
    if (request.state === "open") this.#end(request, "answered");
    const body = how === "rpc error"
      ? { error: { code: -32000, message: "refused by the server" } }
      : { result: { structuredContent: { call: request.call }, isError: how === "error" } };
    this.#receive({ id: request.id, ...body });
    request.done();
  }

  progress(request: WireRequest): void {
    const params = { progressToken: request.id, progress: 1 };
    this.#receive({ method: "notifications/progress", params });
  }

  /** The process ends without being asked. */
  crash(): void {
    this.lost = this.#lost("unknown");
    this.#leave("lost");
    this.state = "gone";
    this.onclose?.();
  }

  /** The server does not know the session any more: it refuses this request and every later one. */
  forget(request: WireRequest): void {
    this.forgotten = true;
    this.#end(request, "refused").failed(this.#lost("not-sent"));
  }

  /** The exchange of one request breaks. */
  break(request: WireRequest): void {
    this.#end(request, "broken").failed(
      new McpRuntimeError("the exchange broke", {
        code: "HTTP_ERROR",
        delivery: request.written ? "unknown" : "not-sent",
      }),
    );
  }

  #opening(id: number, protocolVersion: unknown): Promise<void> {
    const admit = () => {
      if (this.state !== "opening") return;
      this.state = "alive";
      const serverInfo = { name: "model", version: "1" };
      this.#receive({ id, result: { protocolVersion, capabilities: {}, serverInfo } });
    };
    const { opening } = this.mode;
    if (opening === "good") queueMicrotask(admit);
    if (opening === "held") this.#initialize = admit;
    if (opening === "refuses") queueMicrotask(() => this.#receive({ id, error: { code: -1, message: "not today" } }));
    return Promise.resolve();
  }

  #write(request: WireRequest): void {
    request.onsent();
    request.written = true;
    this.observer.onWritten(request);
    if (this.forgotten) this.#end(request, "refused").failed(this.#lost("not-sent"));
    else if (this.kind === "stdio") request.done();
  }

  async #close(): Promise<void> {
    this.#leave("lost");
    const { closing } = this.mode;
    if (this.state === "new" || this.state === "gone") closing;
    else if (closing === "stuck") {
      this.stuck = true;
      this.state = "ended";
      await new Promise(() => {});
    } else if (closing === "slow") {
      this.state = "ended";
      await new Promise<void>((resolve) => this.clock.after(SLOW_CLOSE_MS, resolve));
    }
    const was = this.state;
    this.state = "gone";
    if (was !== "gone") this.onclose?.();
    if (closing === "throws") throw new Error("the transport could not be closed");
  }

  #leave(how: "lost"): void {
    for (const request of this.open) this.#end(request, how).done();
  }

  #end(request: WireRequest, how: Exclude<WireRequest["state"], "open">): WireRequest {
    request.state = how;
    return request;
  }

  #receive(message: Record<string, unknown>): void {
    if (this.state !== "gone") this.onmessage?.({ jsonrpc: "2.0", ...message } as JsonRpcMessage);
  }

  #lost(delivery: "not-sent" | "unknown"): McpRuntimeError {
    return new McpRuntimeError(`the session of ${this.key} is gone`, { code: "SESSION_LOST", delivery });
  }
}
