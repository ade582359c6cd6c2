/**
 * What a session needs of a client, and the opening of one.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { McpSourceConnection } from "./connection.ts";
import { openClient } from "./handshake.ts";
import type { RawCallToolResult } from "./result.ts";
import type { McpTransport } from "./transport/message.ts";
import type { TransportOptions } from "./transport/mod.ts";

/** How far a call has come, as the server reports it (MCP 2025-11-25, Progress). */
export interface ToolCallProgress {
  /** Grows with each report. */
  progress: number;
  /** The value of `progress` at the end, when it is known. */
  total?: number;
  /** What is going on, in words. */
  message?: string;
}

/** Options of one tool call. */
export interface CallToolOptions {
  /** Gives the call up: it rejects with `signal.reason` as it is; if it was sent, the server is told. */
  signal?: AbortSignal;
  /** Longest silence, in milliseconds from sending; progress restarts it. Default 60 000; `0` for no limit. */
  timeoutMs?: number;
  /** Longest duration, in milliseconds from sending, whatever progress says. Default 3 600 000; `0` for no limit. */
  maxTotalTimeoutMs?: number;
  /** Longest wait for a session and in its queue, in milliseconds. Default none. */
  queueTimeoutMs?: number;
  /** Called for each progress report. What it throws is ignored. */
  onProgress?: (progress: ToolCallProgress) => void;
  /** More members for the request's `_meta`, such as a trace context. `progressToken` is the library's own. */
  meta?: Readonly<Record<string, unknown>>;
}

/** What a session needs of a client. Our own is made by {@linkcode openMcpSession}; tests and services may give another. */
export interface ToolClient {
  /** Calls a tool and returns its raw result. Rejects with a `McpRuntimeError` that says whether the tool may have run. */
  callTool(
    toolName: string,
    payload: Record<string, unknown>,
    options?: CallToolOptions,
  ): Promise<RawCallToolResult>;
  /** Ends the client and what it owns. Idempotent. */
  close(): Promise<void>;
  /** Settles when the client has ended, by `close` or by itself; then its value or reason is the cause, if there is one. */
  readonly closed?: Promise<unknown>;
  /** Grows with anything that comes from the server. Without it, no session is given up for silence. */
  readonly received?: number;
  /** Process id of the server, when it is a child process. */
  readonly pid?: number | undefined;
  /** The HTTP session's id, when there is one. */
  readonly sessionId?: string | undefined;
  /** The revision of MCP that was negotiated, such as `2025-11-25`. */
  readonly protocolVersion?: string | undefined;
}

/** Name and version that the server is told in `initialize`. */
export interface ClientInfo {
  /** Name of the program. */
  name: string;
  /** Its version. */
  version: string;
}

/** Options of {@linkcode openMcpSession}. */
export interface OpenSessionOptions extends TransportOptions {
  /** Sent in `initialize`. Default: this library. */
  clientInfo?: ClientInfo;
  /** Spawn or dial plus handshake, in milliseconds. Default 30 000. */
  connectTimeoutMs?: number;
  /** Default of the calls' `timeoutMs`. Default 60 000. */
  timeoutMs?: number;
  /** Default of the calls' `maxTotalTimeoutMs`. Default 3 600 000. */
  maxTotalTimeoutMs?: number;
  /** Gives the opening up; it rejects with `signal.reason` after what it started has ended. */
  signal?: AbortSignal;
  /** Makes the transport in place of {@linkcode createTransport}. */
  createTransport?: (
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    options: TransportOptions,
  ) => McpTransport;
}

/**
 * Opens one session: makes the transport, starts it and does the handshake (MCP 2025-11-25, Lifecycle). The caller owns
 * the result and closes it; nothing is opened again by itself. Most programs want a `McpRuntimePool` instead.
 *
 * @param connection the connection, parsed or a literal
 * @param auth its auth record, or `null`
 * @param options limits and hooks
 * @returns the client, ready for calls
 * @throws {McpRuntimeError} `CONNECTION_INVALID`, `INPUT_INVALID`, `NO_TRANSPORT` before any I/O; `OPEN_FAILED`,
 * `AUTH_REJECTED`, `UNSUPPORTED` after everything that was started has ended
 *
 * @example
 * ```ts
 * import { openMcpSession, type RawCallToolResult } from "@wf/sources-mcp";
 *
 * async function readGraph(): Promise<RawCallToolResult> {
 *   await using session = await openMcpSession({
 *     id: "memory.local",
 *     provider: "memory",
 *     account: "local",
 *     transport: { kind: "stdio", command: "deno", args: ["run", "-A", "npm:@modelcontextprotocol/server-memory"] },
 *   }, null);
 *   return await session.callTool("read_graph", {});
 * }
 * ```
 */
export function openMcpSession(
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  options: OpenSessionOptions = {},
): Promise<ToolClient & AsyncDisposable> {
  return openClient(connection, auth, options);
}
