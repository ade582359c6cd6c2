/**
 * `Client` of the MCP SDK, version 2, with its own transports.
 *
 * @module
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Contender, textOf } from "../compare/contender.ts";

// Its own default is 10 MiB for one stdio message.
const maxBufferSize = 128 * 1024 * 1024;

/** SDK v2. */
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
