/**
 * What a program needs of whatever makes its tool calls, so that it can be given a pool or a stand-in.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { CallToolOptions } from "./client.ts";
import type { McpSourceConnection } from "./connection.ts";
import type { ToolCallResult } from "./result.ts";

/** Makes tool calls. `McpRuntimePool` is one. */
export interface ToolExecutor {
  /** Calls a tool of a connection; rejects with a `McpRuntimeError` that says whether the tool may have run. */
  callTool(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    toolName: string,
    payload: Record<string, unknown>,
    options?: CallToolOptions,
  ): Promise<ToolCallResult>;
}
