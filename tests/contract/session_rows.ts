/** Rows 1, 2, 3, 15 and 17: the session by itself. */
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { McpRuntimeError } from "../../mod.ts";
import type { RawCallToolResult, ToolClient } from "../../runtime/mod.ts";
import type { DeclareRow, Runtime } from "./runtime.ts";

const connection = { id: "echo.test", provider: "echo", account: "test" };
const text = { type: "text", text: "said" };

/** Raw results and what they become. */
const RESULTS: [string, RawCallToolResult, Record<string, unknown>][] = [
  [
    "structuredContent that is an object is the output, content is kept beside",
    { content: [text], structuredContent: { echoed: "hi" } },
    { outcome: "ok", output: { echoed: "hi" }, meta: {}, content: [text], structuredContent: { echoed: "hi" } },
  ],
  [
    "without structuredContent the output is the content",
    { content: [text] },
    { outcome: "ok", output: { content: [text] }, meta: {}, content: [text] },
  ],
  [
    "structuredContent that is an array is not the output",
    { content: [text], structuredContent: [1, 2] },
    { outcome: "ok", output: { content: [text] }, meta: {}, content: [text], structuredContent: [1, 2] },
  ],
  [
    "structuredContent that is null is not the output",
    { content: [text], structuredContent: null },
    { outcome: "ok", output: { content: [text] }, meta: {}, content: [text], structuredContent: null },
  ],
  [
    "isError makes the outcome error and is never thrown",
    { content: [text], isError: true },
    { outcome: "error", output: { content: [text] }, meta: {}, content: [text] },
  ],
  [
    "isError beside structuredContent keeps both",
    { content: [text], structuredContent: { reason: "no" }, isError: true },
    { outcome: "error", output: { reason: "no" }, meta: {}, content: [text], structuredContent: { reason: "no" } },
  ],
  [
    "_meta becomes meta",
    { content: [text], _meta: { took: 5 } },
    { outcome: "ok", output: { content: [text] }, meta: { took: 5 }, content: [text] },
  ],
];

/** Declares the rows of the session. */
export function sessionRows(row: DeclareRow, { PersistentMcpSession, McpRuntimePool }: Runtime): void {
  for (const how of ["a synchronous", "an asynchronous"]) {
    row(1, `a session normalises what ${how} call callback returns`, async () => {
      const raw = { structuredContent: { echoed: "hi" } };
      const callCallback = () => how === "a synchronous" ? raw : Promise.resolve(raw);
      await using session = new PersistentMcpSession({ connection, auth: null, callCallback });
      const { outcome, output } = await session.callTool("echo", { text: "hi" });
      assertEquals([outcome, output], ["ok", { echoed: "hi" }]);
    });
  }

  row(1, "a call callback gets tool name and payload", async () => {
    const seen: unknown[] = [];
    const callCallback = (toolName: string, payload: Record<string, unknown>) => {
      seen.push([toolName, payload]);
      return {};
    };
    await using session = new PersistentMcpSession({ connection, auth: null, callCallback });
    await session.callTool("echo", { text: "hi" });
    assertEquals(seen, [["echo", { text: "hi" }]]);
  });

  row(2, "a session normalises what an injected client returns", async () => {
    await using session = new PersistentMcpSession({ connection, auth: null, client: countingClient() });
    const { outcome, output } = await session.callTool("echo", { text: "hi" });
    assertEquals([outcome, output], ["ok", { echoed: "hi" }]);
  });

  row(2, "close calls the close callback once, and closes the injected client once", async () => {
    const client = countingClient();
    let callbacks = 0;
    const session = new PersistentMcpSession({ connection, auth: null, client, closeCallback: () => void callbacks++ });
    await Promise.all([session.close(), session.close()]);
    await session.close();
    assertEquals([callbacks, client.closes], [1, 1]);
  });

  row(3, "a session with neither callback nor client has no tool call transport", async () => {
    await using session = new PersistentMcpSession({ connection, auth: null });
    const error = await assertRejects(() => session.callTool("echo", {}), McpRuntimeError);
    assertEquals(error.message, "persistent MCP session has no tool call transport");
    assertEquals([error.code, error.delivery], ["NO_TRANSPORT", "not-sent"]);
  });

  for (const [behaviour, raw, expected] of RESULTS) {
    row(15, behaviour, async () => {
      await using session = new PersistentMcpSession({ connection, auth: null, callCallback: () => raw });
      assertEquals({ ...await session.callTool("echo", {}) }, expected);
    });
  }

  row(17, "the session has no other MCP operation than the tool call", () => {
    const members = ["auth", "callTool", "close", "closed", "connection", "constructor", "state", "toJSON"];
    assertEquals(Object.getOwnPropertyNames(PersistentMcpSession.prototype).sort(), members);
    assertStrictEquals(Object.getPrototypeOf(PersistentMcpSession.prototype), Object.prototype);
  });

  row(17, "the pool has no other MCP operation than the tool call", () => {
    const members = ["abort", "callTool", "closeAll", "closeConnection", "constructor", "getSession", "sessions"];
    assertEquals(Object.getOwnPropertyNames(McpRuntimePool.prototype).sort(), [...members, "stats", "toJSON"]);
    assertStrictEquals(Object.getPrototypeOf(McpRuntimePool.prototype), Object.prototype);
  });
}

function countingClient(): ToolClient & { closes: number } {
  const client = {
    closes: 0,
    callTool: (_toolName: string, { text }: Record<string, unknown>) =>
      Promise.resolve({ structuredContent: { echoed: text } }),
    close: () => {
      client.closes++;
      return Promise.resolve();
    },
  };
  return client;
}
