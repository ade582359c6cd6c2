/**
 * The only file that imports the SDK of MCP. Private: its types must not appear in public signatures, which
 * `deno doc --lint` refuses.
 *
 * The SDK's subpaths end in `.js`, for which Deno finds no types and silently takes `any`; the comments name them. A
 * test fails when one of these types is `any`.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/auth"
export { auth } from "@modelcontextprotocol/sdk/client/auth.js";
// @ts-types="@modelcontextprotocol/sdk/client/auth"
export type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
