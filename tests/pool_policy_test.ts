import { assertEquals, assertStrictEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimePool } from "../runtime/pool.ts";
import { PersistentMcpSession } from "../runtime/session.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";

const a = connectionOf("a");

Deno.test("McpRuntimePool: idleTimeoutMs closes a session that had no call for so long, and no other (P5, L17)", async () => {
  using time = new FakeTime();
  const { pool, finish, server, events } = harness({ idleTimeoutMs: 1_000 });
  await pool.callTool(a, null, "echo", {});
  await time.tickAsync(900);
  await pool.callTool(a, null, "echo", {});
  await time.tickAsync(900);
  assertEquals([server.closed, pool.stats().sessions.idle], [0, 1]);
  await time.tickAsync(100);
  await settle();
  assertEquals([server.closed, pool.stats().evicted], [1, 1]);
  assertEquals(events.flatMap((event) => event.type === "session-evicted" ? [event.reason] : []), ["idle"]);
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 2 });
  await finish();
});

Deno.test("McpRuntimePool: idle eviction never touches running or queued calls (P5, L17)", async () => {
  using time = new FakeTime();
  const { pool, finish, held, server } = harness({ idleTimeoutMs: 100 });
  const calls = [1, 2].map((name) => pool.callTool(a, null, "held", { name }));
  await settle();
  for (let n = 0; n < 2; n++) {
    await time.tickAsync(10_000);
    assertEquals(server.closed, 0);
    held.answer();
    await settle();
  }
  assertEquals((await Promise.all(calls)).map(({ session }) => session!.generation), [1, 1]);
  await time.tickAsync(100);
  await settle();
  assertEquals(server.closed, 1);
  await finish();
});

Deno.test("McpRuntimePool: maxLifetimeMs lets accepted calls finish, and later calls wait for the successor (P5, L17)", async () => {
  using time = new FakeTime();
  const { pool, finish, held } = harness({ maxLifetimeMs: 1_000 }, { drainTimeoutMs: 100 });
  const running = pool.callTool(a, null, "held", { name: "long" });
  await settle();
  await time.tickAsync(1_000);
  const next = pool.callTool(a, null, "echo", {});
  await time.tickAsync(10_000);
  held.answer();
  assertEquals([(await running).session, (await next).session], [{ generation: 1 }, { generation: 2 }]);
  assertEquals(pool.stats().evicted, 1);
  await finish();
});

Deno.test("McpRuntimePool: the eleventh of ten sessions takes the place of the least recently used idle one (P12)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness({ maxSessions: 10 });
  for (let n = 0; n < 10; n++) {
    await pool.callTool(connectionOf(String(n)), null, "echo", {});
    await time.tickAsync(1);
  }
  await pool.callTool(connectionOf("0"), null, "echo", {});
  await pool.callTool(connectionOf("new"), null, "echo", {});
  assertEquals([server.opened, server.closed], [11, 1]);
  const live = pool.sessions().map(({ connectionId }) => connectionId);
  assertEquals([live.length, live.includes("fake.0"), live.includes("fake.1")], [10, true, false]);
  await finish();
});

Deno.test("McpRuntimePool: when no session is idle a caller waits within queueTimeoutMs, then until one is (P12)", async () => {
  using time = new FakeTime();
  const { pool, finish, held } = harness({ maxSessions: 1 });
  const running = pool.callTool(a, null, "held", { name: "a" });
  await settle();
  const impatient = failure(pool.callTool(connectionOf("b"), null, "echo", {}, { queueTimeoutMs: 100 }));
  const patient = pool.callTool(connectionOf("c"), null, "echo", {});
  await time.tickAsync(100);
  assertEquals(told(await impatient), ["QUEUE_TIMEOUT not-sent"]);
  assertEquals(pool.stats().sessions, { opening: 0, idle: 0, busy: 1, closing: 0 });
  held.answer();
  assertEquals([(await running).outcome, (await patient).outcome], ["ok", "ok"]);
  await finish();
});

Deno.test("McpRuntimePool: a session that opens when nobody wants it any more makes room for a caller that waits (P12)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness({ maxSessions: 1 });
  server.openDelayMs = 100;
  const left = failure(pool.callTool(a, null, "echo", {}, { queueTimeoutMs: 10 }));
  await settle();
  const waiting = pool.callTool(connectionOf("b"), null, "echo", {});
  for (let n = 0; n < 30; n++) await time.tickAsync(10);
  await left;
  assertEquals((await waiting).outcome, "ok");
  await finish();
});

Deno.test("McpRuntimePool: one session is evicted for one caller, also when others become idle before it is gone (P12)", async () => {
  const ends: (() => void)[] = [];
  const pool = new McpRuntimePool((connection, auth) => {
    const closeCallback = () => new Promise<void>((resolve) => ends.push(resolve));
    return new PersistentMcpSession({ connection, auth, callCallback: () => ({ content: [] }), closeCallback });
  }, { maxSessions: 2 });
  const call = (name: string) => pool.callTool(connectionOf(name), null, "echo", {});
  await call("a");
  await call("b");
  const waiting = call("c");
  await settle();
  await call("b");
  assertEquals(pool.stats().sessions, { opening: 0, idle: 1, busy: 0, closing: 1 });
  ends.shift()!();
  await waiting;
  assertEquals(pool.stats().evicted, 1);
  const closing = pool.closeAll();
  await settle();
  for (const end of ends) end();
  await closing;
});

Deno.test("McpRuntimePool: who calls in the turn in which the last waiter for room left is served (P12)", async () => {
  const { pool, finish, held } = harness({ maxSessions: 1 });
  const running = pool.callTool(a, null, "held", { name: "a" });
  await settle();
  const { signal, abort, listeners } = countingSignal();
  const b = connectionOf("b");
  const left = pool.callTool(b, null, "echo", {}, { signal }).catch((error) => error);
  await settle();
  const reason = new Error("left");
  abort(reason);
  const next = pool.callTool(b, null, "echo", {});
  assertStrictEquals(await left, reason);
  held.answer();
  await running;
  assertEquals([(await next).outcome, listeners()], ["ok", 0]);
  await finish();
});

Deno.test("McpRuntimePool: never more sessions than maxSessions, whatever is asked for at once (P12)", async () => {
  let most = 0;
  const { pool, finish, server } = harness({
    maxSessions: 3,
    onEvent: () => {
      const { opening, idle, busy, closing } = pool.stats().sessions;
      most = Math.max(most, opening + idle + busy + closing);
    },
  });
  const calls = Array.from({ length: 60 }, (_, n) => pool.callTool(connectionOf(String(n % 20)), null, "echo", { n }));
  assertEquals((await Promise.all(calls)).map(({ output }) => output.n), Array.from({ length: 60 }, (_, n) => n));
  assertEquals([most, server.opened], [3, 20]);
  await finish();
});
