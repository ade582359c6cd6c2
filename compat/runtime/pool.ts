/**
 * The legacy path `wf_mcp.runtime.pool`. A shim: new code imports `@wf/sources-mcp/runtime/pool`.
 *
 * @module
 */
export * from "../../runtime/pool.ts";
