/**
 * The legacy path `wf_mcp.runtime.protocols`. A shim: new code imports `ToolExecutor` from `@wf/sources-mcp`.
 *
 * @module
 */
export type { ToolExecutor } from "../../runtime/protocols.ts";
