/**
 * What a test of a service needs in place of an MCP server: an in-memory server whose tools are functions. It speaks the
 * protocol over a transport of its own, so that everything between the service and the wire is the real thing. It needs
 * no permission, no process and no network, follows fake timers, and belongs to no test framework.
 *
 * @example
 * ```ts
 * import { McpRuntimePool, PersistentSessionFactory } from "@wf/sources-mcp";
 * import { FakeMcpServer } from "@wf/sources-mcp/testing";
 *
 * const server = new FakeMcpServer({ tools: { add: ({ a, b }) => ({ sum: Number(a) + Number(b) }) } });
 * await using pool = new McpRuntimePool(new PersistentSessionFactory({ createTransport: server.createTransport }));
 * const calculator = { ...server.connection, id: "calculator.test", provider: "calculator" };
 * const { output } = await pool.callTool(calculator, null, "add", { a: 1, b: 2 });
 * console.log(output, server.calls.length); // { sum: 3 } 1
 * ```
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { McpSourceConnection } from "./connection.ts";
import { PersistentSessionFactory, type SessionContext, type SessionFactoryOptions } from "./factory.ts";
import { checkOptions, checkValue } from "./input.ts";
import type { PersistentMcpSession } from "./session.ts";
import { type FakeBackend, FakeTransport } from "./testing/fake_transport.ts";
import type { JsonRpcMessage, McpTransport } from "./transport/message.ts";

export { FakeRpcError } from "./testing/fake_transport.ts";

/** What a fake tool is given beside its arguments. */
export interface FakeToolContext {
  /** Number of the session that the call came on: 1, 2, … Keep state in a map by it. */
  readonly session: number;
  /** Number of the call on this server: 1, 2, … */
  readonly call: number;
  /** `_meta` of the request. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Aborted when the client cancelled the call or the session ended. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller. */
  progress(progress: number, total?: number, message?: string): void;
  /** Waits, in milliseconds of real or fake time; rejects when the call is cancelled. */
  delay(ms: number): Promise<void>;
}

/**
 * A tool as a function. Its value becomes the result: text becomes a text block; an object with `content`,
 * `structuredContent`, `toolResult` or `isError` is sent as it is; any other object becomes `structuredContent`;
 * `undefined` and `null` become an empty result; an array becomes a text block of its JSON. What it throws becomes a
 * result with outcome `error`, except a {@linkcode FakeRpcError}, which becomes a JSON-RPC error. A promise that never
 * settles is a call without an answer.
 */
export type FakeTool = (args: Record<string, unknown>, context: FakeToolContext) => unknown;

/** One call that a fake server saw. */
export interface FakeCall {
  /** Name of the tool. */
  readonly toolName: string;
  /** Its arguments. */
  readonly args: Readonly<Record<string, unknown>>;
  /** `_meta` of the request. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Number of the session it came on. */
  readonly session: number;
  /** `running` until the tool is done; `cancelled` when the client gave it up; `lost` when its session ended before. */
  outcome: "running" | "ok" | "error" | "cancelled" | "lost";
}

/** Options of {@linkcode FakeMcpServer}. */
export interface FakeMcpServerOptions {
  /** The tools by name. */
  tools?: Readonly<Record<string, FakeTool>>;
  /** How long `initialize` takes, in milliseconds; `Infinity` for never. Default 0. */
  openDelayMs?: number;
  /** The revision that `initialize` answers with. Default: the one the client asked for. */
  protocolVersion?: string;
}

/** An in-memory MCP server. One can serve any number of sessions, of any number of connections. */
export class FakeMcpServer {
  /** A connection that stands for this server; spread it to give it another id. */
  readonly connection: McpSourceConnection = {
    id: "fake.test",
    provider: "fake",
    account: "test",
    transport: { kind: "stdio", command: "fake-mcp-server" },
  };
  /** Every call the server saw, in order. */
  readonly calls: FakeCall[] = [];
  /** Every message the server got, in order. */
  readonly messages: JsonRpcMessage[] = [];
  /** How long `initialize` takes, in milliseconds; may be changed at any time. */
  openDelayMs: number;
  /** When set, `initialize` is refused with this message. */
  refuseOpenings: string | undefined;
  readonly #tools: Map<string, FakeTool>;
  readonly #protocolVersion: string | undefined;
  readonly #live = new Set<FakeTransport>();
  #opened = 0;
  #closed = 0;

  /**
   * Makes a server.
   *
   * @param options its tools and how it opens
   * @throws {McpRuntimeError} `INPUT_INVALID` for an option of a wrong kind
   */
  constructor(options: FakeMcpServerOptions = {}) {
    checkOptions(options, { tools: "object", openDelayMs: "limit", protocolVersion: "string" });
    this.#tools = new Map(Object.entries(options.tools ?? {}));
    for (const [name, tool] of this.#tools) checkValue(`tools.${name}`, tool, "function");
    this.openDelayMs = options.openDelayMs ?? 0;
    this.#protocolVersion = options.protocolVersion;
  }

  /** How many transports were started. */
  get opened(): number {
    return this.#opened;
  }

  /** How many transports have ended, however they did. */
  get closed(): number {
    return this.#closed;
  }

  /** Option `createTransport` of a factory: each session gets a transport to this server. */
  readonly createTransport = (): McpTransport => new FakeTransport(this.#backend());

  /**
   * Stands in for the factory of a pool: `new McpRuntimePool(server.sessionFactory())`.
   *
   * @param options limits of the sessions
   * @returns a session factory
   */
  sessionFactory(options: SessionFactoryOptions = {}): PersistentSessionFactory {
    return new FakeSessionFactory(this, options);
  }

  /**
   * Ends every live session as a server does that dies: running calls may have run.
   *
   * @param message what the loss is called
   */
  crash(message = "the fake server crashed"): void {
    for (const transport of [...this.#live]) transport.crash(message);
  }

  /** Forgets every live session, as an HTTP server does that restarts: their next call is refused, and did not run. */
  forgetSessions(): void {
    for (const transport of this.#live) transport.forgotten = true;
  }

  #backend(): FakeBackend {
    return {
      server: this,
      started: (transport) => {
        this.#live.add(transport);
        return ++this.#opened;
      },
      ended: (transport) => {
        if (this.#live.delete(transport)) this.#closed++;
      },
      tool: (name) => this.#tools.get(name),
      protocolVersion: this.#protocolVersion,
    };
  }
}

/** Whatever the transport of a connection says, it leads to the fake server. */
class FakeSessionFactory extends PersistentSessionFactory {
  readonly #server: FakeMcpServer;

  constructor(server: FakeMcpServer, options: SessionFactoryOptions) {
    super({ ...options, createTransport: server.createTransport });
    this.#server = server;
  }

  override create(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    context?: SessionContext,
  ): Promise<PersistentMcpSession> {
    return super.create({ ...connection, transport: this.#server.connection.transport! }, auth, context);
  }
}
