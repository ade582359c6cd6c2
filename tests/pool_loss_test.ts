import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimeError } from "../runtime/errors.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import { PersistentMcpSession } from "../runtime/session.ts";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";
import { statefulConnection } from "./fixtures/stateful_connection.ts";

const a = connectionOf("a");

Deno.test("McpRuntimePool: a server that dies between two calls costs no call (P2)", async () => {
  const { pool, finish, server } = harness();
  await pool.callTool(a, null, "echo", {});
  server.crash();
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 2 });
  await finish();
});

Deno.test("McpRuntimePool: a server that dies during a call with three queued: unknown for the one, a new session for the others (P2)", async () => {
  const { pool, finish, server, held } = harness();
  const running = failure(pool.callTool(a, null, "held", { name: "running" }));
  const queued = [1, 2, 3].map((n) => pool.callTool(a, null, "echo", { n }));
  await settle();
  assertEquals(held.names, ["running"]);
  server.crash();
  assertEquals(told(await running), ["SESSION_LOST unknown"]);
  const results = await Promise.all(queued);
  assertEquals(results.map(({ output, session }) => [output.n, session!.generation]), [[1, 2], [2, 2], [3, 2]]);
  assertEquals(server.calls.map(({ args, outcome }) => args.name ?? `${args.n} ${outcome}`), [
    "running",
    "1 ok",
    "2 ok",
    "3 ok",
  ]);
  await finish();
});

for (const options of [{ retry: "never" as const }, { expectGeneration: 1 }]) {
  Deno.test(`McpRuntimePool: a queued call with ${JSON.stringify(options)} is told not-sent when its session dies (P2)`, async () => {
    const { pool, finish, server } = harness();
    const running = failure(pool.callTool(a, null, "never", {}));
    const queued = failure(pool.callTool(a, null, "echo", {}, options));
    await settle();
    server.crash();
    assertEquals(told(await running, await queued), ["SESSION_LOST unknown", "SESSION_LOST not-sent"]);
    assertEquals([server.opened, server.calls.length], [1, 1]);
    await finish();
  });
}

Deno.test("McpRuntimePool: expectGeneration refuses a call of another generation before any opening (P2)", async () => {
  const { pool, finish, server } = harness();
  const { session } = await pool.callTool(a, null, "echo", {}, { expectGeneration: 1 });
  assertEquals(session, { generation: 1 });
  server.crash();
  await settle();
  const error = await failure(pool.callTool(a, null, "echo", {}, { expectGeneration: 1 }));
  assertEquals(told(error), ["SESSION_LOST not-sent"]);
  assertStringIncludes(error.message, "generation 1 was expected, the call would run on 2");
  assertEquals([server.opened, server.calls.length], [1, 1]);
  assertEquals((await pool.callTool(a, null, "echo", {}, { expectGeneration: 2 })).session, { generation: 2 });
  await finish();
});

Deno.test("McpRuntimePool: expectGeneration holds when another configuration takes the generation it waits for (P2)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = 100;
  const expecting = failure(pool.callTool(a, null, "echo", {}, { expectGeneration: 1 }));
  await settle();
  const overtaking = pool.callTool(connectionOf("a", "new"), null, "echo", {});
  for (let n = 0; n < 4; n++) await time.tickAsync(100);
  assertEquals((await overtaking).session, { generation: 1 });
  assertEquals(told(await expecting), ["SESSION_LOST not-sent"]);
  assertEquals(server.calls.length, 1);
  await finish();
});

Deno.test("McpRuntimePool: a call that may have run is sent again only with retry idempotent, and once (P3)", async () => {
  const { pool, finish, server } = harness();
  const outcomes = (["if-unsent", "never", "idempotent"] as const).map(async (retry, n) => {
    const call = failure(pool.callTool(connectionOf(String(n)), null, "never", { retry }, { retry }));
    return told(await call)[0];
  });
  await settle();
  server.crash();
  for (let n = 0; n < 3; n++) await settle();
  server.crash();
  assertEquals(await Promise.all(outcomes), Array(3).fill("SESSION_LOST unknown"));
  const sent = (retry: string) => server.calls.filter(({ args }) => args.retry === retry).length;
  assertEquals([sent("if-unsent"), sent("never"), sent("idempotent")], [1, 1, 2]);
  await finish();
});

Deno.test("McpRuntimePool: a second attempt that is not sent does not deny the first (P3)", async () => {
  const { pool, finish, server } = harness();
  const call = failure(pool.callTool(a, null, "never", {}, { retry: "idempotent" }));
  await settle();
  server.refuseOpenings = "gone";
  server.crash();
  assertEquals(told(await call), ["OPEN_FAILED unknown"]);
  await finish();
});

Deno.test("McpRuntimePool: a real server that commits and exits is told unknown, ran once, and the queue goes on (P3)", async () => {
  const log = await Deno.makeTempFile();
  try {
    await using pool = new McpRuntimePool();
    const connection = statefulConnection([`log=${log}`]);
    await pool.callTool(connection, null, "append", { entry: "before" });
    const crash = failure(pool.callTool(connection, null, "crash", { code: 7 }));
    const queued = pool.callTool(connection, null, "append", { entry: "after" });
    assertEquals(told(await crash), ["SESSION_LOST unknown"]);
    const { output, session } = await queued;
    assertEquals([output.entries, session], [["after"], { generation: 2 }]);
    const ran = (await Deno.readTextFile(log)).trim().split("\n").map((line) => line.split(" ")[0]);
    assertEquals(ran, ["append", "crash", "append"]);
  } finally {
    await Deno.remove(log);
  }
});

Deno.test("McpRuntimePool: an aborted queued call is never sent, a timed out one lets the queue go on, other sessions answer meanwhile (P4)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  const running = failure(pool.callTool(a, null, "never", {}, { timeoutMs: 5_000 }));
  const controller = new AbortController();
  const queued = [1, 2, 3].map((n) =>
    pool.callTool(a, null, "echo", { n }, n === 2 ? { signal: controller.signal } : {}).catch((error) => error)
  );
  await settle();
  const reason = new Error("left");
  controller.abort(reason);
  assertEquals(await queued[1], reason);
  const other = await pool.callTool(connectionOf("b"), null, "echo", { n: 9 });
  assertEquals(other.output, { n: 9 });
  await time.tickAsync(5_000);
  assertEquals(told(await running), ["CALL_TIMEOUT unknown"]);
  assertEquals([(await queued[0]).output, (await queued[2]).output], [{ n: 1 }, { n: 3 }]);
  assertEquals(server.calls.map(({ args }) => args.n).filter((n) => n !== undefined), [9, 1, 3]);
  await finish();
});

Deno.test("McpRuntimePool: the late end of a predecessor leaves the new session alone (P6)", async () => {
  using time = new FakeTime();
  const ends: (() => void)[] = [];
  let opened = 0;
  const pool = new McpRuntimePool((connection, auth) => {
    const generation = ++opened;
    const closed = new Promise<void>((resolve) => ends.push(resolve));
    const client = {
      closed,
      callTool: () => Promise.resolve({ structuredContent: { generation } }),
      close: () => Promise.resolve(),
    };
    return new PersistentMcpSession({ connection, auth, client });
  });
  await pool.callTool(a, null, "echo", {});
  await pool.callTool(connectionOf("a", "new"), null, "echo", {});
  await time.tickAsync(500);
  ends[0]();
  await settle();
  const { output } = await pool.callTool(connectionOf("a", "new"), null, "echo", {});
  assertEquals([output.generation, opened, pool.stats().lost], [2, 2, 0]);
  await pool.closeAll();
});

Deno.test("McpRuntimePool: a server that stopped answering is lost after the second silent timeout, then replaced (P16)", async () => {
  using time = new FakeTime();
  const { pool, finish, server, types } = harness();
  const first = failure(pool.callTool(a, null, "never", {}, { timeoutMs: 100 }));
  const second = failure(pool.callTool(a, null, "never", {}, { timeoutMs: 100 }));
  const third = pool.callTool(a, null, "echo", { n: 3 });
  for (let n = 0; n < 2; n++) await time.tickAsync(100);
  assertEquals(told(await first, await second), ["CALL_TIMEOUT unknown", "CALL_TIMEOUT unknown"]);
  assertEquals((await third).session, { generation: 2 });
  assertEquals(types(), ["session-opening", "session-opened", "session-lost", "session-opening", "session-opened"]);
  assertEquals(server.calls.length, 3);
  await finish();
});

Deno.test("McpRuntimePool: timeouts of calls that were sent at the same time are one sign of a silent server, not two (P16)", async () => {
  using time = new FakeTime();
  const { pool, finish } = harness({}, { concurrency: 2 });
  const calls = [1, 2].map(() => failure(pool.callTool(a, null, "never", {}, { timeoutMs: 100 })));
  await time.tickAsync(100);
  assertEquals(told(...await Promise.all(calls)), ["CALL_TIMEOUT unknown", "CALL_TIMEOUT unknown"]);
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 1 });
  await finish();
});

Deno.test("McpRuntimePool: a session that its holder closed is opened anew by the next call (P18)", async () => {
  const { pool, finish, server } = harness();
  const session = await pool.getSession(a, null);
  await session.close();
  assertEquals(pool.sessions(), []);
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 2 });
  assertEquals([server.opened, pool.stats().closed], [2, 1]);
  await finish();
});

Deno.test("McpRuntimePool: a callback session that says it is lost is opened anew, one that throws anything else is kept (P18)", async () => {
  let opened = 0;
  const pool = new McpRuntimePool((connection, auth) => {
    opened++;
    const callCallback = (tool: string) => {
      if (tool === "lost") throw new McpRuntimeError("gone", { code: "SESSION_LOST", delivery: "unknown" });
      if (tool === "broken") throw new Error("a bug");
      return { content: [] };
    };
    return new PersistentMcpSession({ connection, auth, callCallback });
  });
  assertEquals(told(await failure(pool.callTool(a, null, "broken", {}))), ["PROTOCOL_ERROR unknown"]);
  assertEquals((await pool.callTool(a, null, "fine", {})).session, { generation: 1 });
  assertEquals(told(await failure(pool.callTool(a, null, "lost", {}))), ["SESSION_LOST unknown"]);
  assertEquals((await pool.callTool(a, null, "fine", {})).session, { generation: 2 });
  assert(opened === 2);
  await pool.closeAll();
});

Deno.test("McpRuntimePool: a tool's error and a JSON-RPC error never evict (P18)", async () => {
  const { pool, finish, server } = harness();
  assertEquals(told(await failure(pool.callTool(a, null, "unknown tool", {}))), ["PROTOCOL_ERROR answered"]);
  await pool.callTool(a, null, "echo", {});
  assertEquals(server.opened, 1);
  await finish();
});

Deno.test("McpRuntimePool: input that JSON cannot carry is refused before any opening, naming the path (P19)", async () => {
  const { pool, finish, server, events } = harness();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const bad of [{ f: () => {} }, { d: new Date(0) }, { n: 1n }, cycle]) {
    const byPayload = await failure(pool.callTool(a, null, "echo", { bad }));
    const auth = { connectionId: a.id, scheme: "x", payload: { bad } };
    const byAuth = await failure(pool.callTool(a, auth, "echo", {}));
    assertEquals(told(byPayload, byAuth), ["INPUT_INVALID not-sent", "CONNECTION_INVALID not-sent"]);
    for (const { message } of [byPayload, byAuth]) assertStringIncludes(message, "payload.bad");
  }
  assertEquals([server.opened, events, pool.stats().calls.failed], [0, [], 0]);
  const payload = JSON.parse('{"__proto__": {"admin": true}}');
  assertEquals(JSON.stringify((await pool.callTool(a, null, "echo", payload)).output), '{"__proto__":{"admin":true}}');
  await finish();
});
