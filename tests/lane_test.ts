/** The lane of one session, through the pool: bounds, order, fairness, and work that does not grow with the queue. */
import { assertEquals, assertStrictEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { LinkedQueue, type QueueNode } from "../runtime/queue.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";

const a = connectionOf("a");
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

Deno.test("McpRuntimePool: maxQueuedCalls reached is QUEUE_FULL at once, and nothing is lost (P13)", async () => {
  const { pool, finish, held } = harness({}, { maxQueuedCalls: 2 });
  const calls = [pool.callTool(a, null, "held", { name: 0 })];
  await settle();
  for (const name of [1, 2]) calls.push(pool.callTool(a, null, "held", { name }));
  assertEquals(told(await failure(pool.callTool(a, null, "held", { name: 3 }))), ["QUEUE_FULL not-sent"]);
  for (const name of [0, 1, 2]) {
    assertEquals(held.names, [String(name)]);
    held.answer();
    await settle();
  }
  assertEquals((await Promise.all(calls)).map(({ outcome }) => outcome), ["ok", "ok", "ok"]);
  await finish();
});

Deno.test("McpRuntimePool: concurrency 3 keeps the order of sending, answers may overtake", async () => {
  const { pool, finish, held } = harness({}, { concurrency: 3 });
  const answered: unknown[] = [];
  const calls = numbers(6).map((name) =>
    pool.callTool(a, null, "held", { name }).then(({ output }) => answered.push(output.name))
  );
  await settle();
  assertEquals(held.names, ["0", "1", "2"]);
  const [first, second, third] = held.open.splice(0);
  third.answer();
  await settle();
  assertEquals(held.names, ["3"]);
  second.answer();
  first.answer();
  await settle();
  assertEquals(held.names, ["3", "4", "5"]);
  while (held.open.length > 0) held.answer();
  await Promise.all(calls);
  assertEquals(answered, [2, 1, 0, 3, 4, 5]);
  await finish();
});

Deno.test("McpRuntimePool: is fair: a caller with many calls does not push back one that came in between", async () => {
  const { pool, finish, server } = harness();
  const many = (from: number) => numbers(20).map((n) => pool.callTool(a, null, "echo", { n: from + n }));
  const calls = [...many(0), pool.callTool(a, null, "echo", { n: "one" }), ...many(20)];
  await Promise.all(calls);
  assertEquals(server.calls.map(({ args }) => args.n), [...numbers(20), "one", ...numbers(20).map((n) => n + 20)]);
  await finish();
});

Deno.test("McpRuntimePool: waiters of an opening are sent in the order they came, before a call that a listener makes", async () => {
  const listened: Promise<unknown>[] = [];
  const { pool, finish, server } = harness({
    onEvent: ({ type }) => {
      if (type === "session-opened") listened.push(pool.callTool(a, null, "echo", { n: "listener" }));
    },
  });
  await Promise.all(numbers(3).map((n) => pool.callTool(a, null, "echo", { n })));
  await Promise.all(listened);
  assertEquals(server.calls.map(({ args }) => args.n), [0, 1, 2, "listener"]);
  await finish();
});

Deno.test("McpRuntimePool: queueTimeoutMs counts the wait for the session and in its queue together", async () => {
  using time = new FakeTime();
  const { pool, finish, server, held } = harness();
  server.openDelayMs = 100;
  const running = pool.callTool(a, null, "held", { name: "a" });
  const waiting = failure(pool.callTool(a, null, "echo", {}, { queueTimeoutMs: 150 }));
  await settle();
  await time.tickAsync(100);
  await settle();
  assertEquals(held.names, ["a"]);
  await time.tickAsync(49);
  assertEquals(pool.stats().calls, { queued: 1, inFlight: 1, ok: 0, error: 0, failed: 0, failedByCode: {} });
  await time.tickAsync(1);
  assertEquals(told(await waiting), ["QUEUE_TIMEOUT not-sent"]);
  held.answer();
  await running;
  assertEquals(server.calls.length, 1);
  await finish();
});

for (const maxTotalTimeoutMs of [0, 2_000]) {
  Deno.test(`McpRuntimePool: progress each 500 ms under timeoutMs 1000, maxTotalTimeoutMs ${maxTotalTimeoutMs}; the session survives (P8)`, async () => {
    using time = new FakeTime();
    const { pool, finish } = harness();
    const call = pool.callTool(a, null, "slow", {}, { timeoutMs: 1_000, maxTotalTimeoutMs })
      .then(({ outcome }) => outcome, (error) => told(error)[0]);
    await settle();
    for (let n = 0; n < 6; n++) {
      await time.tickAsync(500);
      await settle();
    }
    assertEquals(await call, maxTotalTimeoutMs === 0 ? "ok" : "CALL_TIMEOUT unknown");
    assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 1 });
    await finish();
  });
}

Deno.test("McpRuntimePool: an aborted call that was sent is cancelled once, its late answer settles nothing (P9)", async () => {
  const { pool, finish, server, held } = harness();
  const { signal, abort, listeners } = countingSignal();
  const outcome = pool.callTool(a, null, "held", { name: "a" }, { signal }).catch((error) => error);
  await settle();
  const reason = { any: "value" };
  abort(reason);
  assertStrictEquals(await outcome, reason);
  held.answer();
  assertEquals((await pool.callTool(a, null, "echo", {})).session, { generation: 1 });
  const cancelled = server.messages.filter((m) => "method" in m && m.method === "notifications/cancelled");
  assertEquals([cancelled.length, listeners()], [1, 0]);
  assertEquals(pool.stats().calls.failedByCode, { ABORTED: 1 });
  await finish();
});

Deno.test("McpRuntimePool: one signal for 1,000 calls leaves no listener, and its abort after them sends nothing (P10)", async () => {
  const { pool, finish, server } = harness();
  const { signal, abort, listeners } = countingSignal();
  await Promise.all(numbers(1_000).map((n) => pool.callTool(a, null, "echo", { n }, { signal })));
  const sent = server.messages.length;
  abort();
  await settle();
  assertEquals([listeners(), server.messages.length], [0, sent]);
  await finish();
});

Deno.test("McpRuntimePool: 100,000 queued calls, every other one aborted, the rest sent in order", async () => {
  const { pool, finish, server, held } = harness({}, { maxQueuedCalls: 0 });
  const first = pool.callTool(a, null, "held", { name: "first" });
  await settle();
  // A signal each: a runtime's own list of one signal's listeners is not what is looked at here.
  const controllers = numbers(100_000).map(() => new AbortController());
  const calls = numbers(100_000).map((n) =>
    pool.callTool(a, null, "echo", { n }, n % 2 ? { signal: controllers[n].signal } : {}).then(
      ({ output }) => output.n,
      () => undefined,
    )
  );
  controllers.forEach((controller) => controller.abort());
  held.answer();
  const answers = await Promise.all(calls);
  await first;
  assertEquals(answers.every((answer, n) => answer === (n % 2 ? undefined : n)), true);
  assertEquals(server.calls.slice(1).every(({ args }, at) => args.n === 2 * at), true);
  await finish();
});

/** A member that counts how often its links are touched. */
function countedNode(count: () => void): QueueNode<object> {
  const links: Record<string, unknown> = {};
  const link = (name: string) => ({
    get: () => (count(), links[name]),
    set: (value: unknown) => (count(), void (links[name] = value)),
  });
  return Object.defineProperties({}, { previous: link("previous"), next: link("next") });
}

Deno.test("LinkedQueue: push, shift and leaving from the middle cost the same with 100,000 members as with 10", () => {
  const work = (size: number) => {
    let touched = 0;
    const queue = new LinkedQueue<QueueNode<object>>();
    const nodes = numbers(size).map(() => countedNode(() => touched++));
    for (const node of nodes) queue.push(node);
    const costs: number[] = [];
    const measure = (operation: () => void) => {
      touched = 0;
      operation();
      costs.push(touched);
    };
    measure(() => queue.push(countedNode(() => touched++)));
    measure(() => queue.shift());
    measure(() => queue.remove(nodes[size / 2]));
    assertEquals(queue.size, size - 1);
    return costs;
  };
  assertEquals(work(100_000), work(10));
});
