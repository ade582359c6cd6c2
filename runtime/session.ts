/**
 * `PersistentMcpSession`: the handle that callers hold.
 *
 * @module
 */
import { type AuthRecord, parseAuth } from "./auth.ts";
import type { CallToolOptions, ToolClient } from "./client.ts";
import { type McpSourceConnection, parseConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import { guarded } from "./guarded_client.ts";
import { checkOptions } from "./input.ts";
import { printAsJson } from "./inspect.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { registerOwner, type SessionEnd, SessionOwner, type SessionState } from "./owner.ts";
import type { RawCallToolResult, ToolCallResult } from "./result.ts";
import { redactorFor } from "./secrets.ts";
import { checkToolCall } from "./tool_call.ts";

export type { AuthRecord } from "./auth.ts";
export type { CallToolOptions, ToolCallProgress, ToolClient } from "./client.ts";
export type { HttpSourceTransport, McpSourceConnection, SourceTransport, StdioSourceTransport } from "./connection.ts";
export type { SessionEnd, SessionState } from "./owner.ts";
export type { ContentBlock, RawCallToolResult, ToolCallResult } from "./result.ts";
export type { Delivery, McpErrorCode, McpErrorInit, McpRuntimeError } from "./errors.ts";

/** A function in the place of a client: gets the call, gives the raw result. It may be synchronous. */
export type RawToolCaller = (
  toolName: string,
  payload: Record<string, unknown>,
  options?: CallToolOptions,
) => RawCallToolResult | Promise<RawCallToolResult>;

/** What a session is made of. */
export interface SessionInit {
  /** The connection the session belongs to. */
  connection: McpSourceConnection;
  /** Its auth record, or `null`. */
  auth: AuthRecord | null;
  /** Makes the calls and is closed with the session. */
  client?: ToolClient;
  /** Makes the calls when there is no client. */
  callCallback?: RawToolCaller;
  /** Runs once when the session has ended, however it ended. */
  closeCallback?: () => void | Promise<void>;
}

/** An owner that exists before its session does: how the factory hands over what it opened. */
interface OwnedInit extends SessionInit {
  owner: SessionOwner;
}

/**
 * One live session with an MCP server. It makes tool calls, one after another in the order they were accepted, and
 * nothing else.
 *
 * - A call that was accepted settles exactly once.
 * - When the server ends, the running call and every queued one reject at once with the same cause; later calls too.
 * - `close()` refuses new calls, lets accepted ones finish within 30 s (`drainTimeoutMs` of its factory), then ends the
 *   client. It is idempotent.
 * - A session that was lost stays lost; a pool opens a new one.
 *
 * Sessions usually come from a `McpRuntimePool` or a `PersistentSessionFactory`; made by hand from a client or a
 * callback they serve tests and adapters.
 *
 * @example
 * ```ts
 * import { PersistentMcpSession } from "@wf/sources-mcp";
 *
 * await using session = new PersistentMcpSession({
 *   connection: { id: "echo.test", provider: "echo", account: "test" },
 *   auth: null,
 *   callCallback: (_toolName, payload) => ({ content: [], structuredContent: { echoed: payload.text } }),
 * });
 * const { output } = await session.callTool("echo", { text: "hi" });
 * console.log(output); // { echoed: "hi" }
 * ```
 */
export class PersistentMcpSession implements AsyncDisposable {
  static {
    printAsJson(this);
  }
  readonly #connection: McpSourceConnection;
  readonly #auth: AuthRecord | null;
  readonly #owner: SessionOwner;

  /**
   * Makes a session that is ready for calls.
   *
   * @param init connection, auth record, and who makes the calls
   * @throws {McpRuntimeError} `CONNECTION_INVALID` for a bad connection or auth record, `INPUT_INVALID` for anything else
   */
  constructor(init: SessionInit) {
    checkOptions(init, { client: "client", callCallback: "function", closeCallback: "function" }, undefined, "init");
    this.#connection = parseConnection(init.connection);
    this.#auth = init.auth === null ? null : parseAuth(init.auth);
    this.#owner = (init as Partial<OwnedInit>).owner ?? ownerFor(this.#connection, this.#auth, init);
    registerOwner(this, this.#owner);
  }

  /** The connection, parsed and frozen. */
  get connection(): McpSourceConnection {
    return this.#connection;
  }

  /** The auth record, parsed and frozen, or `null`. */
  get auth(): AuthRecord | null {
    return this.#auth;
  }

  /** Where the session is in its life: `ready` takes calls. */
  get state(): SessionState {
    return this.#owner.state;
  }

  /** Resolves when the session has ended and everything it owned is gone; says how. Never rejects. */
  get closed(): Promise<SessionEnd> {
    return this.#owner.closed;
  }

  /**
   * Calls a tool.
   *
   * @param toolName name of the tool
   * @param payload its arguments, JSON values only
   * @param options signal, limits, progress
   * @returns the normalised result; a tool's own failure is a result with outcome `error`
   * @throws {McpRuntimeError} `INPUT_INVALID`, `QUEUE_FULL`, `QUEUE_TIMEOUT`, `SESSION_CLOSED` (not sent);
   * `CALL_TIMEOUT`, `SESSION_LOST`, `HTTP_ERROR` (see `delivery`); `AUTH_REJECTED` (not sent); `PROTOCOL_ERROR`,
   * `MESSAGE_TOO_LARGE` (see `delivery`). A caller's abort rejects with `signal.reason` itself
   */
  async callTool(
    toolName: string,
    payload: Record<string, unknown>,
    options: CallToolOptions = {},
  ): Promise<ToolCallResult> {
    checkToolCall(this.#connection.id, toolName, payload, options);
    return await this.#owner.submit(toolName, payload, options);
  }

  /**
   * Ends the session: refuses new calls, drains accepted ones, then ends the client.
   *
   * @returns resolves when everything is gone; rejects only with what the close callback threw
   */
  close(): Promise<void> {
    return this.#owner.close();
  }

  /** The same as {@linkcode PersistentMcpSession.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * What may be shown of a session: nothing of its auth record, environment or headers.
   *
   * @returns id, state and counts
   */
  toJSON(): Record<string, unknown> {
    const { state, queued, inFlight, generation } = this.#owner;
    return { connectionId: this.#connection.id, state, generation, queued, inFlight };
  }
}

function ownerFor(connection: McpSourceConnection, auth: AuthRecord | null, init: SessionInit): SessionOwner {
  const connectionId = connection.id;
  const { maxQueuedCalls, queueTimeoutMs, drainTimeoutMs, closeTimeoutMs, concurrency } = DEFAULT_LIMITS;
  const owner = new SessionOwner({
    connectionId,
    limits: { maxQueuedCalls, queueTimeoutMs, drainTimeoutMs, closeTimeoutMs, concurrency },
    redactor: () => redactorFor(connection, auth),
    closeCallback: init.closeCallback,
  });
  owner.adopt(guarded(connectionId, init.client ?? callbackClient(connectionId, init.callCallback)));
  return owner;
}

function callbackClient(connectionId: string, callback: RawToolCaller | undefined): ToolClient {
  const callTool = callback ?? (() => {
    throw new McpRuntimeError("persistent MCP session has no tool call transport", {
      code: "NO_TRANSPORT",
      connectionId,
    });
  });
  return { callTool: async (...call) => await callTool(...call), close: () => Promise.resolve() };
}
