import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { FakeTime } from "@std/testing/time";
import type { CallToolOptions, ToolClient } from "../runtime/client.ts";
import { McpRuntimeError, McpTimeoutError } from "../runtime/errors.ts";
import { PersistentSessionFactory, type SessionFactoryOptions } from "../runtime/factory.ts";
import type { RawCallToolResult } from "../runtime/result.ts";
import { PersistentMcpSession, type RawToolCaller } from "../runtime/session.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { settle } from "./fakes/open_scripted.ts";

const connection = { id: "echo.test", provider: "echo", account: "test" };

/** A client whose calls the test answers. */
class HeldClient implements ToolClient {
  readonly calls: {
    tool: string;
    options: CallToolOptions;
    resolve: (result: RawCallToolResult) => void;
    reject: (error: unknown) => void;
  }[] = [];
  readonly closed: Promise<unknown>;
  closes = 0;
  received = 0;
  end!: (cause?: unknown) => void;
  fail!: (cause: unknown) => void;
  onClose: () => Promise<void> = () => Promise.resolve();

  constructor() {
    this.closed = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
  }

  callTool(tool: string, _payload: Record<string, unknown>, options: CallToolOptions = {}): Promise<RawCallToolResult> {
    return new Promise((resolve, reject) => this.calls.push({ tool, options, resolve, reject }));
  }

  close(): Promise<void> {
    this.closes++;
    return this.onClose();
  }

  get tools(): string[] {
    return this.calls.map(({ tool }) => tool);
  }
}

class HeldFactory extends PersistentSessionFactory {
  readonly client = new HeldClient();

  protected override createClient(): Promise<ToolClient> {
    return Promise.resolve(this.client);
  }
}

/** A session with limits of its own over a client that the test plays. */
async function held(options: SessionFactoryOptions = {}) {
  const factory = new HeldFactory(options);
  const session = await factory.create(connection, null);
  return { session, client: factory.client, call: (tool: string, options = {}) => session.callTool(tool, {}, options) };
}

const fromCallback = (callCallback: RawToolCaller, closeCallback?: () => void | Promise<void>) =>
  new PersistentMcpSession({ connection, auth: null, callCallback, ...(closeCallback ? { closeCallback } : {}) });

const failure = (promise: Promise<unknown>) => assertRejects(() => promise, McpRuntimeError);
const codes = (errors: McpRuntimeError[]) => errors.map(({ code, delivery }) => [code, delivery]);

Deno.test("PersistentMcpSession: refuses a bad connection or auth record", () => {
  assertThrows(() => new PersistentMcpSession({ connection: { ...connection, id: "x" }, auth: null }), McpRuntimeError);
  const auth = { connectionId: "x", scheme: 5 as unknown as string };
  assertThrows(() => new PersistentMcpSession({ connection, auth }), McpRuntimeError);
});

Deno.test("PersistentMcpSession: connection and auth are parsed and frozen", async () => {
  const auth = { connectionId: "echo.test", scheme: "bearer", payload: { token: "t" } };
  await using session = new PersistentMcpSession({ connection: { ...connection }, auth });
  assertEquals([session.connection, session.auth], [connection, auth]);
  assert(Object.isFrozen(session.connection) && Object.isFrozen(session.auth!.payload));
});

Deno.test("PersistentMcpSession: states ready, closing, closed; await using closes", async () => {
  const { session, client, call } = await held();
  assertEquals(session.state, "ready");
  const running = call("a");
  const closing = session.close();
  assertEquals(session.state, "closing");
  client.calls[0].resolve({ content: [] });
  await Promise.all([running, closing]);
  assertEquals([session.state, client.closes], ["closed", 1]);
  assertEquals(await session.closed, { state: "closed" });
  let closes = 0;
  {
    await using other = fromCallback(() => ({}), () => void closes++);
    assertEquals(other.state, "ready");
  }
  assertEquals(closes, 1);
});

Deno.test("PersistentMcpSession.callTool: a callback's limit of silence ends its call, and the queue goes on", async () => {
  using time = new FakeTime();
  await using session = fromCallback((tool) => tool === "never" ? new Promise(() => {}) : { content: [] });
  const never = assertRejects(() => session.callTool("never", {}, { timeoutMs: 100 }), McpTimeoutError);
  const next = session.callTool("next", {});
  await time.tickAsync(100);
  const error = await never;
  assertEquals([error.code, error.delivery, error.limitMs], ["CALL_TIMEOUT", "unknown", 100]);
  assertEquals((await next).outcome, "ok");
});

Deno.test("PersistentMcpSession.callTool: a callback's progress restarts the silence and not the total", async () => {
  using time = new FakeTime();
  const seen: number[] = [];
  await using session = fromCallback((_tool, _payload, options) =>
    new Promise(() => {
      for (let n = 1; n < 100; n++) setTimeout(() => options!.onProgress!({ progress: n }), n * 80);
    })
  );
  const options = {
    timeoutMs: 100,
    maxTotalTimeoutMs: 250,
    onProgress: (p: { progress: number }) => seen.push(p.progress),
  };
  const call = assertRejects(() => session.callTool("slow", {}, options), McpTimeoutError);
  await time.tickAsync(250);
  assertEquals([(await call).limitMs, seen], [250, [1, 2, 3]]);
});

Deno.test("P9 PersistentMcpSession.callTool: an abort ends a callback's call with the reason as it is", async () => {
  await using session = fromCallback((tool) => tool === "never" ? new Promise(() => {}) : { content: [] });
  const { signal, abort, listeners } = countingSignal();
  const outcome = session.callTool("never", {}, { signal }).catch((error) => error);
  const next = session.callTool("next", {});
  const reason = { any: "value" };
  abort(reason);
  assertStrictEquals(await outcome, reason);
  assertEquals((await next).outcome, "ok");
  assertEquals(listeners(), 0);
});

Deno.test("P10 PersistentMcpSession.callTool: one signal for 1,000 calls leaves no listener", async () => {
  await using session = fromCallback((tool) => {
    if (tool === "throws") throw new Error("no");
    return { content: [] };
  });
  const { signal, listeners } = countingSignal();
  const calls = Array.from({ length: 1_000 }, (_, n) => session.callTool(n % 3 ? "a" : "throws", {}, { signal }));
  await Promise.allSettled(calls);
  assertEquals(listeners(), 0);
});

Deno.test("PersistentMcpSession.callTool: what a callback throws is PROTOCOL_ERROR, unknown, and the session lives", async () => {
  await using session = fromCallback((tool) => {
    if (tool === "throws") throw new Error("disk full");
    if (tool === "rejects") return Promise.reject(new Error("disk full"));
    return { content: [] };
  });
  for (const tool of ["throws", "rejects"]) {
    const error = await failure(session.callTool(tool, {}));
    assertEquals(codes([error]), [["PROTOCOL_ERROR", "unknown"]]);
    assertStringIncludes(error.message, `call of tool "${tool}" of connection "echo.test" failed: disk full`);
    assertEquals(String(error.cause), "Error: disk full");
  }
  assertEquals((await session.callTool("fine", {})).outcome, "ok");
});

Deno.test("PersistentMcpSession.callTool: a McpRuntimeError of a client is told as it is", async () => {
  const { session, client, call } = await held();
  const own = new McpRuntimeError("m", { code: "HTTP_ERROR", delivery: "unknown" });
  const outcome = call("a").catch((error) => error);
  client.calls[0].reject(own);
  assertStrictEquals(await outcome, own);
  await session.close();
});

Deno.test("PersistentMcpSession.callTool: a callback's value that is no result is PROTOCOL_ERROR, answered", async () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const values: unknown[] = [undefined, null, "text", [], { content: [1n] }, { content: [cycle] }];
  await using session = fromCallback(() => values.shift() as RawCallToolResult);
  for (const _ of [...values]) {
    const error = await failure(session.callTool("a", {}));
    assertEquals(error.code, "PROTOCOL_ERROR");
  }
  assertEquals(session.state, "ready");
});

Deno.test("P19 PersistentMcpSession.callTool: bad input is refused before the callback is called", async () => {
  let called = 0;
  await using session = fromCallback(() => {
    called++;
    return {};
  });
  const bad: [string, unknown][] = [["", {}], ["a", { f: () => {} }], ["a", []], ["a", { d: new Date(0) }]];
  for (const [tool, payload] of bad) {
    assertEquals(codes([await failure(session.callTool(tool, payload as Record<string, unknown>))]), [
      ["INPUT_INVALID", "not-sent"],
    ]);
  }
  assertEquals(called, 0);
});

Deno.test("P4 PersistentMcpSession: an aborted queued call is never sent, the others keep their order", async () => {
  const { session, client, call } = await held();
  const { signal, abort, listeners } = countingSignal();
  const running = call("1");
  const aborted = call("2", { signal }).catch((error) => error);
  const last = call("3");
  const reason = new Error("left");
  abort(reason);
  assertStrictEquals(await aborted, reason);
  assertEquals(listeners(), 0);
  client.calls[0].resolve({ content: [] });
  await running;
  assertEquals(client.tools, ["1", "3"]);
  client.calls[1].resolve({ content: [] });
  await last;
  await session.close();
});

Deno.test("PersistentMcpSession: queueTimeoutMs ends the wait in the queue, of the session or of the call", async () => {
  using time = new FakeTime();
  const { session, client, call } = await held({ queueTimeoutMs: 500 });
  const running = call("1");
  const byCall = assertRejects(() => call("2", { queueTimeoutMs: 100 }), McpTimeoutError);
  const bySession = assertRejects(() => call("3"), McpTimeoutError);
  const never = call("4", { queueTimeoutMs: 0 });
  await time.tickAsync(100);
  assertEquals([(await byCall).code, (await byCall).delivery, (await byCall).limitMs], [
    "QUEUE_TIMEOUT",
    "not-sent",
    100,
  ]);
  await time.tickAsync(400);
  assertEquals((await bySession).limitMs, 500);
  await time.tickAsync(1_000);
  client.calls[0].resolve({ content: [] });
  await running;
  assertEquals(client.tools, ["1", "4"]);
  client.calls[1].resolve({ content: [] });
  await never;
  await session.close();
});

Deno.test("P13 PersistentMcpSession: maxQueuedCalls reached is QUEUE_FULL at once, and nothing is lost", async () => {
  const { session, client, call } = await held({ maxQueuedCalls: 2 });
  const calls = [call("1"), call("2"), call("3")];
  assertEquals(codes([await failure(call("4"))]), [["QUEUE_FULL", "not-sent"]]);
  for (let n = 0; n < 3; n++) {
    client.calls[n].resolve({ content: [] });
    await calls[n];
  }
  assertEquals(client.tools, ["1", "2", "3"]);
  await session.close();
});

Deno.test("PersistentMcpSession: at most `concurrency` calls are awaited at once, started in order", async () => {
  const { session, client, call } = await held({ concurrency: 2 });
  const calls = ["1", "2", "3", "4"].map((tool) => call(tool));
  assertEquals(client.tools, ["1", "2"]);
  client.calls[1].resolve({ content: [] });
  await calls[1];
  assertEquals(client.tools, ["1", "2", "3"]);
  for (const { resolve } of client.calls) resolve({ content: [] });
  await settle();
  client.calls[3].resolve({ content: [] });
  await Promise.all(calls);
  await session.close();
});

Deno.test("PersistentMcpSession.close: refuses new calls, lets accepted ones finish, then ends the client once", async () => {
  const order: string[] = [];
  const { session, client, call } = await held();
  client.onClose = () => {
    order.push("client closed");
    return Promise.resolve();
  };
  const calls = ["1", "2"].map((tool) => call(tool).then(() => order.push(tool)));
  const closings = [session.close(), session.close(), session[Symbol.asyncDispose]()];
  assertEquals(codes([await failure(call("3"))]), [["SESSION_CLOSED", "not-sent"]]);
  client.calls[0].resolve({ content: [] });
  await calls[0];
  client.calls[1].resolve({ content: [] });
  await Promise.all([...calls, ...closings]);
  assertEquals([order, client.closes, client.tools], [["1", "2", "client closed"], 1, ["1", "2"]]);
});

Deno.test("PersistentMcpSession.close: at the drain limit accepted calls are rejected, each with its own delivery", async () => {
  using time = new FakeTime();
  const { session, client, call } = await held({ drainTimeoutMs: 1_000 });
  const running = failure(call("1", { timeoutMs: 0 }));
  const queued = failure(call("2"));
  const closing = session.close();
  await time.tickAsync(999);
  assertEquals(client.closes, 0);
  await time.tickAsync(1);
  assertEquals(codes([await running, await queued]), [["SESSION_CLOSED", "unknown"], ["SESSION_CLOSED", "not-sent"]]);
  await closing;
  assertEquals(client.closes, 1);
});

Deno.test("PersistentMcpSession.close: what the client throws is not told, what the close callback throws is", async () => {
  const { session, client } = await held();
  client.onClose = () => Promise.reject(new Error("the server did"));
  await session.close();
  const mine = new Error("mine");
  const other = fromCallback(() => ({}), () => Promise.reject(mine));
  assertStrictEquals(await other.close().catch((error) => error), mine);
  assertEquals(await other.closed, { state: "closed", closeError: mine });
  const sync = fromCallback(() => ({}), () => {
    throw mine;
  });
  assertStrictEquals(await sync.close().catch((error) => error), mine);
});

Deno.test("PersistentMcpSession.close: a client and a close callback that never end are not waited for", async () => {
  using time = new FakeTime();
  let client!: HeldClient;
  class Factory extends HeldFactory {
    protected override createClient(): Promise<ToolClient> {
      client = this.client;
      client.onClose = () => new Promise(() => {});
      return Promise.resolve(client);
    }
  }
  const session = await new Factory({ closeTimeoutMs: 100 }).create(connection, null);
  const closing = session.close();
  await time.tickAsync(200);
  await closing;
  const endless = fromCallback(() => ({}), () => new Promise(() => {}));
  const closed = assertRejects(() => endless.close(), Error, "5000 ms");
  await time.tickAsync(5_000);
  await closed;
  assertEquals((await endless.closed).state, "closed");
});

Deno.test("7 PersistentMcpSession: the client's end rejects the running and queued calls at once, one cause for all", async () => {
  let closes = 0;
  const client = new HeldClient();
  const session = new PersistentMcpSession({ connection, auth: null, client, closeCallback: () => void closes++ });
  const calls = ["1", "2", "3"].map((tool) => failure(session.callTool(tool, {})));
  const cause = new McpRuntimeError("the server exited with code 3", { code: "SESSION_LOST" });
  client.end(cause);
  const errors = await Promise.all(calls);
  assertEquals(codes(errors), [["SESSION_LOST", "unknown"], ["SESSION_LOST", "not-sent"], [
    "SESSION_LOST",
    "not-sent",
  ]]);
  for (const error of errors) assertStrictEquals(error.withDelivery("not-sent"), errors[1]);
  assertEquals(session.state, "lost");
  assertEquals(codes([await failure(session.callTool("later", {}))]), [["SESSION_LOST", "not-sent"]]);
  await session.close();
  assertEquals(await session.closed, { state: "lost", reason: cause });
  assertEquals([closes, client.closes, client.tools], [1, 1, ["1"]]);
});

for (const how of ["resolves with nothing", "rejects with a foreign error"]) {
  Deno.test(`7 PersistentMcpSession: a client whose \`closed\` ${how} is a lost session`, async () => {
    const { session, client, call } = await held();
    const running = failure(call("1"));
    if (how.startsWith("resolves")) client.end();
    else client.fail(new Error("broken"));
    assertEquals(codes([await running]), [["SESSION_LOST", "unknown"]]);
    const { state, reason } = await session.closed;
    assertEquals(state, "lost");
    assertInstanceOf(reason, McpRuntimeError);
  });
}

Deno.test("7 PersistentMcpSession: a call that fails with SESSION_LOST loses the session; the queue is not sent", async () => {
  const { session, client, call } = await held();
  const [first, second] = [failure(call("1")), failure(call("2"))];
  client.calls[0].reject(new McpRuntimeError("unknown session", { code: "SESSION_LOST", delivery: "not-sent" }));
  assertEquals(codes([await first, await second]), [["SESSION_LOST", "not-sent"], ["SESSION_LOST", "not-sent"]]);
  assertEquals((await session.closed).state, "lost");
  assertEquals(client.tools, ["1"]);
});

Deno.test("P16 PersistentMcpSession: lost after the second silent timeout in a row", async () => {
  using time = new FakeTime();
  const { session, call } = await held({ timeoutMs: 100 });
  for (const expected of ["ready", "lost"]) {
    const timedOut = failure(call("never"));
    await time.tickAsync(100);
    assertEquals((await timedOut).code, "CALL_TIMEOUT");
    assertEquals(session.state, expected);
  }
  assertStringIncludes((await session.closed).reason!.message, "two calls in a row timed out");
});

Deno.test("P16 PersistentMcpSession: anything from the server between two timeouts keeps the session", async () => {
  using time = new FakeTime();
  const { session, client, call } = await held({ timeoutMs: 100 });
  for (let n = 0; n < 5; n++) {
    const timedOut = failure(call("never"));
    await time.tickAsync(100);
    await timedOut;
    client.received++;
  }
  assertEquals(session.state, "ready");
  await session.close();
});

Deno.test("PersistentMcpSession: a client that says nothing of what it receives is not given up for silence", async () => {
  using time = new FakeTime();
  await using session = fromCallback(() => new Promise(() => {}));
  for (let n = 0; n < 3; n++) {
    const timedOut = failure(session.callTool("never", {}, { timeoutMs: 100 }));
    await time.tickAsync(100);
    await timedOut;
  }
  assertEquals(session.state, "ready");
});

Deno.test("PersistentMcpSession.toJSON: id, state and counts, the same when inspected", async () => {
  const { session, client, call } = await held();
  const calls = [call("1"), call("2")];
  const shown = { connectionId: "echo.test", state: "ready", generation: 1, queued: 1, inFlight: 1 };
  assertEquals(JSON.parse(JSON.stringify(session)), shown);
  for (const [key, value] of Object.entries(shown)) {
    assertStringIncludes(Deno.inspect(session), `${key}: ${Deno.inspect(value)}`);
  }
  client.calls[0].resolve({ content: [] });
  await calls[0];
  client.calls[1].resolve({ content: [] });
  await calls[1];
  await session.close();
});

Deno.test("17 PersistentMcpSession: has no other MCP operation than the tool call", () => {
  assertEquals(Object.getOwnPropertyNames(PersistentMcpSession.prototype).sort(), [
    "auth",
    "callTool",
    "close",
    "closed",
    "connection",
    "constructor",
    "state",
    "toJSON",
  ]);
});
