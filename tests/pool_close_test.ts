import { assertEquals, assertInstanceOf, assertRejects, assertStrictEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import type { McpRuntimeError } from "../runtime/errors.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import { PersistentMcpSession } from "../runtime/session.ts";
import { connectionOf, failure, harness, settle, told } from "./fakes/pool_harness.ts";

const a = connectionOf("a");
const b = connectionOf("b");

Deno.test("McpRuntimePool.closeConnection: during an opening, waiting calls are refused and nothing stays (P5, L14)", async () => {
  using _time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = Infinity;
  const call = failure(pool.callTool(a, null, "echo", {}));
  const session = failure(pool.getSession(a, null));
  await settle();
  await pool.closeConnection(a.id);
  assertEquals(told(await call, await session), ["SESSION_CLOSED not-sent", "SESSION_CLOSED not-sent"]);
  assertEquals([server.opened, server.closed], [1, 1]);
  server.openDelayMs = 0;
  assertEquals((await pool.callTool(a, null, "echo", {})).outcome, "ok");
  await finish();
});

Deno.test("McpRuntimePool.closeConnection: during a call, accepted calls finish, a later call opens anew after the end (P5, L14)", async () => {
  const { pool, finish, held, server } = harness();
  const accepted = [1, 2].map((name) => pool.callTool(a, null, "held", { name }));
  await settle();
  const closing = pool.closeConnection(a.id);
  const later = pool.callTool(a, null, "echo", {});
  await settle();
  assertEquals(server.opened, 1);
  held.answer();
  await settle();
  held.answer();
  assertEquals((await Promise.all(accepted)).map(({ session }) => session!.generation), [1, 1]);
  await closing;
  assertEquals((await later).session, { generation: 2 });
  await finish();
});

Deno.test("McpRuntimePool.closeConnection: closes every scope of it and nothing else", async () => {
  const { pool, finish } = harness();
  for (const scope of ["x", "y"]) await pool.callTool(a, null, "echo", {}, { scope });
  await pool.callTool(b, null, "echo", {});
  await pool.closeConnection(a.id);
  assertEquals(pool.sessions().map(({ connectionId }) => connectionId), [b.id]);
  await finish();
});

Deno.test("McpRuntimePool.closeConnection: finds a session whose factory gave it another id", async () => {
  const pool = new McpRuntimePool((_connection, auth) =>
    new PersistentMcpSession({ connection: b, auth, callCallback: () => ({ content: [] }) })
  );
  await pool.callTool(a, null, "echo", {});
  await pool.closeConnection(a.id);
  assertEquals([pool.sessions(), pool.stats().closed], [[], 1]);
});

Deno.test("McpRuntimePool.closeAll: refuses new calls, drains accepted ones, refuses who waits, and stays closed (P5, L15)", async () => {
  using _time = new FakeTime();
  const { pool, finish, held, server } = harness();
  const accepted = pool.callTool(a, null, "held", { name: "a" });
  await settle();
  server.openDelayMs = Infinity;
  const waiting = failure(pool.getSession(b, null));
  await settle();
  const closing = pool.closeAll();
  const [call, session] = [failure(pool.callTool(a, null, "echo", {})), failure(pool.getSession(a, null))];
  assertEquals(told(await waiting, await call, await session), Array(3).fill("POOL_CLOSED not-sent"));
  held.answer();
  assertEquals((await accepted).outcome, "ok");
  await closing;
  assertStrictEquals(pool.closeAll(), pool.closeAll());
  assertEquals(told(await failure(pool.callTool(a, null, "echo", {}))), ["POOL_CLOSED not-sent"]);
  await finish();
});

Deno.test("McpRuntimePool.closeAll: ends within the drain deadline, and closing again never lengthens it", async () => {
  using time = new FakeTime();
  const { pool, finish } = harness({}, { drainTimeoutMs: 1_000 });
  const calls = ["never", "echo"].map((tool) => failure(pool.callTool(a, null, tool, {}, { timeoutMs: 0 })));
  await settle();
  const session = await pool.getSession(a, null);
  const closing = pool.closeAll();
  await time.tickAsync(900);
  void session.close();
  void pool.closeConnection(a.id);
  await time.tickAsync(100);
  assertEquals(told(...await Promise.all(calls)), ["SESSION_CLOSED unknown", "SESSION_CLOSED not-sent"]);
  await closing;
  await finish();
});

Deno.test("McpRuntimePool.closeAll: closes in parallel and reports every failure as one AggregateError", async () => {
  let together = 0;
  let most = 0;
  const pool = new McpRuntimePool((connection, auth) =>
    new PersistentMcpSession({
      connection,
      auth,
      callCallback: () => ({ content: [] }),
      closeCallback: async () => {
        most = Math.max(most, ++together);
        await settle();
        together--;
        if (connection.account !== "fine") throw new Error(connection.account);
      },
    })
  );
  for (const name of ["one", "fine", "two"]) await pool.callTool(connectionOf(name), null, "echo", {});
  const error = await assertRejects(() => pool.closeAll(), AggregateError);
  assertEquals(error.errors.map(({ message }) => message), ["one", "two"]);
  assertEquals([most, pool.sessions(), pool.stats().closed], [3, [], 3]);
});

Deno.test("McpRuntimePool.abort: rejects what runs and waits at once, with the reason as cause, also after closeAll (L16)", async () => {
  const { pool, finish } = harness();
  const calls = [1, 2].map(() => failure(pool.callTool(a, null, "never", {})));
  await settle();
  const closing = pool.closeAll();
  const reason = new Error("enough");
  await pool.abort(reason);
  await closing;
  const errors = await Promise.all(calls);
  assertEquals(told(...errors), ["SESSION_CLOSED unknown", "SESSION_CLOSED not-sent"]);
  const causes = errors.map((error) => (error.cause as McpRuntimeError)?.cause ?? error.cause);
  for (const cause of causes) assertStrictEquals(cause, reason);
  await finish();
});

Deno.test("McpRuntimePool.abort: while opening and without a reason, nothing is left", async () => {
  using _time = new FakeTime();
  const { pool, finish, server } = harness();
  server.openDelayMs = Infinity;
  const call = failure(pool.callTool(a, null, "echo", {}));
  await settle();
  await pool.abort();
  assertEquals([told(await call), server.opened, server.closed], [["POOL_CLOSED not-sent"], 1, 1]);
  await finish();
});

Deno.test("McpRuntimePool: await using closes all (P14)", async () => {
  const { pool, server } = harness();
  {
    await using used = pool;
    for (const connection of [a, b]) await used.callTool(connection, null, "echo", {});
  }
  assertEquals([server.closed, pool.sessions()], [2, []]);
});

Deno.test("McpRuntimePool: a factory that ignores its signal is not waited for, and what it brings late is closed", async () => {
  let bring!: (session: PersistentMcpSession) => void;
  const pool = new McpRuntimePool(() => new Promise((resolve) => bring = resolve));
  const call = failure(pool.callTool(a, null, "echo", {}));
  await settle();
  await pool.closeAll();
  assertEquals(told(await call), ["POOL_CLOSED not-sent"]);
  const late = new PersistentMcpSession({ connection: a, auth: null, callCallback: () => ({}) });
  bring(late);
  assertEquals((await late.closed).state, "closed");
});

Deno.test("PersistentMcpSession: a listener that closes the session it is told is lost waits for its end", async () => {
  const ended: unknown[] = [];
  const { pool, finish, server } = harness({
    onEvent: (event) => {
      if (event.type === "session-lost") ended.push(session.close());
    },
  });
  const session = await pool.getSession(a, null);
  server.crash();
  await session.closed;
  assertInstanceOf(ended[0], Promise);
  await finish();
});

Deno.test("McpRuntimePool: an idle pool with every policy on lets the program end by itself (P14)", async () => {
  const script = `
    import { McpRuntimePool } from "${new URL("../mod.ts", import.meta.url).href}";
    import { FakeMcpServer } from "${new URL("../runtime/testing.ts", import.meta.url).href}";
    const server = new FakeMcpServer({ tools: { echo: (args) => args } });
    const pool = new McpRuntimePool(server.sessionFactory(), { idleTimeoutMs: 600_000, maxLifetimeMs: 600_000 });
    console.log((await pool.callTool(server.connection, null, "echo", { n: 1 })).output.n, pool.sessions().length);`;
  const config = new URL("../deno.json", import.meta.url).pathname;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--config", config, script],
    stderr: "null",
    signal: AbortSignal.timeout(30_000),
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [0, "1 1\n"]);
});
