import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { FakeTime } from "@std/testing/time";
import type { AuthRecord } from "../runtime/auth.ts";
import type { ToolClient } from "../runtime/client.ts";
import { type McpSourceConnection, parseConnection } from "../runtime/connection.ts";
import { McpRuntimeError, McpTimeoutError } from "../runtime/errors.ts";
import type { RuntimeEvent } from "../runtime/events.ts";
import { PersistentSessionFactory, type SessionFactoryOptions } from "../runtime/factory.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import type { McpTransport } from "../runtime/transport/message.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { settle } from "./fakes/open_scripted.ts";

const connection = {
  id: "echo.test",
  provider: "echo",
  account: "test",
  transport: { kind: "stdio" as const, command: "echo", env: { KEY: "key-of-the-test" } },
};

/** A factory whose opening is a function of the test. */
class Overriding extends PersistentSessionFactory {
  readonly #open: (signal: AbortSignal) => ToolClient | Promise<ToolClient>;
  readonly seen: [McpSourceConnection, AuthRecord | null][] = [];

  constructor(open: (signal: AbortSignal) => ToolClient | Promise<ToolClient>, options: SessionFactoryOptions = {}) {
    super(options);
    this.#open = open;
  }

  protected override createClient(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    signal: AbortSignal,
  ): Promise<ToolClient> {
    this.seen.push([connection, auth]);
    return this.#open(signal) as Promise<ToolClient>;
  }
}

function countedClient() {
  const client = {
    closes: 0,
    callTool: () => Promise.resolve({ content: [] }),
    close: () => {
      client.closes++;
      return Promise.resolve();
    },
  };
  return client;
}

Deno.test("PersistentSessionFactory.createClient: gets parsed, frozen values; the session owns what it returns", async () => {
  const client = countedClient();
  const factory = new Overriding(() => client);
  const auth = { connectionId: connection.id, scheme: "bearer", payload: { token: "t" } };
  const session = await factory.create(connection, auth);
  const [[seenConnection, seenAuth]] = factory.seen;
  assert(Object.isFrozen(seenConnection) && Object.isFrozen(seenAuth));
  assertStrictEquals(parseConnection(seenConnection), seenConnection);
  assertEquals((await session.callTool("a", {})).outcome, "ok");
  await session.close();
  assertEquals(client.closes, 1);
});

Deno.test("PersistentSessionFactory.create: limits of the factory hold for a client that keeps none", async () => {
  using time = new FakeTime();
  const client = { callTool: () => new Promise<never>(() => {}), close: () => Promise.resolve() };
  const session = await new Overriding(() => client, { timeoutMs: 200 }).create(connection, null);
  const call = assertRejects(() => session.callTool("a", {}), McpTimeoutError);
  await time.tickAsync(200);
  assertEquals((await call).limitMs, 200);
  await session.close();
});

for (const how of ["throws", "rejects"]) {
  Deno.test(`PersistentSessionFactory.create: an override that ${how} is OPEN_FAILED, without a secret`, async () => {
    const factory = new Overriding(() => {
      const error = new TypeError("bad header key-of-the-test");
      if (how === "throws") throw error;
      return Promise.reject(error);
    });
    const error = await assertRejects(() => factory.create(connection, null), McpRuntimeError);
    assertEquals([error.code, error.delivery, error.connectionId], ["OPEN_FAILED", "not-sent", "echo.test"]);
    assertStringIncludes(error.message, "bad header [redacted]");
    assert(!Deno.inspect(error).includes("key-of-the-test"));
  });
}

Deno.test("PersistentSessionFactory.create: our own errors of an override are told as they are", async () => {
  const own = new McpRuntimeError("status 401", { code: "AUTH_REJECTED" });
  const factory = new Overriding(() => Promise.reject(own));
  assertStrictEquals(await factory.create(connection, null).catch((error) => error), own);
});

Deno.test("PersistentSessionFactory.create: an override that never ends fails at its limit; its late client is closed", async () => {
  using time = new FakeTime();
  let bring!: (client: ToolClient) => void;
  let given!: AbortSignal;
  const factory = new Overriding((signal) => {
    given = signal;
    return new Promise((resolve) => bring = resolve);
  }, { connectTimeoutMs: 100, closeTimeoutMs: 10 });
  const opening = assertRejects(() => factory.create(connection, null), McpTimeoutError);
  await time.tickAsync(120);
  assertEquals((await opening).code, "OPEN_FAILED");
  assert(given.aborted);
  const client = countedClient();
  bring(client);
  await settle();
  assertEquals(client.closes, 1);
});

Deno.test("PersistentSessionFactory.create: an abort rejects with the reason as it is, also past a deaf override", async () => {
  using time = new FakeTime();
  let bring!: (client: ToolClient) => void;
  const factory = new Overriding(() => new Promise((resolve) => bring = resolve), { closeTimeoutMs: 10 });
  const { signal, abort, listeners } = countingSignal();
  const opening = factory.create(connection, null, { signal }).catch((error) => error);
  await settle();
  const reason = { any: "value" };
  abort(reason);
  await time.tickAsync(20);
  assertStrictEquals(await opening, reason);
  assertEquals(listeners(), 0);
  const client = countedClient();
  bring(client);
  await settle();
  assertEquals(client.closes, 1);
});

Deno.test("PersistentSessionFactory.create: an override that rejects with something else on abort changes nothing", async () => {
  const factory = new Overriding((signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))))
  );
  const controller = new AbortController();
  const opening = factory.create(connection, null, { signal: controller.signal }).catch((error) => error);
  const reason = new Error("left");
  controller.abort(reason);
  assertStrictEquals(await opening, reason);
});

Deno.test("PersistentSessionFactory.create: a signal that is aborted already starts nothing", async () => {
  const server = new FakeMcpServer();
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
  const reason = new Error("before");
  const opening = factory.create(connection, null, { signal: AbortSignal.abort(reason) });
  assertStrictEquals(await opening.catch((error) => error), reason);
  assertEquals(server.opened, 0);
});

Deno.test("6 PersistentSessionFactory.create: a handshake that fails or never ends leaves no transport and no timer", async () => {
  using time = new FakeTime();
  const server = new FakeMcpServer();
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport, connectTimeoutMs: 100 });
  server.refuseOpenings = "no";
  assertEquals((await assertRejects(() => factory.create(connection, null), McpRuntimeError)).code, "OPEN_FAILED");
  server.openDelayMs = Infinity;
  const never = assertRejects(() => factory.create(connection, null), McpTimeoutError);
  await time.tickAsync(100);
  assertEquals((await never).code, "OPEN_FAILED");
  assertEquals([server.opened, server.closed], [2, 2]);
  assertEquals(time.next(), false, "a timer is left");
});

Deno.test("14 PersistentSessionFactory.create: a connection without transport is NO_TRANSPORT, naming it, before any I/O", async () => {
  let made = 0;
  const createTransport = (): McpTransport => {
    made++;
    throw new Error("must not be called");
  };
  const factory = new PersistentSessionFactory({ createTransport });
  for (const transport of [null, undefined]) {
    const error = await assertRejects(() => factory.create({ ...connection, transport }, null), McpRuntimeError);
    assertEquals([error.code, error.delivery], ["NO_TRANSPORT", "not-sent"]);
    assertStringIncludes(error.message, '"echo.test"');
  }
  assertEquals(made, 0);
});

Deno.test("PersistentSessionFactory.create: bad input is CONNECTION_INVALID before any I/O", async () => {
  const server = new FakeMcpServer();
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
  const bad: [unknown, unknown][] = [
    [{ ...connection, id: "x" }, null],
    [{ ...connection, transport: { kind: "stdio", command: "" } }, null],
    [connection, { connectionId: 5 }],
    [connection, { connectionId: "a.b", scheme: "x", payload: { f: () => {} } }],
  ];
  for (const [badConnection, badAuth] of bad) {
    const opening = () => factory.create(badConnection as McpSourceConnection, badAuth as AuthRecord | null);
    assertEquals((await assertRejects(opening, McpRuntimeError)).code, "CONNECTION_INVALID");
  }
  assertEquals(server.opened, 0);
});

Deno.test("PersistentSessionFactory.onEvent: tells the life of a session and its calls, in order", async () => {
  const events: RuntimeEvent[] = [];
  const server = new FakeMcpServer({ tools: { echo: (args) => args } });
  const factory = new PersistentSessionFactory({
    createTransport: server.createTransport,
    onEvent: (event) => {
      events.push(event);
      throw new Error("the listener's own");
    },
  });
  const session = await factory.create(connection, null, { scope: "s", generation: 4 });
  await session.callTool("echo", {});
  await session.close();
  assertEquals(events.map(({ type }) => type), [
    "session-opening",
    "session-opened",
    "call-started",
    "call-settled",
    "session-closed",
  ]);
  for (const event of events) {
    assertEquals([event.connectionId, event.scope, event.generation], ["echo.test", "s", 4]);
  }
  server.refuseOpenings = "no";
  await factory.create(connection, null).catch(() => {});
  assertEquals(events.slice(5).map(({ type }) => type), ["session-opening", "session-open-failed"]);
  assertInstanceOf((events[6] as { error: unknown }).error, McpRuntimeError);
});

Deno.test("PersistentSessionFactory: options are copied; changing them later changes nothing", async () => {
  const first = new FakeMcpServer();
  const second = new FakeMcpServer();
  const options: SessionFactoryOptions = { createTransport: first.createTransport };
  const factory = new PersistentSessionFactory(options);
  options.createTransport = second.createTransport;
  await (await factory.create(connection, null)).close();
  assertEquals([first.opened, second.opened], [1, 0]);
});

Deno.test("PersistentSessionFactory.toJSON: limits alone, the same when inspected", () => {
  const factory = new PersistentSessionFactory({
    timeoutMs: 5,
    createTransport: () => new FakeMcpServer().createTransport(),
  });
  const shown = JSON.parse(JSON.stringify(factory));
  assertEquals(Object.keys(shown).sort(), [
    "closeTimeoutMs",
    "concurrency",
    "drainTimeoutMs",
    "maxQueuedCalls",
    "maxTotalTimeoutMs",
    "queueTimeoutMs",
    "timeoutMs",
  ]);
  assertEquals(shown.timeoutMs, 5);
  assertStringIncludes(Deno.inspect(factory), "PersistentSessionFactory {");
});
