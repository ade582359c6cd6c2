/**
 * `createMCPClient` of `@ai-sdk/mcp`, with its own transports.
 *
 * @module
 */
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { type Contender, textOf } from "../compare/contender.ts";

/** AI SDK. */
export const contender: Contender = {
  async open(target) {
    const client = await createMCPClient({
      transport: target.kind === "http"
        ? { type: "http", url: target.url }
        : new StdioMCPTransport({ command: target.command, args: target.args }),
    });
    return {
      call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
      close: () => client.close(),
    };
  },
};
