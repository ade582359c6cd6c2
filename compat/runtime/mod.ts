/**
 * The legacy path `wf_mcp.runtime`. A shim: new code imports `@wf/sources-mcp/runtime`.
 *
 * @module
 */
export * from "../../runtime/mod.ts";
