import { assert, assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";

const A = connectionOf("a", "A");
const B = connectionOf("a", "B");
const C = connectionOf("a", "C");

Deno.test("McpRuntimePool: a changed configuration drains and closes the old session, then opens the new (P17)", async () => {
  const { pool, finish, held, types } = harness();
  const running = pool.callTool(A, null, "held", { name: "A" });
  await settle();
  const next = pool.callTool(B, null, "echo", {});
  await settle();
  assertEquals([types().slice(2), pool.stats().sessions.closing], [["session-replaced"], 1]);
  held.answer();
  assertEquals([(await running).session, (await next).session], [{ generation: 1 }, { generation: 2 }]);
  assertEquals(types().slice(2), ["session-replaced", "session-closed", "session-opening", "session-opened"]);
  await finish();
});

Deno.test("McpRuntimePool: A, B, C while B is opening: each call has its own configuration's session (P17)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  const seen: string[] = [];
  server.openDelayMs = 100;
  const call = (connection: typeof A) =>
    pool.callTool(connection, null, "echo", { mark: connection.transport.args[0] }).then(({ output, session }) =>
      seen.push(`${output.mark} ${session!.generation}`)
    );
  const calls = [call(A)];
  for (let n = 0; n < 2; n++) await time.tickAsync(100);
  calls.push(call(B));
  await time.tickAsync(50);
  calls.push(call(C));
  for (let n = 0; n < 8; n++) await time.tickAsync(100);
  await Promise.all(calls);
  assertEquals(seen, ["A 1", "C 2", "B 3"]);
  assertEquals([pool.stats().openFailed, server.calls.length], [1, 3]);
  await finish();
});

Deno.test("McpRuntimePool: a configuration that changes with each call, faster than it opens, is served all the same (P17)", async () => {
  using time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = 100;
  const calls: Promise<unknown>[] = [];
  for (let n = 0; n < 10; n++) {
    calls.push(pool.callTool(connectionOf("a", `token-${n}`), null, "echo", { n }));
    await time.tickAsync(50);
  }
  // Without a bound on what is given up for a newcomer, none would be over while others come.
  assert(server.calls.length > 0);
  for (let n = 0; n < 30; n++) await time.tickAsync(50);
  await Promise.all(calls);
  assertEquals(server.calls.length, 10);
  await finish();
});

Deno.test("McpRuntimePool: callers that alternate two configurations are seen in the events, with advice (P17)", async () => {
  const { pool, finish, events } = harness();
  for (const connection of [A, B, A, B]) await pool.callTool(connection, null, "echo", {});
  const advice = events.flatMap((event) => event.type === "session-replaced" ? [event.advice !== undefined] : []);
  assertEquals(advice, [false, true, true]);
  await finish();
});

Deno.test("McpRuntimePool: a close that takes its time holds the successor for its limits and no longer (P17)", async () => {
  using time = new FakeTime();
  const { pool, finish } = harness({}, { drainTimeoutMs: 1_000 });
  const running = failure(pool.callTool(A, null, "never", {}, { timeoutMs: 0, maxTotalTimeoutMs: 0 }));
  await settle();
  const next = pool.callTool(B, null, "echo", {});
  await time.tickAsync(1_000);
  assertEquals(told(await running), ["SESSION_CLOSED unknown"]);
  assertEquals((await next).session, { generation: 2 });
  await finish();
});
