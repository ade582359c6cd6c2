/**
 * Persistent MCP client sessions for tool calls: one line calls a tool, the server's state is kept between calls, and
 * every failure says whether the tool may have run.
 *
 * {@linkcode McpRuntimePool} is what most programs need.
 *
 * @example
 * ```ts no-run
 * import { McpRuntimePool } from "@wf/sources-mcp";
 *
 * await using pool = new McpRuntimePool();
 * const everything = {
 *   id: "everything.local",
 *   provider: "everything",
 *   account: "local",
 *   transport: {
 *     kind: "stdio" as const,
 *     command: "deno",
 *     args: ["run", "-A", "npm:@modelcontextprotocol/server-everything", "stdio"],
 *   },
 * };
 * console.log(await pool.callTool(everything, null, "echo", { message: "hi" }));
 * ```
 *
 * @module
 */
export * from "./runtime/mod.ts";
export { mcpAuthEnv, mcpAuthHeaders, parseAuth } from "./runtime/auth.ts";
export { openMcpSession } from "./runtime/client.ts";
export { parseConnection, parseConnectionId } from "./runtime/connection.ts";
export * from "./runtime/errors.ts";
export { DEFAULT_LIMITS, type LimitName } from "./runtime/limits.ts";
export { toolResultToCallResult } from "./runtime/result.ts";
export { type Closable, closeOnSignals, type CloseOnSignalsOptions } from "./runtime/signals.ts";
export { createTransport } from "./runtime/transport/mod.ts";
