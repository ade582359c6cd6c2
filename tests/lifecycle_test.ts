// The operation × state tables of docs/lifecycle.md, row by row; the label of a row stands in the test's name.
import { assertEquals, assertStrictEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { PersistentSessionFactory } from "../runtime/factory.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import { connectionOf, failure, harness, Held, settle, told } from "./fakes/pool_harness.ts";

const a = connectionOf("a");

/** A session of a fake server whose calls stay open until the test answers them. */
async function openSession(limits: ConstructorParameters<typeof PersistentSessionFactory>[0] = {}) {
  const held = new Held();
  const server = new FakeMcpServer({ tools: { held: held.tool, never: () => new Promise(() => {}) } });
  const factory = new PersistentSessionFactory({ ...limits, createTransport: server.createTransport });
  const session = await factory.create(server.connection, null);
  const call = (name: string, options = {}) => session.callTool("held", { name }, options);
  return { session, server, held, call };
}

const reasonOf = (promise: Promise<unknown>) => promise.then(() => "resolved", (reason) => reason);

Deno.test("session: callTool is accepted while ready, refused while closing and when closed (L1)", async () => {
  const { session, held, call } = await openSession({ maxQueuedCalls: 1 });
  const [running, queued] = [call("running"), call("queued")];
  assertEquals(told(await failure(call("third"))), ["QUEUE_FULL not-sent"]);
  const closing = session.close();
  assertEquals(told(await failure(call("while closing"))), ["SESSION_CLOSED not-sent"]);
  held.answer();
  await running;
  await settle();
  held.answer();
  await queued;
  await closing;
  assertEquals(told(await failure(call("when closed"))), ["SESSION_CLOSED not-sent"]);
});

Deno.test("session: callTool when lost is told what ended it, not sent (L1, L5)", async () => {
  const { session, server, call } = await openSession();
  const [running, queued] = [failure(call("running")), failure(call("queued"))];
  await settle();
  server.crash("power cut");
  const errors = [await running, await queued, await failure(call("later"))];
  assertEquals(told(...errors), ["SESSION_LOST unknown", "SESSION_LOST not-sent", "SESSION_LOST not-sent"]);
  assertEquals(new Set(errors.map(({ cause, message }) => cause ?? message)).size <= 2, true);
  assertEquals((await session.closed).state, "lost");
});

Deno.test("session: an abort takes a queued call out, cancels a sent one, and leaves the session ready (L2)", async () => {
  const { session, server, held, call } = await openSession();
  const [first, second] = [new AbortController(), new AbortController()];
  const running = reasonOf(call("running", { signal: first.signal }));
  const queued = reasonOf(call("queued", { signal: second.signal }));
  await settle();
  second.abort("second");
  assertEquals(await queued, "second");
  first.abort("first");
  assertEquals(await running, "first");
  const next = call("next");
  await settle();
  assertEquals(server.calls.map(({ args, outcome }) => [args.name, outcome]), [["running", "cancelled"], [
    "next",
    "running",
  ]]);
  held.open.at(-1)!.answer();
  await next;
  await session.close();
});

Deno.test("session: an abort of an opening rejects create with its reason and leaves nothing (L2)", async () => {
  const server = new FakeMcpServer();
  server.openDelayMs = Infinity;
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
  const controller = new AbortController();
  const opening = reasonOf(factory.create(server.connection, null, { signal: controller.signal }));
  await settle();
  controller.abort("given up");
  assertEquals([await opening, server.opened - server.closed], ["given up", 0]);
});

Deno.test("session: close drains within its limit, then rejects what is left; it is idempotent (L3)", async () => {
  using time = new FakeTime();
  const { session, server, call } = await openSession({ drainTimeoutMs: 1_000 });
  const calls = [failure(call("running")), failure(call("queued"))];
  await settle();
  const closing = session.close();
  assertStrictEquals(session.close(), closing);
  assertEquals(session.state, "closing");
  await time.tickAsync(1_000);
  assertEquals(told(...await Promise.all(calls)), ["SESSION_CLOSED unknown", "SESSION_CLOSED not-sent"]);
  await time.runMicrotasks();
  await closing;
  assertEquals([session.state, server.opened - server.closed], ["closed", 0]);
});

Deno.test("session: close of a lost session resolves and throws nothing (L3)", async () => {
  const { session, server } = await openSession();
  server.crash();
  await session.close();
  assertEquals(session.state, "lost");
});

Deno.test("session: a timeout leaves it ready, a second silent one in a row ends it (L4)", async () => {
  using time = new FakeTime();
  const { session } = await openSession();
  for (const state of ["ready", "lost"]) {
    const call = failure(session.callTool("never", {}, { timeoutMs: 100 }));
    await time.tickAsync(100);
    assertEquals(told(await call), ["CALL_TIMEOUT unknown"]);
    assertEquals(session.state, state);
  }
  await session.close();
});

Deno.test("session: a server that forgets it refuses the call unsent, and the session is lost (L6)", async () => {
  const { session, server, call } = await openSession({ concurrency: 2 });
  server.forgetSessions();
  assertEquals(told(await failure(call("refused"))), ["SESSION_LOST not-sent"]);
  assertEquals(session.state, "lost");
  await session.close();
});

Deno.test("pool: a call during an opening shares it, one on a ready session runs on it (L10, L13)", async () => {
  const { pool, server, finish } = harness();
  const [first, second, session] = await Promise.all([
    pool.callTool(a, null, "echo", {}),
    pool.callTool(a, null, "echo", {}),
    pool.getSession(a, null),
  ]);
  assertEquals([first.session, second.session, server.opened], [{ generation: 1 }, { generation: 1 }, 1]);
  assertStrictEquals(await pool.getSession(a, null), session);
  await finish();
});

Deno.test("pool: a call while the session closes waits for its end and opens the next (L10, L13, L14, L19)", async () => {
  for (const close of ["closeConnection", "holder"] as const) {
    const { pool, held, server, finish } = harness();
    const running = pool.callTool(a, null, "held", { name: "running" });
    const session = await pool.getSession(a, null);
    await settle();
    const closing = close === "holder" ? session.close() : pool.closeConnection(a.id);
    const [next, again] = [pool.callTool(a, null, "echo", {}), pool.getSession(a, null)];
    await settle();
    assertEquals(server.opened, 1);
    held.answer();
    assertEquals((await running).session, { generation: 1 });
    await closing;
    assertEquals((await next).session, { generation: 2 });
    assertEquals((await again) === session, false);
    await finish();
  }
});

Deno.test("pool: another configuration gives an opening up, once, and replaces a ready session (L11)", async () => {
  const { pool, server, types, finish } = harness();
  server.openDelayMs = 5;
  const b = connectionOf("a", "b");
  const first = pool.callTool(a, null, "echo", {});
  await settle();
  const second = pool.callTool(b, null, "echo", {});
  assertEquals([(await second).session?.generation, (await first).session?.generation], [1, 2]);
  assertEquals(types().filter((type) => type !== "session-opening"), [
    "session-open-failed",
    "session-opened",
    "session-replaced",
    "session-closed",
    "session-opened",
  ]);
  await finish();
});

Deno.test("pool: a waiting caller that leaves does not end the opening (L12)", async () => {
  const { pool, server, finish } = harness();
  server.openDelayMs = 5;
  const controller = new AbortController();
  const left = reasonOf(pool.callTool(a, null, "echo", {}, { signal: controller.signal }));
  const late = failure(pool.callTool(a, null, "echo", {}, { queueTimeoutMs: 1 }));
  await settle();
  controller.abort("left");
  assertEquals(await left, "left");
  assertEquals(told(await late), ["QUEUE_TIMEOUT not-sent"]);
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 1 });
  assertEquals(server.opened, 1);
  await finish();
});

const ENDINGS = [
  ["closeConnection", "SESSION_CLOSED", "L14"],
  ["closeAll", "POOL_CLOSED", "L15"],
  ["abort", "POOL_CLOSED", "L16"],
] as const;

for (const [operation, code, row] of ENDINGS) {
  Deno.test(`pool: ${operation} gives an opening up, who waits is told ${code}, not sent (${row})`, async () => {
    const { pool, server, finish } = harness();
    server.openDelayMs = Infinity;
    const waiting = [failure(pool.callTool(a, null, "echo", {})), failure(pool.getSession(a, null))];
    await settle();
    await pool[operation](a.id);
    assertEquals(told(...await Promise.all(waiting)), [`${code} not-sent`, `${code} not-sent`]);
    assertEquals(server.opened - server.closed, 0);
    await finish();
  });
}

Deno.test("pool: closeAll drains what is accepted, refuses the rest for good, and is one promise (L15, L13)", async () => {
  const { pool, held, finish } = harness();
  const running = pool.callTool(a, null, "held", { name: "running" });
  const queued = pool.callTool(a, null, "echo", {});
  await settle();
  const closing = pool.closeAll();
  assertStrictEquals(pool.closeAll(), closing);
  assertEquals(told(await failure(pool.callTool(a, null, "echo", {})), await failure(pool.getSession(a, null))), [
    "POOL_CLOSED not-sent",
    "POOL_CLOSED not-sent",
  ]);
  held.answer();
  await Promise.all([running, queued, closing]);
  await pool.closeConnection(a.id);
  await pool.abort();
  await finish();
});

Deno.test("pool: abort rejects at once, also during a closeAll that drains (L16)", async () => {
  for (const draining of [false, true]) {
    const { pool, finish } = harness();
    const calls = [failure(pool.callTool(a, null, "never", {})), failure(pool.callTool(a, null, "echo", {}))];
    await settle();
    const closing = draining ? pool.closeAll() : undefined;
    const reason = new Error("the deadline is over");
    await pool.abort(reason);
    const errors = await Promise.all(calls);
    assertEquals(errors.map(({ delivery }) => delivery), ["unknown", "not-sent"]);
    assertEquals(errors.map(({ cause }) => cause instanceof Error && (cause.cause ?? cause)), [reason, reason]);
    await closing;
    await finish();
  }
});

Deno.test("pool: eviction that falls due during calls touches none of them (L17)", async () => {
  using time = new FakeTime();
  const { pool, held, types, finish } = harness({ idleTimeoutMs: 100, maxLifetimeMs: 1_000 });
  const calls = [pool.callTool(a, null, "held", { name: "1" }), pool.callTool(a, null, "held", { name: "2" })];
  await settle();
  await time.tickAsync(5_000);
  assertEquals(types().includes("session-closed"), false);
  held.answer();
  await settle();
  held.answer();
  assertEquals((await Promise.all(calls)).map(({ session }) => session?.generation), [1, 1]);
  await settle();
  assertEquals(types().slice(2), ["session-evicted", "session-closed"]);
  await finish();
});

Deno.test("pool: an idle session is evicted after its time, and the next call opens another (L17, L10)", async () => {
  using time = new FakeTime();
  const { pool, types, finish } = harness({ idleTimeoutMs: 100 });
  await pool.callTool(a, null, "echo", {});
  await time.tickAsync(100);
  await settle();
  assertEquals(types(), ["session-opening", "session-opened", "session-evicted", "session-closed"]);
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 2 });
  await finish();
});

Deno.test("pool: a failed opening is told to all who wait, and the next call starts anew at once (L18, L10)", async () => {
  const { pool, server, finish } = harness();
  server.refuseOpenings = "not today";
  const errors = await Promise.all([failure(pool.callTool(a, null, "echo", {})), failure(pool.getSession(a, null))]);
  assertEquals(told(...errors), ["OPEN_FAILED not-sent", "OPEN_FAILED not-sent"]);
  server.refuseOpenings = undefined;
  await pool.callTool(a, null, "echo", {});
  await finish();
});

Deno.test("pool: a server that dies costs the sent call, the queued one goes to a new session (L18)", async () => {
  const { pool, server, finish } = harness();
  const running = failure(pool.callTool(a, null, "never", {}));
  const queued = pool.callTool(a, null, "echo", {});
  await settle();
  server.crash();
  assertEquals(told(await running), ["SESSION_LOST unknown"]);
  assertEquals((await queued).session, { generation: 2 });
  await finish();
});
