/**
 * The legacy path `wf_mcp.runtime.session`. A shim: new code imports `@wf/sources-mcp/runtime/session`.
 *
 * @module
 */
export * from "../../runtime/session.ts";
