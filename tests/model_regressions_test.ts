/** What the model found, as small as it made it. Each test failed before the pool was mended. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { countingSignal } from "./fakes/counting_signal.ts";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";
import { runSequence, type Sequence } from "./model/commands.ts";
import { runModel } from "./model/run.ts";

const a = connectionOf("a");
const b = connectionOf("b");
const A = connectionOf("a", "A");
const B = connectionOf("a", "B");

const plain = { signal: "none", timeoutMs: 0, queueTimeoutMs: 0, retry: "if-unsent", expect: 0 } as const;
const call = (key: number, options: Partial<Record<keyof typeof plain | "config", unknown>> = {}) => ({
  do: "call" as const,
  key,
  config: 0,
  ...plain,
  ...options,
});
const tick = (ms: number) => ({ do: "tick" as const, ms });

/** Runs commands one after another with nothing in between; the world throws when a rule is broken. */
const play = (commands: unknown[], policy: Partial<Sequence["policy"]> = {}) =>
  runSequence({
    policy: { concurrency: 1, maxQueuedCalls: 1_000, idleTimeoutMs: 0, maxSessions: 0, maxLifetimeMs: 0, ...policy },
    steps: commands.map((command) => ({ command, turns: 0 })),
    end: "settle",
  } as Sequence);

Deno.test("McpRuntimePool: an evicted session drains without limit, also when another configuration waits for its end", async () => {
  const other = call(0, { config: 1 });
  await play([tick(1), other, tick(5_000), call(0), tick(40_000), call(0)], { maxLifetimeMs: 3_000 });
});

Deno.test("McpRuntimePool: a call that times out in the moment in which its session is given up is not sent again", async () => {
  const short = { timeoutMs: 500 };
  const commands = [
    call(3, short),
    tick(5_000),
    call(3, short),
    call(3, { ...short, retry: "idempotent" }),
    tick(5_000),
  ];
  await play(commands, { concurrency: 2 });
});

Deno.test("McpRuntimePool: a session that is given up ends before its successor opens, whatever still runs on it", async () => {
  const inEvent = { ...call(2, { timeoutMs: 60_000 }), do: "call in event" };
  const answer = { do: "answer", which: 0, how: "ok" };
  const commands = [call(2), inEvent, call(2, { timeoutMs: 500 }), tick(40_000), call(2), tick(40_000)];
  await play([...commands, answer, answer, answer], { concurrency: 2 });
});

Deno.test("McpRuntimePool: expectGeneration is looked at again after a wait for a session", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  await pool.callTool(A, null, "echo", {});
  server.openDelayMs = 100;
  const expecting = failure(pool.callTool(B, null, "echo", {}, { expectGeneration: 2 }));
  await settle();
  const overtaking = pool.callTool(A, null, "echo", {});
  for (let n = 0; n < 4; n++) await time.tickAsync(100);
  assertEquals((await overtaking).session, { generation: 2 });
  assertEquals(told(await expecting), ["SESSION_LOST not-sent"]);
  assertEquals(server.calls.length, 2);
  await finish();
});

Deno.test("McpRuntimePool: an idempotent call that may have run is told unknown when its second attempt waits in vain", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  const options = { retry: "idempotent", queueTimeoutMs: 200 } as const;
  const running = failure(pool.callTool(a, null, "never", {}, options));
  await settle();
  server.openDelayMs = Infinity;
  server.crash();
  await time.tickAsync(300);
  assertEquals(told(await running), ["QUEUE_TIMEOUT unknown"]);
  await finish();
});

Deno.test("McpRuntimePool: who comes when the last waiter for room has left is not told that nobody waits", async () => {
  using time = new FakeTime();
  const { pool, finish, held } = harness({ maxSessions: 1 });
  const running = pool.callTool(a, null, "held", { name: "a" });
  await settle();
  const { signal, abort } = countingSignal();
  const left = assertRejects(() => pool.callTool(b, null, "echo", {}, { signal }), Error, "left");
  await settle();
  abort(new Error("left"));
  const patient = pool.callTool(b, null, "echo", {});
  const impatient = failure(pool.callTool(b, null, "echo", {}, { queueTimeoutMs: 9 }));
  await left;
  await time.tickAsync(10);
  held.answer();
  await running;
  assertEquals((await patient).outcome, "ok");
  assertEquals(told(await impatient), ["QUEUE_TIMEOUT not-sent"]);
  await finish();
});

Deno.test("McpRuntimePool: a good opening of one configuration leaves the backoff of another as it is", async () => {
  using _time = new FakeTime();
  const { pool, finish, server } = harness();
  for (let n = 0; n < 2; n++) {
    server.refuseOpenings = "not today";
    await failure(pool.callTool(A, null, "echo", {}));
    server.refuseOpenings = undefined;
    await pool.callTool(B, null, "echo", {});
  }
  const opened = server.opened;
  assertStringIncludes((await failure(pool.callTool(A, null, "echo", {}))).message, "is not tried again for");
  assertEquals(server.opened, opened);
  await finish();
});

Deno.test("RuntimeEventListener: a call made at session-opened comes after those that wait for the session", async () => {
  let inside: Promise<unknown> | undefined;
  const { pool, finish, server } = harness({
    onEvent: ({ type }) => {
      if (type === "session-opened") inside = pool.callTool(a, null, "echo", { n: "inside" });
    },
  });
  await Promise.all([1, 2, 3].map((n) => pool.callTool(a, null, "echo", { n })));
  await inside;
  assertEquals(server.calls.map(({ args }) => args.n), [1, 2, 3, "inside"]);
  await finish();
});

Deno.test("RuntimeEventListener: a call made at call-started comes after the one that starts", async () => {
  let inside: Promise<unknown> | undefined;
  let armed = false;
  const onEvent = ({ type }: { type: string }) => {
    if (!armed || type !== "call-started") return;
    armed = false; // First: the call inside starts at once, and comes here too.
    inside = pool.callTool(a, null, "echo", { n: "inside" });
  };
  const { pool, finish, server } = harness({ onEvent }, { concurrency: 2 }); // At 1 it would have to queue anyway.
  await pool.callTool(a, null, "echo", { n: "to open" });
  armed = true;
  await pool.callTool(a, null, "echo", { n: 1 });
  await inside;
  assertEquals(server.calls.map(({ args }) => args.n), ["to open", 1, "inside"]);
  await finish();
});

Deno.test("McpRuntimePool: for room goes the session unused for longest, not the one opened first or the one with callers", async () => {
  using time = new FakeTime();
  const { pool, finish, events, held } = harness({ maxSessions: 3 });
  for (const name of ["busy", "first", "unused"]) {
    await pool.callTool(connectionOf(name), null, "echo", {});
    await time.tickAsync(10);
  }
  const running = pool.callTool(connectionOf("busy"), null, "held", { name: "busy" });
  await pool.callTool(connectionOf("first"), null, "echo", {});
  await time.tickAsync(10);
  await pool.callTool(connectionOf("new"), null, "echo", {});
  const evicted = events.flatMap((event) => event.type === "session-evicted" ? [event.connectionId] : []);
  assertEquals(evicted, ["fake.unused"]);
  held.answer();
  await running;
  await finish();
});

Deno.test("runModel: a run of nothing fails, and a sequence draws the same dice each time", async () => {
  assertStringIncludes((await runModel({ runs: 0, seed: 1 })).failure, "only 0 of 0");
  assertStringIncludes((await runModel({ runs: NaN, seed: 1 })).failure, "only 0 of NaN");
  const [once, twice] = [await runModel({ runs: 100, seed: 1 }), await runModel({ runs: 100, seed: 1 })];
  assertEquals(once, twice);
  assert(once.seen.sent > 0);
});
