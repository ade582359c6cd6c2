/** Rows 4, 5, 6, 7, 13 and 14: sessions that a factory opened. */
import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimeError, parseConnection } from "../../mod.ts";
import type { AuthRecord, McpSourceConnection, PersistentMcpSession, ToolClient } from "../../runtime/mod.ts";
import { FakeMcpServer } from "../../runtime/testing.ts";
import { settle } from "../fakes/open_scripted.ts";
import { connectionTo, startServer } from "../fixtures/http/server.ts";
import { statefulConnection } from "../fixtures/stateful_connection.ts";
import { isAlive } from "../transport/stdio_harness.ts";
import type { DeclareRow, Runtime } from "./runtime.ts";

const bare = { id: "bare.test", provider: "bare", account: "test" };

/** Declares the rows of the factory. */
export function factoryRows(row: DeclareRow, runtime: Runtime): void {
  const { PersistentSessionFactory } = runtime;

  row(4, "a factory takes McpSourceConnection itself and hands on the very same one", async () => {
    const seen: McpSourceConnection[] = [];
    class Seam extends PersistentSessionFactory {
      protected override createClient(connection: McpSourceConnection): Promise<ToolClient> {
        seen.push(connection);
        return Promise.resolve({ callTool: () => Promise.resolve({}), close: () => Promise.resolve() });
      }
    }
    const connection: McpSourceConnection = parseConnection({ ...bare, profile: "p", metadata: { a: 1 } });
    await using session = await new Seam().create(connection, null);
    assertStrictEquals(seen[0], connection);
    assertStrictEquals(session.connection, connection);
  });

  row(5, "two calls give two entries in order", async () => {
    await using session = await new PersistentSessionFactory().create(statefulConnection(), null);
    await session.callTool("append", { entry: "first" });
    const { output } = await session.callTool("append", { entry: "second" });
    assertEquals(output, { entries: ["first", "second"] });
  });

  row(5, "parallel calls reach the server one after another, in order", async () => {
    await using session = await new PersistentSessionFactory().create(statefulConnection(), null);
    const calls = [30, 10, 0].map((delayMs, entry) => session.callTool("append", { entry, delayMs }));
    await Promise.all(calls);
    const { output } = await session.callTool("entries", {});
    assertEquals(output, { entries: [0, 1, 2], most: 1 });
  });

  row(6, "create resolves after the handshake, and one transport serves until close ends it", async () => {
    const server = new FakeMcpServer({ tools: { echo: (args) => args } });
    const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
    const session = await factory.create(server.connection, null);
    const methods = () => server.messages.map((message) => "method" in message && message.method);
    assertEquals(methods(), ["initialize", "notifications/initialized"]);
    for (let call = 0; call < 3; call++) await session.callTool("echo", {});
    assertEquals([server.opened, server.closed], [1, 0]);
    await session.close();
    assertEquals([server.opened, server.closed], [1, 1]);
  });

  row(6, "create rejects when the handshake fails, leaving no process", async () => {
    const creating = new PersistentSessionFactory().create(statefulConnection(["init=refuse"]), null);
    const error = await assertRejects(() => creating, McpRuntimeError);
    assertEquals([error.code, error.delivery], ["OPEN_FAILED", "not-sent"]);
    const pid = /process (\d+) refuses/.exec(error.message)?.[1];
    assert(pid !== undefined, error.message);
    assertEquals(await isAlive(Number(pid)), false);
  });

  row(6, "create rejects when the server refuses to speak, leaving no socket", async () => {
    await using server = startServer({ request: () => new Response("no", { status: 500 }) });
    const creating = new PersistentSessionFactory().create(connectionTo(server.url), null);
    const error = await assertRejects(() => creating, McpRuntimeError);
    assertEquals([error.code, error.delivery], ["OPEN_FAILED", "not-sent"]);
    for (const { ended } of server.seen) await ended;
  });

  row(6, "create rejects at its limit when the handshake never ends, leaving no transport and no timer", async () => {
    using time = new FakeTime();
    const server = new FakeMcpServer({ openDelayMs: Infinity });
    const factory = new PersistentSessionFactory({
      createTransport: server.createTransport,
      connectTimeoutMs: 1000,
    });
    const creating = assertRejects(() => factory.create(server.connection, null), McpRuntimeError);
    await time.tickAsync(1000);
    assertEquals((await creating).code, "OPEN_FAILED");
    assertEquals([server.opened, server.closed], [1, 1]);
  });

  row(7, "when the owner dies, the running and every queued call are rejected with that cause, at once", async () => {
    using _time = new FakeTime(); // It never moves: nothing may wait for a timer.
    const { server, session } = await hanging(runtime);
    const calls = ["running", "queued", "queued"].map(() => assertRejects(() => session.callTool("hang", {})));
    await settle();
    server.crash("power cut");
    const errors = await Promise.all(calls) as McpRuntimeError[];
    for (const error of errors) assertStringIncludes(error.message, "power cut");
    assertEquals(errors.map(({ code, delivery }) => [code, delivery]), [
      ["SESSION_LOST", "unknown"],
      ["SESSION_LOST", "not-sent"],
      ["SESSION_LOST", "not-sent"],
    ]);
    const [cause] = errors.map((error) => error.cause ?? error);
    for (const error of errors) assertStrictEquals(error.cause ?? error, cause);
    assertEquals(server.calls.length, 1);
  });

  row(7, "later calls on a session whose owner died are rejected with the same cause", async () => {
    using _time = new FakeTime();
    const { server, session } = await hanging(runtime);
    server.crash("power cut");
    const { reason } = await session.closed;
    const error = await assertRejects(() => session.callTool("hang", {}), McpRuntimeError);
    assertEquals([error.code, error.delivery], ["SESSION_LOST", "not-sent"]);
    assertStrictEquals(error, reason as McpRuntimeError);
  });

  row(7, "the death of a real process rejects the running and the queued calls", async () => {
    await using session = await new PersistentSessionFactory().create(statefulConnection(), null);
    const calls = ["crash", "entries", "entries"].map((tool) => assertRejects(() => session.callTool(tool, {})));
    const errors = await Promise.all(calls) as McpRuntimeError[];
    assertEquals(errors.map(({ code, delivery }) => [code, delivery]), [
      ["SESSION_LOST", "unknown"],
      ["SESSION_LOST", "not-sent"],
      ["SESSION_LOST", "not-sent"],
    ]);
    assertEquals(errors.map((error) => "exitCode" in error && error.exitCode), [3, 3, 3]);
  });

  row(13, "stdio: the auth record's env is laid over the transport's", async () => {
    const connection = statefulConnection([], { env: { A: "transport", B: "transport" } });
    const auth = { connectionId: connection.id, scheme: "env", payload: { env: { B: "auth", C: "auth" } } };
    await using session = await new PersistentSessionFactory().create(connection, auth);
    const { A, B, C } = (await session.callTool("facts", {})).output.env as Record<string, string>;
    assertEquals({ A, B, C }, { A: "transport", B: "auth", C: "auth" });
  });

  const inTransport = { "X-One": "transport", "X-Two": "transport" };
  const HEADERS: [string, Record<string, string>, AuthRecord["payload"], Record<string, string | null>][] = [
    [
      "the auth record's headers are laid over the transport's, whatever their case",
      inTransport,
      { headers: { "x-two": "auth", "X-THREE": "auth" } },
      { "x-one": "transport", "x-two": "auth", "x-three": "auth" },
    ],
    ["payload.token is sent as Bearer", {}, { token: "t" }, { authorization: "Bearer t" }],
    [
      "an authorization header of the auth record wins over payload.token, whatever its case",
      {},
      { token: "t", headers: { Authorization: "Basic b" } },
      { authorization: "Basic b" },
    ],
    [
      "payload.token wins over an authorization header of the transport",
      { Authorization: "Basic b" },
      { token: "t" },
      { authorization: "Bearer t" },
    ],
    [
      "an authorization header of the transport is sent when the auth record has none",
      { Authorization: "Basic b" },
      {},
      { authorization: "Basic b" },
    ],
  ];
  for (const [behaviour, headers, payload, expected] of HEADERS) {
    row(13, `HTTP: ${behaviour}, with every request`, async () => {
      await using server = startServer();
      const auth = { connectionId: "test.http", scheme: "s", ...(payload === undefined ? {} : { payload }) };
      const session = await new PersistentSessionFactory().create(connectionTo(server.url, headers), auth);
      await session.callTool("echo", {});
      await session.close();
      assertEquals(server.seen.map(({ message, method }) => message.method ?? method), [
        "initialize",
        "notifications/initialized",
        "tools/call",
        "DELETE",
      ]);
      for (const seen of server.seen) {
        for (const [name, value] of Object.entries(expected)) assertEquals(seen.headers.get(name), value);
      }
    });
  }

  for (const transport of [null, undefined]) {
    row(14, `a connection whose transport is ${transport} is refused by the factory, naming it`, async () => {
      const connection = transport === null ? { ...bare, transport } : bare;
      const creating = new PersistentSessionFactory().create(connection, null);
      const error = await assertRejects(() => creating, McpRuntimeError);
      assertEquals([error.code, error.connectionId], ["NO_TRANSPORT", bare.id]);
      assertStringIncludes(error.message, `"${bare.id}"`);
    });
  }

  row(14, "a connection without transport is refused by the pool, naming it", async () => {
    await using pool = new runtime.McpRuntimePool();
    for (const opening of [() => pool.callTool(bare, null, "echo", {}), () => pool.getSession(bare, null)]) {
      const error = await assertRejects(opening, McpRuntimeError);
      assertEquals([error.code, error.connectionId], ["NO_TRANSPORT", bare.id]);
      assertStringIncludes(error.message, `"${bare.id}"`);
    }
  });
}

/** A session on a server whose tool never answers. */
async function hanging(runtime: Runtime): Promise<{ server: FakeMcpServer; session: PersistentMcpSession }> {
  const server = new FakeMcpServer({ tools: { hang: () => new Promise(() => {}) } });
  const factory = new runtime.PersistentSessionFactory({ createTransport: server.createTransport });
  return { server, session: await factory.create(server.connection, null) };
}
