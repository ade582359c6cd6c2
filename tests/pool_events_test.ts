import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { McpRuntimeError } from "../runtime/errors.ts";
import type { RuntimeEvent } from "../runtime/events.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import { assertSums, connectionOf, failure, harness, settle } from "./fakes/pool_harness.ts";

const a = connectionOf("a");

Deno.test("RuntimeEvent: the life of a session and its calls, in order, each with id, scope and generation", async () => {
  const { pool, finish, events, server } = harness();
  await pool.callTool(a, null, "echo", {}, { scope: "s" });
  server.crash();
  await settle();
  await failure(pool.callTool(a, null, "unknown tool", {}, { scope: "s" }));
  await pool.closeConnection(a.id);
  assertEquals(events.map(({ type, generation }) => `${type} ${generation}`), [
    "session-opening 1",
    "session-opened 1",
    "call-started 1",
    "call-settled 1",
    "session-lost 1",
    "session-opening 2",
    "session-opened 2",
    "call-started 2",
    "call-settled 2",
    "session-closed 2",
  ]);
  for (const { connectionId, scope } of events) assertEquals([connectionId, scope], [a.id, "s"]);
  await finish();
});

Deno.test("RuntimeEvent: a call that is given up for the failure of another is ABORTED and not sent again", async () => {
  const { pool, finish, events, server } = harness();
  const controller = new AbortController();
  const { signal } = controller;
  const call = pool.callTool(a, null, "never", {}, { signal, retry: "idempotent" }).catch((error) => error);
  await settle();
  const reason = new McpRuntimeError("another call failed", { code: "SESSION_LOST", delivery: "unknown" });
  controller.abort(reason);
  assertEquals(await call, reason);
  const { code, delivery } = events.find(({ type }) => type === "call-settled") as { code?: string; delivery?: string };
  assertEquals([code, delivery, server.calls.length], ["ABORTED", "unknown", 1]);
  await finish();
});

Deno.test("RuntimeEvent: session-open-failed has the error, call-settled the outcome, code and delivery", async () => {
  const { pool, finish, events, server } = harness();
  server.refuseOpenings = "not today";
  await failure(pool.callTool(a, null, "echo", {}));
  const failed = events.find((event) => event.type === "session-open-failed") as { error: unknown };
  assertInstanceOf(failed.error, McpRuntimeError);
  server.refuseOpenings = undefined;
  await failure(pool.callTool(a, null, "unknown tool", {}));
  const settled = events.find((event) => event.type === "call-settled");
  assert(settled?.type === "call-settled");
  const { outcome, code, delivery, toolName, attempt } = settled;
  assertEquals([outcome, code, delivery, toolName, attempt], [
    "failed",
    "PROTOCOL_ERROR",
    "answered",
    "unknown tool",
    1,
  ]);
  await finish();
});

Deno.test("RuntimeEvent: a call that is sent again says so: attempt 2", async () => {
  const { pool, finish, events, server } = harness();
  await pool.callTool(a, null, "echo", {});
  server.forgetSessions();
  await pool.callTool(a, null, "echo", {});
  const attempts = events.flatMap((event) => event.type === "call-started" ? [event.attempt] : []);
  assertEquals(attempts, [1, 1, 2]);
  await finish();
});

for (const how of ["throws", "is async and rejects"]) {
  Deno.test(`RuntimeEventListener: one that ${how} harms nothing`, async () => {
    const seen: string[] = [];
    const onEvent = how === "throws"
      ? ({ type }: RuntimeEvent) => {
        seen.push(type);
        throw new Error("the listener's own");
      }
      : async ({ type }: RuntimeEvent) => {
        seen.push(type);
        await Promise.reject(new Error("the listener's own"));
      };
    const server = new FakeMcpServer({ tools: { echo: (args) => args } });
    const pool = new McpRuntimePool(server.sessionFactory(), { onEvent });
    assertEquals((await pool.callTool(a, null, "echo", { n: 1 })).output, { n: 1 });
    await pool.closeAll();
    assertEquals(seen, ["session-opening", "session-opened", "call-started", "call-settled", "session-closed"]);
  });
}

Deno.test("RuntimeEventListener: may close the pool from any event, and every call settles", async () => {
  for (const at of ["session-opening", "session-opened", "call-started", "call-settled", "session-lost"]) {
    const closings: Promise<void>[] = [];
    const { pool, server, finish } = harness({
      onEvent: ({ type }) => {
        if (type === at) closings.push(pool.abort(at));
      },
    });
    const calls = [1, 2].map((n) => pool.callTool(a, null, "echo", { n }).catch((error) => error));
    await Promise.all(calls);
    server.crash();
    await settle();
    await Promise.all(closings);
    assertEquals([closings.length > 0, pool.sessions()], [true, []], at);
    await finish();
  }
});

Deno.test("McpRuntimePool.stats, sessions: no event, listing or printed pool shows a secret", async () => {
  const { pool, finish, events } = harness();
  const auth = { connectionId: a.id, scheme: "bearer", payload: { token: "a-secret-token" } };
  const secret = { ...a, transport: { ...a.transport, env: { KEY: "a-secret-value" } } };
  await pool.callTool(secret, auth, "echo", { argument: "a-secret-argument" });
  const shown = [events, pool.sessions(), pool.stats(), pool].map((value) => Deno.inspect(value, { depth: 9 }));
  assertEquals(shown.filter((text) => text.includes("a-secret")), []);
  await finish();
});

Deno.test("McpRuntimePool.stats: what each call is counted as, before, during and after", async () => {
  const { pool, finish, server, held } = harness();
  const calls = () => pool.stats().calls;
  const running = pool.callTool(a, null, "held", { name: "a" });
  const queued = pool.callTool(a, null, "echo", {});
  assertEquals([calls().queued, calls().inFlight], [2, 0]);
  await settle();
  assertEquals([calls().queued, calls().inFlight, pool.stats().sessions.busy], [1, 1, 1]);
  held.answer();
  await Promise.all([running, queued]);
  await failure(pool.callTool(a, null, "unknown tool", {}));
  assertEquals(calls(), { queued: 0, inFlight: 0, ok: 2, error: 0, failed: 1, failedByCode: { PROTOCOL_ERROR: 1 } });
  server.crash();
  await settle();
  assertSums(pool);
  assertEquals([pool.stats().lost, pool.stats().sessions], [1, { opening: 0, idle: 0, busy: 0, closing: 0 }]);
  await finish();
});

Deno.test("McpRuntimePool.sessions: tells id, scope, state, generation, ages and queue", async () => {
  const { pool, finish, held } = harness();
  const running = pool.callTool(a, null, "held", { name: "a" }, { scope: "s" });
  await settle();
  const queued = pool.callTool(a, null, "echo", {}, { scope: "s" });
  const [{ ageMs, ...info }] = pool.sessions();
  assert(ageMs >= 0);
  assertEquals(info, {
    connectionId: a.id,
    scope: "s",
    state: "ready",
    generation: 1,
    idleMs: 0,
    queued: 1,
    inFlight: 1,
    protocolVersion: "2025-11-25",
  });
  held.answer();
  await Promise.all([running, queued]);
  await finish();
});

Deno.test("McpRuntimePool: results of every kind reach the caller with the generation that gave them (P15)", async () => {
  const raws: Record<string, unknown>[] = [
    { content: [{ type: "text", text: "t" }] },
    { structuredContent: { a: 1 }, content: [] },
    { isError: true, content: [{ type: "text", text: "no" }] },
    { toolResult: { old: true } },
    { content: [], _meta: { m: 1 } },
  ];
  const server = new FakeMcpServer({ tools: { raw: ({ n }) => raws[Number(n)] } });
  const pool = new McpRuntimePool(server.sessionFactory());
  const results = await Promise.all(raws.map((_, n) => pool.callTool(a, null, "raw", { n })));
  assertEquals(results.map(({ outcome }) => outcome), ["ok", "ok", "error", "ok", "ok"]);
  assertEquals([results[1].output, results[4].meta], [{ a: 1 }, { m: 1 }]);
  for (const { session } of results) assertEquals(session, { generation: 1 });
  assertEquals(pool.stats().calls.error, 1);
  await pool.closeAll();
});
