import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimeError, McpRuntimePool, openMcpSession, PersistentSessionFactory, RpcError } from "../mod.ts";
import { FakeMcpServer, FakeRpcError, type FakeTool } from "../runtime/testing.ts";

function poolOf(server: FakeMcpServer): McpRuntimePool {
  return new McpRuntimePool(new PersistentSessionFactory({ createTransport: server.createTransport }));
}

/** A tool that runs until it is told to end, and says when it was called. */
function heldTool() {
  let called!: () => void;
  let release!: (value: unknown) => void;
  const started = new Promise<void>((resolve) => called = resolve);
  const value = new Promise((resolve) => release = resolve);
  const tool: FakeTool = () => {
    called();
    return value;
  };
  return { tool, started, release };
}

Deno.test("FakeTool: what a tool returns becomes a result", async () => {
  const values: Record<string, unknown> = {
    text: "hi",
    number: 42,
    nothing: undefined,
    list: [1, { two: 2 }],
    object: { sum: 3 },
    raw: { content: [{ type: "text", text: "raw" }], structuredContent: { a: 1 }, _meta: { m: 1 } },
    failed: { content: [{ type: "text", text: "no" }], isError: true },
  };
  const tools = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, () => value]));
  const server = new FakeMcpServer({ tools });
  await using pool = poolOf(server);
  const call = (name: string) => pool.callTool(server.connection, null, name, {});
  const textOf = async (name: string) => (await call(name)).content.map((block) => block.text);
  assertEquals(await textOf("text"), ["hi"]);
  assertEquals(await textOf("number"), ["42"]);
  assertEquals(await textOf("nothing"), []);
  assertEquals(await textOf("list"), ['[1,{"two":2}]']);
  assertEquals((await call("object")).output, { sum: 3 });
  const raw = await call("raw");
  assertEquals([raw.output, raw.meta, raw.content[0].text], [{ a: 1 }, { m: 1 }, "raw"]);
  assertEquals((await call("failed")).outcome, "error");
});

Deno.test("FakeTool: what a tool throws is its failure, and a FakeRpcError a JSON-RPC error", async () => {
  const server = new FakeMcpServer({
    tools: {
      fails: () => {
        throw new Error("disk full");
      },
      refuses: () => {
        throw new FakeRpcError(-32602, "bad argument", { field: "a" });
      },
      unspeakable: () => ({ content: [{ type: "text", text: 1n }] }),
    },
  });
  await using pool = poolOf(server);
  const failed = await pool.callTool(server.connection, null, "fails", {});
  assertEquals([failed.outcome, failed.content[0].text], ["error", "disk full"]);
  const error = await assertRejects(() => pool.callTool(server.connection, null, "refuses", {}), RpcError);
  assertEquals([error.rpcCode, error.data, error.delivery], [-32602, { field: "a" }, "answered"]);
  const unknown = await assertRejects(() => pool.callTool(server.connection, null, "missing", {}), RpcError);
  assertStringIncludes(unknown.message, "Unknown tool: missing");
  assertEquals((await pool.callTool(server.connection, null, "unspeakable", {})).outcome, "error");
  assertEquals(server.calls.map(({ outcome }) => outcome), ["error", "error", "error", "error"]);
});

Deno.test("FakeMcpServer.calls: tells tool, arguments, meta, session and outcome of each call", async () => {
  const server = new FakeMcpServer({ tools: { echo: (args) => args } });
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", { a: 1 }, { meta: { trace: "t" } });
  await pool.callTool({ ...server.connection, id: "other.test", provider: "other" }, null, "echo", { b: 2 });
  assertEquals(server.calls.map(({ toolName, args, session, outcome }) => ({ toolName, args, session, outcome })), [
    { toolName: "echo", args: { a: 1 }, session: 1, outcome: "ok" },
    { toolName: "echo", args: { b: 2 }, session: 2, outcome: "ok" },
  ]);
  assertEquals(server.calls[0].meta.trace, "t");
  assertEquals([server.opened, server.closed], [2, 0]);
  await pool.closeAll();
  assertEquals([server.opened, server.closed], [2, 2]);
});

Deno.test("FakeToolContext.session: keeps state apart by session", async () => {
  const pages = new Map<number, string>();
  const server = new FakeMcpServer({
    tools: {
      open: ({ url }, { session }) => void pages.set(session, String(url)),
      page: (_args, { session }) => ({ page: pages.get(session) ?? null }),
    },
  });
  await using pool = poolOf(server);
  const call = (tool: string, scope: string, args = {}) =>
    pool.callTool(server.connection, null, tool, args, { scope });
  await call("open", "a", { url: "about:a" });
  assertEquals((await call("page", "a")).output, { page: "about:a" });
  assertEquals((await call("page", "b")).output, { page: null });
});

Deno.test("FakeToolContext.delay, progress: follow fake time", async () => {
  using time = new FakeTime();
  const server = new FakeMcpServer({
    tools: {
      slow: async (_args, { delay, progress, call }) => {
        for (let step = 1; step <= 3; step++) {
          await delay(1_000);
          progress(step, 3, `step ${step}`);
        }
        return { call };
      },
    },
  });
  await using pool = poolOf(server);
  const seen: unknown[] = [];
  const call = pool.callTool(server.connection, null, "slow", {}, {
    timeoutMs: 1_500,
    onProgress: (progress) => seen.push(progress),
  });
  for (let step = 0; step < 4; step++) await time.tickAsync(1_000);
  assertEquals((await call).output, { call: 1 });
  assertEquals(seen, [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
});

Deno.test("FakeMcpServer.crash: the running call may have run, a later call opens a new session", async () => {
  const held = heldTool();
  const server = new FakeMcpServer({ tools: { held: held.tool, echo: (args) => args } });
  await using pool = poolOf(server);
  const running = assertRejects(() => pool.callTool(server.connection, null, "held", {}), McpRuntimeError);
  await held.started;
  server.crash("out of memory");
  const error = await running;
  assertEquals([error.code, error.delivery], ["SESSION_LOST", "unknown"]);
  assertStringIncludes(error.message, "out of memory");
  assertEquals(server.calls[0].outcome, "lost");
  held.release(undefined);
  assertEquals((await pool.callTool(server.connection, null, "echo", { a: 1 })).session, { generation: 2 });
});

Deno.test("FakeMcpServer.forgetSessions: the next call did not run, and the pool sends it on a new session", async () => {
  const server = new FakeMcpServer({ tools: { echo: (args) => args } });
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", { n: 1 });
  server.forgetSessions();
  const error = await assertRejects(
    () => pool.callTool(server.connection, null, "echo", { n: 2 }, { retry: "never" }),
    McpRuntimeError,
  );
  assertEquals([error.code, error.delivery], ["SESSION_LOST", "not-sent"]);
  assertEquals((await pool.callTool(server.connection, null, "echo", { n: 3 })).session, { generation: 2 });
  server.forgetSessions();
  assertEquals((await pool.callTool(server.connection, null, "echo", { n: 4 })).session, { generation: 3 });
  assertEquals(server.calls.map(({ args }) => args.n), [1, 3, 4]);
});

Deno.test("FakeMcpServer: a call that is given up is cancelled on the server", async () => {
  let cancelled = false;
  let called!: () => void;
  const started = new Promise<void>((resolve) => called = resolve);
  const server = new FakeMcpServer({
    tools: {
      forever: async (_args, { signal, delay }) => {
        signal.addEventListener("abort", () => cancelled = true);
        called();
        await delay(Infinity);
      },
    },
  });
  await using pool = poolOf(server);
  const controller = new AbortController();
  const call = pool.callTool(server.connection, null, "forever", {}, { signal: controller.signal });
  const outcome = call.catch((reason) => reason);
  await started;
  const reason = new Error("the user left");
  controller.abort(reason);
  assertEquals(await outcome, reason);
  await pool.closeAll();
  assert(cancelled);
  assertEquals(server.calls[0].outcome, "cancelled");
});

Deno.test("FakeMcpServer.refuseOpenings, openDelayMs: an opening fails and takes as long as told", async () => {
  using time = new FakeTime();
  const server = new FakeMcpServer();
  server.refuseOpenings = "licence expired";
  const refused = await assertRejects(
    () => openMcpSession(server.connection, null, { createTransport: server.createTransport }),
    McpRuntimeError,
  );
  assertEquals(refused.code, "OPEN_FAILED");
  assertStringIncludes(refused.message, "licence expired");
  assertEquals([server.opened, server.closed], [1, 1]);

  server.refuseOpenings = undefined;
  server.openDelayMs = 5_000;
  const slow = openMcpSession(server.connection, null, { createTransport: server.createTransport });
  await time.tickAsync(5_000);
  await (await slow).close();

  server.openDelayMs = Infinity;
  const late = assertRejects(
    () => openMcpSession(server.connection, null, { createTransport: server.createTransport, connectTimeoutMs: 100 }),
    McpRuntimeError,
  );
  await time.tickAsync(100);
  assertEquals((await late).code, "OPEN_FAILED");
  assertEquals([server.opened, server.closed], [3, 3]);
});

Deno.test("FakeMcpServer.sessionFactory: stands in for the factory of a pool, whatever the connection says", async () => {
  const server = new FakeMcpServer({ tools: { echo: (args) => args } });
  await using pool = new McpRuntimePool(server.sessionFactory({ timeoutMs: 1_000 }));
  const connection = {
    id: "real.server",
    provider: "real",
    account: "server",
    transport: { kind: "http" as const, url: "https://mcp.example/" },
  };
  assertEquals((await pool.callTool(connection, null, "echo", { a: 1 })).output, { a: 1 });
});

Deno.test("FakeMcpServer transport: after its end a send is refused as not sent and onclose was called once", async () => {
  const server = new FakeMcpServer();
  const transport = server.createTransport();
  let closes = 0;
  transport.onclose = () => void closes++;
  await transport.start();
  server.crash();
  await transport.close();
  await transport.close();
  assertEquals(closes, 1);
  const error = await assertRejects(() => transport.send({ jsonrpc: "2.0", id: 1, method: "ping" }));
  assertInstanceOf(error, McpRuntimeError);
  assertEquals([error.code, error.delivery], ["SESSION_LOST", "not-sent"]);
});
