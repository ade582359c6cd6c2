/**
 * The legacy path `wf_mcp.runtime.factory`. A shim: new code imports `@wf/sources-mcp/runtime/factory`.
 *
 * @module
 */
export * from "../../runtime/factory.ts";
