/**
 * Persistent MCP client sessions for tool calls: one line calls a tool, the server's state is kept between calls, and
 * every failure says whether the tool may have run.
 *
 * {@linkcode McpRuntimePool} is what most programs need.
 *
 * @example
 * ```ts
 * import { McpRuntimePool, type ToolCallResult } from "@wf/sources-mcp";
 *
 * const everything = {
 *   id: "everything.local",
 *   provider: "everything",
 *   account: "local",
 *   transport: { kind: "stdio" as const, command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] },
 * };
 *
 * async function echo(message: string): Promise<ToolCallResult> {
 *   await using pool = new McpRuntimePool();
 *   return await pool.callTool(everything, null, "echo", { message });
 * }
 * ```
 *
 * @module
 */
export * from "./runtime/mod.ts";
export { mcpAuthEnv, mcpAuthHeaders, parseAuth } from "./runtime/auth.ts";
export { openMcpSession } from "./runtime/client.ts";
export {
  connectionsFromMcpServers,
  type McpServersOptions,
  type McpServersProblem,
  type McpServersResult,
} from "./runtime/config.ts";
export { parseConnection, parseConnectionId } from "./runtime/connection.ts";
export * from "./runtime/errors.ts";
export { DEFAULT_LIMITS, type LimitName } from "./runtime/limits.ts";
export { toolResultToCallResult } from "./runtime/result.ts";
export { type Closable, closeOnSignals, type CloseOnSignalsOptions } from "./runtime/signals.ts";
export { createTransport } from "./runtime/transport/mod.ts";
