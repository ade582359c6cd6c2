/**
 * The SDK's types and ours, held against each other when this file is type-checked. The SDK's subpaths end in `.js`, for
 * which Deno silently takes `any`; an `any` would make every other line here pass, so that is looked at first.
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/inMemory"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/shared/protocol"
import type { Protocol } from "@modelcontextprotocol/sdk/shared/protocol.js";
// @ts-types="@modelcontextprotocol/sdk/shared/transport"
import type { Transport, TransportSendOptions } from "@modelcontextprotocol/sdk/shared/transport.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import type * as sdk from "@modelcontextprotocol/sdk/types.js";
import { assertEquals } from "@std/assert";
import { openMcpSession } from "../runtime/client.ts";
import type { ContentBlock, RawCallToolResult } from "../runtime/result.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import type * as ours from "../runtime/transport/message.ts";

/** In tuples: of a module that was not resolved, a bare condition is `any` again, and fits both answers. */
type IsAny<T> = [0] extends [1 & T] ? true : false;
type Is<From, To> = [From] extends [To] ? true : false;

/** Does not compile when one of them is `any`. */
const notAny: {
  client: IsAny<Client>;
  callTool: IsAny<ReturnType<Client["callTool"]>>;
  protocol: IsAny<Protocol<sdk.Request, sdk.Notification, sdk.Result>>;
  transport: IsAny<Transport>;
  send: IsAny<Transport["send"]>;
  sendOptions: IsAny<TransportSendOptions>;
  message: IsAny<sdk.JSONRPCMessage>;
  request: IsAny<sdk.JSONRPCRequest>;
  callToolResult: IsAny<sdk.CallToolResult>;
  content: IsAny<sdk.CallToolResult["content"]>;
  contentBlock: IsAny<sdk.ContentBlock>;
} = {
  client: false,
  callTool: false,
  protocol: false,
  transport: false,
  send: false,
  sendOptions: false,
  message: false,
  request: false,
  callToolResult: false,
  content: false,
  contentBlock: false,
};

/** Ours, where the SDK's is expected. */
const toSdk: {
  transport: Is<ours.McpTransport, Transport>;
  id: Is<ours.RequestId, sdk.RequestId>;
  request: Is<ours.JsonRpcRequest, sdk.JSONRPCRequest>;
  notification: Is<ours.JsonRpcNotification, sdk.JSONRPCNotification>;
  result: Is<ours.JsonRpcResultResponse, sdk.JSONRPCResultResponse>;
  error: Is<ours.JsonRpcErrorResponse, sdk.JSONRPCErrorResponse>;
  message: Is<ours.JsonRpcMessage, sdk.JSONRPCMessage>;
  rawResult: Is<RawCallToolResult, sdk.Result>;
  /** Wider on purpose: servers return content of any shape, and kinds of blocks that the SDK does not know. */
  callToolResult: Is<RawCallToolResult, sdk.CallToolResult>;
  contentBlock: Is<ContentBlock, sdk.ContentBlock>;
} = {
  transport: true,
  id: true,
  request: true,
  notification: true,
  result: true,
  error: true,
  message: true,
  rawResult: true,
  callToolResult: false,
  contentBlock: false,
};

/** The SDK's, where ours is expected. */
const fromSdk: {
  transport: Is<Transport, ours.McpTransport>;
  id: Is<sdk.RequestId, ours.RequestId>;
  request: Is<sdk.JSONRPCRequest, ours.JsonRpcRequest>;
  notification: Is<sdk.JSONRPCNotification, ours.JsonRpcNotification>;
  result: Is<sdk.JSONRPCResultResponse, ours.JsonRpcResultResponse>;
  error: Is<sdk.JSONRPCErrorResponse, ours.JsonRpcErrorResponse>;
  message: Is<sdk.JSONRPCMessage, ours.JsonRpcMessage>;
  callToolResult: Is<sdk.CallToolResult, RawCallToolResult>;
  contentBlock: Is<sdk.ContentBlock, ContentBlock>;
} = {
  transport: true,
  id: true,
  request: true,
  notification: true,
  result: true,
  error: true,
  message: true,
  callToolResult: true,
  contentBlock: true,
};

Deno.test("SDK types: none is any", () => {
  assertEquals(new Set(Object.values(notAny)), new Set([false]));
});

Deno.test("McpTransport and its messages: assignable to the SDK's and from them; results and blocks are wider", () => {
  const narrower = Object.entries(toSdk).filter(([, fits]) => !fits).map(([name]) => name);
  assertEquals(narrower, ["callToolResult", "contentBlock"]);
  assertEquals(Object.values(fromSdk).every(Boolean), true);
});

Deno.test("McpTransport: an SDK Client runs over it", async () => {
  const server = new FakeMcpServer({ tools: { echo: (args) => args } });
  const client = new Client({ name: "types", version: "1.0.0" });
  await client.connect(server.createTransport());
  const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
  await client.close();
  assertEquals(result.structuredContent, { text: "hi" });
});

Deno.test("McpTransport: an SDK transport is accepted in its place", async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "types", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: params.name }],
  }));
  await server.connect(far);
  const connection = { id: "a.b", provider: "a", account: "b", transport: { kind: "stdio" as const, command: "x" } };
  const session = await openMcpSession(connection, null, { createTransport: () => near });
  const result = await session.callTool("echo", {});
  await session.close();
  assertEquals(result.content, [{ type: "text", text: "echo" }]);
});
