import { assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { BackoffError, McpRuntimeError } from "../runtime/errors.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import { PoolSlots } from "../runtime/pool_slots.ts";
import { PersistentMcpSession } from "../runtime/session.ts";
import type { SlotHost } from "../runtime/slot.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { assertSums, connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";

const a = connectionOf("a");

Deno.test("McpRuntimePool: 50 parallel first calls share one opening (P1)", async () => {
  const { pool, finish, server } = harness();
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, n) => pool.callTool(a, null, "echo", { n })),
  );
  assertEquals(results.map(({ output }) => output.n), Array.from({ length: 50 }, (_, n) => n));
  assertEquals([server.opened, server.messages.filter((m) => "method" in m && m.method === "initialize").length], [
    1,
    1,
  ]);
  await finish();
});

Deno.test("McpRuntimePool: 50 parallel first calls get the error of a failed opening, and the next call starts anew at once (P1)", async () => {
  const { pool, finish, server } = harness();
  server.refuseOpenings = "not today";
  const calls = Array.from({ length: 50 }, () => failure(pool.callTool(a, null, "echo", {})));
  assertEquals(new Set(told(...await Promise.all(calls))), new Set(["OPEN_FAILED not-sent"]));
  assertEquals([server.opened, server.closed, pool.sessions()], [1, 1, []]);
  server.refuseOpenings = undefined;
  assertEquals((await pool.callTool(a, null, "echo", { n: 1 })).output, { n: 1 });
  assertSums(pool);
  await finish();
});

Deno.test("McpRuntimePool: the first caller's abort does not cancel the shared opening (P1)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = 100;
  const { signal, abort, listeners } = countingSignal();
  const first = pool.callTool(a, null, "echo", {}, { signal }).catch((error) => error);
  const second = pool.callTool(a, null, "echo", { n: 2 });
  await time.tickAsync(50);
  const reason = { any: "value" };
  abort(reason);
  assertStrictEquals(await first, reason);
  await time.tickAsync(50);
  assertEquals((await second).output, { n: 2 });
  assertEquals([server.opened, server.calls.length, listeners()], [1, 1, 0]);
  await finish();
});

Deno.test("McpRuntimePool: an opening that everybody left is kept for the next call (P1)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = 100;
  const call = failure(pool.callTool(a, null, "echo", {}, { queueTimeoutMs: 10 }));
  await time.tickAsync(10);
  assertEquals(told(await call), ["QUEUE_TIMEOUT not-sent"]);
  await time.tickAsync(90);
  await settle();
  assertEquals(pool.stats().sessions, { opening: 0, idle: 1, busy: 0, closing: 0 });
  await pool.callTool(a, null, "echo", {});
  assertEquals(server.opened, 1);
  await finish();
});

Deno.test("McpRuntimePool: scopes a and b have sessions of their own, callers without a scope share one (P11)", async () => {
  const { pool, finish, server, events } = harness();
  const session = async (scope?: string) => (await pool.getSession(a, null, scope === undefined ? {} : { scope }));
  const [sa, sb, none, again] = [await session("a"), await session("b"), await session(), await session("a")];
  assertEquals(new Set([sa, sb, none]).size, 3);
  assertStrictEquals(again, sa);
  assertStrictEquals(await session(), none);
  assertEquals(server.opened, 3);
  assertEquals(pool.sessions().map(({ scope }) => scope).sort(), ["a", "b", undefined]);
  assertEquals(events.filter(({ type }) => type === "session-opened").map(({ scope }) => scope), ["a", "b", undefined]);
  await finish();
});

Deno.test("McpRuntimePool: sessions of a factory that is a function carry their scope in listing and call events (P11)", async () => {
  const scopes: (string | undefined)[] = [];
  const pool = new McpRuntimePool(
    (connection, auth) => new PersistentMcpSession({ connection, auth, callCallback: () => ({ content: [] }) }),
    { onEvent: (event) => void (event.type === "call-started" && scopes.push(event.scope)) },
  );
  await pool.callTool(a, null, "echo", {}, { scope: "tenant" });
  assertEquals([scopes, pool.sessions().map(({ scope }) => scope)], [["tenant"], ["tenant"]]);
  await pool.closeAll();
});

Deno.test("McpRuntimePool: 100 calls a second on a dead server follow the backoff and fail fast in between (P7)", async () => {
  using time = new FakeTime();
  const openedAt: number[] = [];
  const pool = new McpRuntimePool(() => {
    openedAt.push(Date.now());
    throw new Error("nobody there");
  });
  let fast = 0;
  for (let n = 0; n < 1_000; n++) {
    const error = await failure(pool.callTool(a, null, "echo", {}));
    assertEquals(told(error), ["OPEN_FAILED not-sent"]);
    if (error instanceof BackoffError) {
      fast++;
      assertStringIncludes(error.message, "nobody there");
      assertEquals([error.retryAfterMs > 0, error.cause instanceof McpRuntimeError], [true, true]);
    }
    await time.tickAsync(10);
  }
  assertEquals(fast + openedAt.length, 1_000);
  // The first failure delays nothing; then 200 ms doubling, less a quarter of jitter at most, up to the next call.
  const gaps = openedAt.slice(1).map((at, n) => at - openedAt[n]);
  assertEquals(gaps[0], 10);
  gaps.slice(1).forEach((gap, n) => {
    const delay = 200 * 2 ** n;
    assertEquals(gap >= delay * 0.75 && gap <= delay + 10, true, `gap ${n}: ${gap}`);
  });
  await pool.closeAll();
});

Deno.test("McpRuntimePool: two failing configurations that alternate back off each by itself (P7)", async () => {
  using _time = new FakeTime();
  let openings = 0;
  const pool = new McpRuntimePool(() => {
    openings++;
    throw new Error("no");
  });
  for (let n = 0; n < 10; n++) await failure(pool.callTool(connectionOf("a", String(n % 2)), null, "echo", {}));
  assertEquals(openings, 4);
  await pool.closeAll();
});

Deno.test("McpRuntimePool: openBackoff false tries with every call, and a missing transport is never backed off (P7)", async () => {
  let openings = 0;
  const eager = new McpRuntimePool(() => {
    openings++;
    throw new Error("no");
  }, { openBackoff: false });
  const pool = new McpRuntimePool();
  const bare = { id: "bare.test", provider: "bare", account: "test" };
  for (let n = 0; n < 5; n++) {
    await failure(eager.callTool(a, null, "echo", {}));
    assertEquals(told(await failure(pool.callTool(bare, null, "echo", {}))), ["NO_TRANSPORT not-sent"]);
  }
  assertEquals(openings, 5);
});

Deno.test("McpRuntimePool: an opening that was given up is no failure of the server and delays nothing (P7)", async () => {
  using _time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = Infinity;
  for (let n = 0; n < 3; n++) {
    const call = failure(pool.callTool(a, null, "echo", {}));
    await settle();
    await pool.closeConnection(a.id);
    assertEquals(told(await call), ["SESSION_CLOSED not-sent"]);
  }
  server.openDelayMs = 0;
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 1 });
  await finish();
});

Deno.test("PoolSlots: a key that was forgotten gets no generation a second time", () => {
  const slots: PoolSlots = new PoolSlots({} as SlotHost); // Nothing is opened here.
  slots.get("a.first", undefined).generation = 7;
  for (let n = 0; n < 10_000; n++) slots.get("a.other", String(n));
  assertEquals(slots.get("a.first", undefined).generation, 7);
});

Deno.test("McpRuntimePool: a good opening ends the backoff (P7)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  server.refuseOpenings = "no";
  for (let n = 0; n < 2; n++) await failure(pool.callTool(a, null, "echo", {}));
  await time.tickAsync(200);
  server.refuseOpenings = undefined;
  await pool.callTool(a, null, "echo", {});
  server.refuseOpenings = "no";
  server.crash();
  await settle();
  assertEquals(await failure(pool.callTool(a, null, "echo", {})) instanceof BackoffError, false);
  await finish();
});

Deno.test("McpRuntimePool: a factory that gives a session that ended, or none, is OPEN_FAILED (P18)", async () => {
  const ended = new PersistentMcpSession({ connection: a, auth: null, callCallback: () => ({}) });
  await ended.close();
  for (const given of [ended, undefined, {}]) {
    const pool = new McpRuntimePool(() => given as PersistentMcpSession);
    const error = await failure(pool.callTool(a, null, "echo", {}));
    assertEquals(told(error), ["OPEN_FAILED not-sent"]);
    assertStringIncludes(error.message, "the session factory gave");
    assertSums(pool);
  }
});

Deno.test("McpRuntimePool: a session that its factory gives just before it is lost is told with its reason (P18)", async () => {
  const server = new FakeMcpServer();
  const factory = server.sessionFactory();
  const pool = new McpRuntimePool(async (connection, auth, context) => {
    const session = await factory.create(connection, auth, context);
    server.crash("the disk is full");
    await session.closed;
    return session;
  });
  const error = await failure(pool.callTool(a, null, "echo", {}));
  assertEquals(told(error), ["OPEN_FAILED not-sent"]);
  assertStringIncludes(error.message, "a session that is lost");
  assertStringIncludes(error.message, "the disk is full");
  await pool.closeAll();
});

Deno.test("McpRuntimePool: the factory's queueTimeoutMs limits the wait for a session, a call's own comes first", async () => {
  using time = new FakeTime();
  const { pool, server, finish } = harness({}, { queueTimeoutMs: 50 });
  server.openDelayMs = 100;
  const late = [failure(pool.callTool(a, null, "echo", {})), failure(pool.getSession(a, null))];
  const patient = pool.callTool(a, null, "echo", { n: 1 }, { queueTimeoutMs: 0 });
  await settle();
  await time.tickAsync(50);
  assertEquals(told(...await Promise.all(late)), ["QUEUE_TIMEOUT not-sent", "QUEUE_TIMEOUT not-sent"]);
  await time.tickAsync(50);
  assertEquals((await patient).output, { n: 1 });
  await finish();
});

Deno.test("McpRuntimePool: no more callers wait for an opening than its session takes at once (P13)", async () => {
  const { pool, server, finish } = harness({}, { maxQueuedCalls: 2, concurrency: 2 });
  server.openDelayMs = 5;
  const calls = [1, 2, 3, 4].map((n) => pool.callTool(a, null, "echo", { n }));
  await settle();
  const [call, session] = [failure(pool.callTool(a, null, "echo", {})), failure(pool.getSession(a, null))];
  assertEquals(told(await call, await session), ["QUEUE_FULL not-sent", "QUEUE_FULL not-sent"]);
  assertEquals((await Promise.all(calls)).map(({ output }) => output.n), [1, 2, 3, 4]);
  await finish();
});
