/**
 * `Client` of the MCP SDK, version 1, alone: what an import of it costs before any transport is chosen.
 *
 * @module
 */
export { Client } from "@modelcontextprotocol/sdk/client";
