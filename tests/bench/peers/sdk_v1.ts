/**
 * `Client` of the MCP SDK, version 1, with its own transports.
 *
 * @module
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Contender, textOf } from "../compare/contender.ts";

// Its own default is 10 MiB for one stdio message.
const maxBufferSize = 128 * 1024 * 1024;

/** SDK v1. */
export const contender: Contender = {
  async open(target) {
    const client = new Client({ name: "bench", version: "1.0.0" });
    await client.connect(
      target.kind === "http"
        ? new StreamableHTTPClientTransport(new URL(target.url))
        : new StdioClientTransport({ command: target.command, args: target.args, maxBufferSize }),
    );
    return {
      call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
      close: () => client.close(),
    };
  },
};
