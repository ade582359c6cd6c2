/**
 * The legacy path `wf_mcp`: everything `runtime/` exports, and `ToolExecutor`. A shim: new code imports `@wf/sources-mcp`.
 *
 * @module
 */
export * from "../runtime/mod.ts";
