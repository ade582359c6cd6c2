import { assert, assertEquals, assertLess } from "@std/assert";
import { deadline } from "@std/async";
import { FakeTime } from "@std/testing/time";
import { openMcpSession } from "../../runtime/client.ts";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { createTransport } from "../../runtime/transport/mod.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { handshake, startRawServer } from "../fixtures/http/raw_server.ts";
import {
  connectionTo,
  echo,
  initializeResult,
  rpc,
  rpcError,
  type Seen,
  startServer,
  type TestServer,
} from "../fixtures/http/server.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

for (const concurrency of [1, 10]) {
  Deno.test(`H1 McpRuntimePool: ten calls to a forgotten session share one new handshake, concurrency ${concurrency}`, async () => {
    await using server = startServer();
    await using pool = new McpRuntimePool(new PersistentSessionFactory({ concurrency }));
    const connection = connectionTo(server.url);
    await pool.callTool(connection, null, "first", {});
    server.forget();
    const results = await Promise.all(range(10).map((n) => pool.callTool(connection, null, "echo", { n })));
    assertEquals(results.map(({ output }) => output.n), range(10));
    const [, second] = server.of("initialize");
    assertEquals(server.of("initialize").length, 2);
    assertEquals(second.headers.get("mcp-session-id"), null);
    for (const n of range(10)) {
      const sent = server.of("tools/call").filter(({ message }) =>
        (message.params?.arguments as { n?: number }).n === n
      );
      assert(sent.length <= 2, `call ${n} was sent ${sent.length} times`);
      assertEquals(sent.at(-1)?.headers.get("mcp-session-id"), "session-2");
    }
  });
}

Deno.test("H1 McpRuntimePool: a new session that is forgotten too is an error and no loop", async () => {
  const server = startServer({ call: () => new Response("no such session", { status: 404 }) });
  await using _server = server;
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery, error.status], ["SESSION_LOST", "not-sent", 404]);
  assertEquals(server.of("initialize").length, 2);
  assertEquals(server.of("tools/call").length, 2);
});

Deno.test("H1 HttpTransport: 404 without a session id is a wrong URL", async () => {
  await using server = startServer({ request: () => new Response("nothing here", { status: 404 }) });
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.status], ["OPEN_FAILED", 404]);
  assertEquals(server.of("initialize").length, 1);
});

Deno.test("H1 HttpTransport: 404 from a server without sessions is an answer, not a lost session", async () => {
  await using server = startServer({ sessions: false, call: () => new Response("gone", { status: 404 }) });
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "answered"]);
  assertEquals(server.of("initialize").length, 1);
});

Deno.test("HttpTransport: the session id and the negotiated revision go with every request after the handshake", async () => {
  await using server = startServer();
  const pool = new McpRuntimePool();
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  await pool.closeAll();
  const [initialize, ...later] = server.seen;
  assertEquals(initialize.headers.get("mcp-session-id"), null);
  assertEquals(initialize.headers.get("mcp-protocol-version"), null);
  assertEquals(later.map(({ method }) => method), ["POST", "POST", "DELETE"]);
  for (const { headers } of later) {
    assertEquals(headers.get("mcp-session-id"), "session-1");
    assertEquals(headers.get("mcp-protocol-version"), "2025-11-25");
  }
  for (const { headers } of [initialize, later[0], later[1]]) {
    assertEquals(headers.get("accept"), "application/json, text/event-stream");
    assertEquals(headers.get("content-type"), "application/json");
  }
});

for (const how of ["close", "replace", "evict"] as const) {
  for (const answers of ["200", "never"] as const) {
    Deno.test(`H3 HttpTransport: ${how} sends one DELETE and resolves when it is answered ${answers}`, async () => {
      await using server = startServer({
        request: (seen) => seen.method === "DELETE" && answers === "never" ? hangUntilGone(seen) : undefined,
      });
      const pool = new McpRuntimePool(new PersistentSessionFactory({ closeTimeoutMs: 100 }), { maxSessions: 1 });
      const connection = connectionTo(server.url);
      await pool.callTool(connection, null, "echo", {});
      const started = performance.now();
      if (how === "replace") await pool.callTool(connectionTo(server.url, { "x-version": "2" }), null, "echo", {});
      if (how === "evict") {
        await pool.callTool({ ...connection, id: "test.other", account: "other" }, null, "echo", {});
      }
      await pool.closeAll();
      assertLess(performance.now() - started, 5_000);
      const deleted = server.of("DELETE").map(({ headers }) => headers.get("mcp-session-id"));
      assertEquals(deleted.sort(), how === "close" ? ["session-1"] : ["session-1", "session-2"]);
    });
  }
}

Deno.test("H3 HttpTransport: close resolves although an injected fetch ignores its signal", async () => {
  await using server = startServer();
  const fetch = (input: string, init: RequestInit) =>
    init.method === "DELETE" ? new Promise<Response>(() => {}) : globalThis.fetch(input, init);
  const session = await openMcpSession(connectionTo(server.url), null, { fetch, closeTimeoutMs: 50 });
  await deadline(session.close(), 5_000);
});

Deno.test("H3 HttpTransport: a session that the server forgot gets no DELETE", async () => {
  await using server = startServer();
  const pool = new McpRuntimePool();
  const connection = connectionTo(server.url);
  await pool.callTool(connection, null, "echo", {});
  server.forget();
  await pool.callTool(connection, null, "echo", {});
  await pool.closeAll();
  assertEquals(server.of("DELETE").map(({ headers }) => headers.get("mcp-session-id")), ["session-2"]);
});

Deno.test("H3 HttpTransport: a server without sessions gets no DELETE", async () => {
  await using server = startServer({ sessions: false });
  const pool = new McpRuntimePool();
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  await pool.closeAll();
  assertEquals(server.of("DELETE").length, 0);
});

const VARIANTS: Record<string, (seen: Seen) => Response> = {
  "400 with -32000, no valid session ID": (seen) =>
    rpcError(seen, -32000, "Bad Request: No valid session ID provided", 400),
  "400 with -32000, session not found": (seen) => rpcError(seen, -32000, "Session not found", 400),
  "400 with -32000 and without an id": () =>
    Response.json({ jsonrpc: "2.0", error: { code: -32000, message: "Invalid session ID" }, id: null }, {
      status: 400,
    }),
  "400 with -32600, missing session id": (seen) => rpcError(seen, -32600, "Bad Request: Missing session ID", 400),
  "400 with -32000, server not initialized": (seen) =>
    rpcError(seen, -32000, "Bad Request: Server not initialized", 400),
  "400 with plain text": () => new Response("Invalid or missing session ID", { status: 400 }),
  "200 with -32001 as JSON": (seen) => rpcError(seen, -32001, "Session not found"),
  "200 with -32001 as an event": (seen) => {
    const error = { code: -32001, message: "Session expired" };
    const data = JSON.stringify({ jsonrpc: "2.0", id: seen.message.id, error });
    return new Response(`data: ${data}\n\n`, { headers: { "content-type": "text/event-stream" } });
  },
};

/** A server that takes calls of its second session only. */
function forgetsFirst(refuse: (seen: Seen) => Response): TestServer {
  return startServer({
    call: (seen) => seen.headers.get("mcp-session-id") === "session-1" ? refuse(seen) : undefined,
  });
}

for (const [name, refuse] of Object.entries(VARIANTS)) {
  Deno.test(`H15 HttpTransport: a session is unknown: ${name}`, async () => {
    await using server = forgetsFirst(refuse);
    await using pool = new McpRuntimePool();
    const result = await pool.callTool(connectionTo(server.url), null, "echo", { n: 1 });
    assertEquals([result.output, result.session], [{ n: 1 }, { generation: 2 }]);
    assertEquals(server.of("initialize").length, 2);
  });
}

const NOT_LOST: Record<string, (seen: Seen) => Response> = {
  "a tool's own -32001": (seen) => rpcError(seen, -32001, "Tool not found"),
  "a request timeout with -32001": (seen) => rpcError(seen, -32001, "Request timed out"),
  "-32602 that names a session": (seen) => rpcError(seen, -32602, "argument session: not found"),
  "400 with -32602 that names a session": (seen) => rpcError(seen, -32602, "argument session not found", 400),
  "400 that says something else": (seen) => rpcError(seen, -32000, "Bad Request: Unsupported protocol version", 400),
};

for (const [name, answer] of Object.entries(NOT_LOST)) {
  Deno.test(`H15 HttpTransport: not a lost session: ${name}`, async () => {
    await using server = startServer({ call: answer });
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery], ["PROTOCOL_ERROR", "answered"]);
    assertEquals(server.of("initialize").length, 1);
    assertEquals(server.of("tools/call").length, 1);
  });
}

Deno.test("H15 HttpTransport: a tool result with isError and text about a session is a result", async () => {
  const result = { isError: true, content: [{ type: "text", text: "Session not found" }] };
  await using server = startServer({ call: (seen) => rpc(seen, result) });
  await using pool = new McpRuntimePool();
  const { outcome, session } = await pool.callTool(connectionTo(server.url), null, "echo", {});
  assertEquals([outcome, session], ["error", { generation: 1 }]);
});

Deno.test("H15 HttpTransport: sessionUnknownTexts extends the list", async () => {
  await using server = forgetsFirst((seen) => rpcError(seen, -32050, "conversation 7 is over"));
  const factory = new PersistentSessionFactory({ sessionUnknownTexts: [/^conversation \d+ is over$/] });
  await using pool = new McpRuntimePool(factory);
  const result = await pool.callTool(connectionTo(server.url), null, "echo", {});
  assertEquals(result.session, { generation: 2 });
});

Deno.test("H16 HttpTransport: a session id that is not visible ASCII is refused", async () => {
  for (const id of ["two words", "x".repeat(2_000), "caf\u00e9"]) {
    await using server = startServer({
      request: (seen) => seen.message.method === "initialize" ? rpc(seen, {}, { "mcp-session-id": id }) : undefined,
    });
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals(error.code, "OPEN_FAILED");
    assert(error.message.includes("session id") && !error.message.includes(id), error.message);
    assertEquals(server.seen.length, 1);
  }
});

for (const [name, header] of Object.entries({ folded: "one\r\n two", "with a carriage return": "one\rx-b: 1" })) {
  Deno.test(`H16 HttpTransport: a session id with a line break is refused: ${name}`, async () => {
    await using server = startRawServer(async (request) => {
      await handshake(request, header);
    });
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery], ["OPEN_FAILED", "not-sent"]);
    assertEquals(server.seen.length, 1);
  });
}

Deno.test("P16 HttpTransport: what comes on one stream shows that the server lives, while other calls time out", async () => {
  const encoder = new TextEncoder();
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const never = ({ signal }: Seen) =>
    new Promise<Response>((resolve) => signal.addEventListener("abort", () => resolve(new Response())));
  await using server = startServer({
    request: (seen) => seen.message.method === "notifications/cancelled" ? never(seen) : undefined,
    call: (seen) => {
      if (seen.message.params?.name === "echo") return undefined;
      if (stream) {
        stream.enqueue(encoder.encode(": alive\n\n"));
        return never(seen);
      }
      const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  await using pool = new McpRuntimePool(new PersistentSessionFactory({ concurrency: 2 }));
  const call = (options = {}) => pool.callTool(connectionTo(server.url), null, "hang", {}, options);
  const long = failureOf(call());
  for (let n = 0; n < 3; n++) assertEquals((await failureOf(call({ timeoutMs: 100 }))).code, "CALL_TIMEOUT");
  const { session } = await pool.callTool(connectionTo(server.url), null, "echo", {});
  assertEquals(session, { generation: 1 });
  stream!.close();
  assertEquals((await long).delivery, "unknown");
});

Deno.test("HttpTransport: the acceptance of a notification is waited for 30 s at most", async () => {
  using time = new FakeTime();
  const fetch = (_url: string, { signal }: RequestInit) =>
    new Promise<Response>((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  const transport = createTransport(connectionTo("http://127.0.0.1:9"), null, { fetch });
  await transport.start();
  const sent = transport.send({ jsonrpc: "2.0", method: "notifications/cancelled" });
  await time.tickAsync(30_000);
  await sent;
  await transport.close();
});

Deno.test("H2 HttpTransport: no GET stream is opened, whatever the server would answer", async () => {
  await using server = startServer({ call: echo });
  const pool = new McpRuntimePool();
  for (const n of range(3)) await pool.callTool(connectionTo(server.url), null, "echo", { n });
  await pool.closeAll();
  assertEquals(server.of("GET").length, 0);
});

Deno.test("HttpTransport: neither errors nor the printed transport show the whole session id", async () => {
  const id = "0123456789-abcdef-session";
  const serve = (call: (seen: Seen) => Response) =>
    startServer({
      request: (seen) => {
        const { method } = seen.message;
        if (method === "initialize") return rpc(seen, initializeResult(seen), { "mcp-session-id": id });
        return method === "tools/call" ? call(seen) : new Response(null, { status: 202 });
      },
    });
  await using server = serve(echo);
  const transport = createTransport(connectionTo(server.url), null);
  const session = await openMcpSession(connectionTo(server.url), null, { createTransport: () => transport });
  const shown = Deno.inspect(transport, { depth: 9, showHidden: true }) + JSON.stringify(transport);
  assert(shown.includes("01234567…") && !shown.includes(id), shown);
  await session.close();
  const said = [(seen: Seen) => rpcError(seen, -32000, `bad ${id}`), () => new Response(id, { status: 500 })];
  for (const call of said) {
    await using loud = serve(call);
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(loud.url), null, "echo", {}));
    const text = Deno.inspect(error, { depth: 9 }) + JSON.stringify(error);
    assert(!text.includes(id), text);
  }
});

async function hangUntilGone(seen: Seen): Promise<Response> {
  await new Promise<void>((resolve) => {
    if (seen.signal.aborted) resolve();
    else seen.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return new Response(null, { status: 500 });
}
