import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimeError, McpTimeoutError, RpcError } from "../runtime/errors.ts";
import { McpClient } from "../runtime/mcp_client.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { openScripted, settle } from "./fakes/open_scripted.ts";

const OK = { content: [{ type: "text", text: "ok" }] };

Deno.test("client: ping is answered at once, whatever the kind of its id", async () => {
  const { client, transport } = await openScripted();
  for (const id of [0, 7, "", "p-1"]) transport.receive({ id, method: "ping" });
  await client.close();
  assertEquals(transport.sent.slice(2), [0, 7, "", "p-1"].map((id) => ({ jsonrpc: "2.0", id, result: {} }) as never));
});

Deno.test("client: every other request of the server is refused with -32601", async () => {
  const { client, transport } = await openScripted();
  const methods = ["sampling/createMessage", "roots/list", "elicitation/create", "tools/call", "nonsense"];
  methods.forEach((method, id) => transport.receive({ id, method, params: {} }));
  transport.receive({ method: "notifications/message", params: { data: "is no request" } });
  await client.close();
  assertEquals(transport.sent.slice(2).map(({ id, error }) => [id, error?.code]), methods.map((_, id) => [id, -32601]));
});

Deno.test("client: a server that asks but never reads makes nothing grow: at most 100 replies wait", async () => {
  const { client, transport } = await openScripted();
  let replies = 0;
  transport.send = () => {
    replies++;
    return new Promise(() => {});
  };
  for (let id = 0; id < 1_000; id++) transport.receive({ id, method: "ping" });
  assertEquals(replies, 100);
  await client.close();
});

Deno.test("client: a call carries name, arguments, the caller's meta and a progress token of our own", async () => {
  const { client, transport } = await openScripted();
  const call = client.callTool("add", { a: 1 }, { meta: { traceparent: "00-1", progressToken: "mine" } });
  const [request] = transport.of("tools/call");
  assertEquals(request.params, {
    name: "add",
    arguments: { a: 1 },
    _meta: { traceparent: "00-1", progressToken: request.id },
  });
  transport.receive({ id: request.id, result: OK });
  assertEquals(await call, OK);
  await client.close();
});

Deno.test("client: answers may come in any order and may carry the id as text", async () => {
  const { client, transport } = await openScripted();
  const calls = ["a", "b", "c"].map((name) => client.callTool(name, {}));
  const ids = transport.of("tools/call").map(({ id }) => id!);
  transport.receive({ id: ids[2], result: { c: 3 } });
  transport.receive({ id: String(ids[0]), result: { a: 1 } });
  transport.receive({ id: ids[1], result: { b: 2 } });
  assertEquals(await Promise.all(calls), [{ a: 1 }, { b: 2 }, { c: 3 }]);
  await client.close();
});

Deno.test("client: a second answer, an answer to nothing and one with a strange id settle nothing", async () => {
  const { client, transport } = await openScripted();
  const call = client.callTool("once", {});
  const [{ id }] = transport.of("tools/call");
  for (const strange of [99, "x", null, undefined]) transport.receive({ id: strange, result: { wrong: true } });
  transport.receive({ id, result: { first: true } });
  transport.receive({ id, error: { code: -1, message: "second" } });
  assertEquals(await call, { first: true });
  await client.close();
});

for (const onProgress of [undefined, () => {}]) {
  const how = onProgress ? "with" : "without";
  Deno.test(`P8 client: progress restarts the silence, ${how} onProgress`, async () => {
    using time = new FakeTime();
    const { client, transport } = await openScripted();
    const call = client.callTool("slow", {}, { timeoutMs: 1_000, ...(onProgress ? { onProgress } : {}) });
    const [{ id }] = transport.of("tools/call");
    for (let progress = 1; progress <= 6; progress++) {
      await time.tickAsync(500);
      transport.receive({ method: "notifications/progress", params: { progressToken: id, progress } });
    }
    transport.receive({ id, result: OK });
    assertEquals(await call, OK);
    await client.close();
  });

  Deno.test(`P8 client: maxTotalTimeoutMs ends the call whatever progress says, ${how} onProgress`, async () => {
    using time = new FakeTime();
    const { client, transport } = await openScripted();
    const options = { timeoutMs: 1_000, maxTotalTimeoutMs: 2_000, ...(onProgress ? { onProgress } : {}) };
    const call = assertRejects(() => client.callTool("slow", {}, options), McpTimeoutError);
    const [{ id }] = transport.of("tools/call");
    for (let progress = 1; progress <= 4; progress++) {
      await time.tickAsync(500);
      transport.receive({ method: "notifications/progress", params: { progressToken: id, progress } });
    }
    const error = await call;
    assertEquals([error.code, error.delivery, error.elapsedMs, error.limitMs], [
      "CALL_TIMEOUT",
      "unknown",
      2_000,
      2_000,
    ]);
    const next = client.callTool("next", {});
    transport.receive({ id: transport.of("tools/call")[1].id, result: OK });
    assertEquals(await next, OK);
    await client.close();
  });
}

Deno.test("client: progress is passed on as it is, misshapen progress is not, and a listener's throw harms nothing", async () => {
  const { client, transport } = await openScripted();
  const seen: unknown[] = [];
  const call = client.callTool("slow", {}, {
    onProgress: (progress) => {
      seen.push(progress);
      throw new Error("the listener's own");
    },
  });
  const [{ id: progressToken }] = transport.of("tools/call");
  const progress = (params: unknown) => transport.receive({ method: "notifications/progress", params });
  progress({ progressToken, progress: 1 });
  progress({ progressToken, progress: 2, total: 4, message: "half" });
  progress({ progressToken, progress: 3, total: "4", message: 5 });
  progress({ progressToken, progress: "4" });
  progress({ progressToken: 999, progress: 5 });
  progress(undefined);
  progress([]);
  transport.receive({ id: progressToken, result: OK });
  await call;
  progress({ progressToken, progress: 6 });
  assertEquals(seen, [{ progress: 1 }, { progress: 2, total: 4, message: "half" }, { progress: 3 }]);
  await client.close();
});

Deno.test("P9 client: an aborted call rejects with the reason as it is, and the server is told once", async () => {
  const { client, transport } = await openScripted();
  const controller = new AbortController();
  const reason = { any: "value" };
  const outcome = client.callTool("slow", {}, { signal: controller.signal }).catch((error) => error);
  const [{ id }] = transport.of("tools/call");
  controller.abort(reason);
  assertStrictEquals(await outcome, reason);
  transport.receive({ id, result: OK });
  const cancellations = transport.of("notifications/cancelled");
  assertEquals(cancellations.map(({ params }) => params), [{
    requestId: id,
    reason: "the client gave the call up",
  }]);
  assertEquals(transport.cancelled, [id!]);
  await client.close();
});

Deno.test("P9 client: a timed out call is CALL_TIMEOUT, the server is told once, the late answer settles nothing", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted();
  const call = assertRejects(() => client.callTool("slow", {}, { timeoutMs: 300 }), McpTimeoutError);
  const [{ id }] = transport.of("tools/call");
  await time.tickAsync(299);
  assertEquals(transport.of("notifications/cancelled").length, 0);
  await time.tickAsync(1);
  const error = await call;
  assertEquals([error.code, error.delivery, error.limitMs], ["CALL_TIMEOUT", "unknown", 300]);
  assertStringIncludes(error.message, 'call of tool "slow" of connection "scripted.test"');
  transport.receive({ id, result: OK });
  transport.receive({ id, error: { code: 1, message: "late" } });
  await time.tickAsync(10_000);
  assertEquals(transport.of("notifications/cancelled").length, 1);
  await client.close();
});

Deno.test("P9 client: abort and timeout of a call that was not written: no cancellation, not sent", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted({ stalled: true });
  const timedOut = assertRejects(() => client.callTool("a", {}, { timeoutMs: 100 }), McpTimeoutError);
  const controller = new AbortController();
  const aborted = client.callTool("b", {}, { signal: controller.signal }).catch((error) => error);
  const reason = new Error("left");
  controller.abort(reason);
  await time.tickAsync(100);
  assertEquals((await timedOut).delivery, "not-sent");
  assertStrictEquals(await aborted, reason);
  assertEquals(transport.of("notifications/cancelled"), []);
  assertEquals(transport.cancelled, [2, 1]);
  await client.close();
});

const ODD_ERRORS: [error: unknown, said: string][] = [
  [{ code: `key-of-the-scripted ${"x".repeat(9_000)}`, message: "no" }, `error [redacted] ${"x".repeat(29)}…: no`],
  [{ code: { a: 1 }, message: { why: "key-of-the-scripted" } }, 'error {"a":1}: {"why":"[redacted]"}'],
  ["no key-of-the-scripted", "error without a code: no [redacted]"],
  [null, "error without a code: null"],
  [{}, "error without a code: "],
];
for (const [error, said] of ODD_ERRORS) {
  Deno.test(`client: an error of an odd shape is told bounded and without secrets: ${said.slice(0, 40)}`, async () => {
    const { client, transport } = await openScripted();
    const call = assertRejects(() => client.callTool("a", {}), RpcError);
    transport.receive({ id: 1, error });
    const { message, rpcCode, delivery } = await call;
    assertStringIncludes(message, said);
    assertEquals([rpcCode, delivery], [0, "answered"]);
    await client.close();
  });
}

Deno.test("client: a signal that is aborted already sends nothing", async () => {
  const { client, transport } = await openScripted();
  const reason = new Error("before");
  const outcome = await client.callTool("a", {}, { signal: AbortSignal.abort(reason) }).catch((error) => error);
  assertStrictEquals(outcome, reason);
  assertEquals(transport.of("tools/call"), []);
  await client.close();
});

Deno.test("P10 client: one signal for 1,000 calls: no listener stays, and aborting it later sends nothing", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted();
  const { signal, abort, listeners } = countingSignal();
  let most = 0;
  for (let n = 0; n < 1_000; n++) {
    const call = client.callTool("a", {}, { signal, timeoutMs: 10 });
    most = Math.max(most, listeners());
    const { id } = transport.of("tools/call").at(-1)!;
    // Each way a call can end.
    if (n % 4 === 0) transport.receive({ id, result: OK });
    else if (n % 4 === 1) transport.receive({ id, error: { code: 1, message: "no" } });
    else if (n % 4 === 2) transport.onrequesterror!(id, new McpRuntimeError("big", { code: "MESSAGE_TOO_LARGE" }));
    else if (n % 100 === 3) await time.tickAsync(10);
    else transport.receive({ id, result: OK });
    await call.catch(() => {});
  }
  assertEquals([most, listeners()], [1, 0]);
  const sent = transport.sent.length;
  abort();
  assertEquals(transport.sent.length, sent);
  await client.close();
});

Deno.test("client: a call that is told not sent as its session is given up is taken out of the transport at once", async () => {
  const { client, transport } = await openScripted();
  const sent = client.callTool("sent", {}).catch((error) => error);
  transport.stalled = true;
  const unsent = client.callTool("unsent", {}).catch((error) => error);
  assertInstanceOf(client, McpClient);
  client.abandon(new McpRuntimeError("aborted", { code: "SESSION_CLOSED" }));
  assertEquals(transport.cancelled, [2]);
  assertEquals([(await sent).delivery, (await unsent).delivery], ["unknown", "not-sent"]);
  await client.close();
});

Deno.test("client: when the transport ends, sent calls may have run, unsent ones did not, later ones neither", async () => {
  const { client, transport } = await openScripted();
  const sent = assertRejects(() => client.callTool("sent", {}), McpRuntimeError);
  transport.stalled = true;
  const unsent = assertRejects(() => client.callTool("unsent", {}), McpRuntimeError);
  const lost = new McpRuntimeError("the server exited with code 3", { code: "SESSION_LOST" });
  transport.end(lost);
  const errors = [await sent, await unsent, await assertRejects(() => client.callTool("later", {}), McpRuntimeError)];
  assertEquals(errors.map(({ code, delivery }) => [code, delivery]), [
    ["SESSION_LOST", "unknown"],
    ["SESSION_LOST", "not-sent"],
    ["SESSION_LOST", "not-sent"],
  ]);
  for (const error of errors) assertEquals(error.message, "the server exited with code 3");
  assertStrictEquals(await client.closed, lost);
  await client.close();
});

Deno.test("client: a transport that ends without a word is a lost session", async () => {
  const { client, transport } = await openScripted();
  const call = assertRejects(() => client.callTool("a", {}), McpRuntimeError);
  transport.end();
  const error = await call;
  assertEquals([error.code, error.delivery, error.connectionId], ["SESSION_LOST", "unknown", "scripted.test"]);
  assertInstanceOf(await client.closed, McpRuntimeError);
});

Deno.test("client.close: idempotent, rejects what runs, and later calls are refused as not sent", async () => {
  const { client, transport } = await openScripted();
  const call = assertRejects(() => client.callTool("a", {}), McpRuntimeError);
  await Promise.all([client.close(), client.close()]);
  await client[Symbol.asyncDispose]();
  assertEquals(transport.closed, 1);
  assertEquals(await client.closed, undefined);
  const errors = [await call, await assertRejects(() => client.callTool("b", {}), McpRuntimeError)];
  assertEquals(errors.map(({ code, delivery }) => [code, delivery]), [
    ["SESSION_CLOSED", "unknown"],
    ["SESSION_CLOSED", "not-sent"],
  ]);
});

Deno.test("client: an answer that is too large fails its call and no other", async () => {
  const { client, transport } = await openScripted();
  const tooLarge = new McpRuntimeError("too large", { code: "MESSAGE_TOO_LARGE", delivery: "unknown" });
  const first = assertRejects(() => client.callTool("first", {}), McpRuntimeError);
  const second = client.callTool("second", {});
  const [{ id: firstId }, { id: secondId }] = transport.of("tools/call");
  // Without an id, and two calls in flight, nobody can say whose it was.
  transport.onrequesterror!(undefined, tooLarge);
  transport.onrequesterror!(firstId, tooLarge);
  assertStrictEquals(await first, tooLarge);
  transport.receive({ id: secondId, result: OK });
  assertEquals(await second, OK);
  const third = assertRejects(() => client.callTool("third", {}), McpRuntimeError);
  transport.onrequesterror!(undefined, tooLarge);
  assertStrictEquals(await third, tooLarge);
  await client.close();
});

Deno.test("client: a JSON-RPC error is RpcError, answered, with code and data, bounded and without secrets", async () => {
  const { client, transport } = await openScripted();
  const call = assertRejects(() => client.callTool("a", {}), RpcError);
  const message = `no key-of-the-scripted here\n${"x".repeat(10_000)}`;
  transport.receive({
    id: transport.of("tools/call")[0].id,
    error: { code: -32602, message, data: { key: "key-of-the-scripted", field: "a" } },
  });
  const error = await call;
  assertEquals([error.code, error.delivery, error.rpcCode], ["PROTOCOL_ERROR", "answered", -32602]);
  assertEquals(error.data, { key: "[redacted]", field: "a" });
  assert(!error.message.includes("key-of-the-scripted") && error.message.length < 700, error.message);
  await client.close();
});

for (const error of [undefined, null, "text", {}, { code: "x" }, { message: 5 }]) {
  Deno.test(`client: an error object of any shape settles its call: ${JSON.stringify(error)}`, async () => {
    const { client, transport } = await openScripted();
    const call = assertRejects(() => client.callTool("a", {}), RpcError);
    transport.receive({ id: transport.of("tools/call")[0].id, error });
    assertEquals((await call).delivery, "answered");
    await client.close();
  });
}

Deno.test("client: a send that fails rejects its call: our error as it is, a foreign one as SESSION_LOST", async () => {
  const { client, transport } = await openScripted();
  const own = new McpRuntimeError("not authorized", { code: "AUTH_REJECTED" });
  transport.refuse = own;
  assertStrictEquals(await client.callTool("a", {}).catch((error) => error), own);
  transport.refuse = new TypeError("broken by key-of-the-scripted");
  const foreign = await assertRejects(() => client.callTool("b", {}), McpRuntimeError);
  assertEquals([foreign.code, foreign.delivery], ["SESSION_LOST", "not-sent"]);
  assertStringIncludes(foreign.message, "broken by [redacted]");
  await client.close();
});

Deno.test("client: a transport that throws or answers within send settles its call, and nothing of it is left", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted();
  const { signal, listeners } = countingSignal();
  const kept: boolean[] = [];
  Object.assign(transport, { ref: () => kept.push(true), unref: () => kept.push(false) });
  transport.send = () => {
    throw new TypeError("broken");
  };
  const error = await assertRejects(() => client.callTool("a", {}, { signal }), McpRuntimeError);
  assertEquals([error.code, error.delivery], ["SESSION_LOST", "not-sent"]);
  transport.send = (message) => {
    if ("id" in message) transport.receive({ id: message.id, result: OK });
    return Promise.resolve();
  };
  assertEquals(await client.callTool("a", {}, { signal }), OK);
  await time.tickAsync(100);
  assertEquals([kept.at(-1), listeners()], [false, 0]);
  await client.close();
});

Deno.test("P19 client: what JSON cannot carry is refused before anything is sent, naming the path", async () => {
  const { client, transport } = await openScripted();
  const cycle: Record<string, unknown> = {};
  cycle.self = { cycle };
  const bad: [unknown, string][] = [
    [{ f: () => {} }, "payload.f is a function"],
    [{ a: { when: new Date(0) } }, "payload.a.when is a Date"],
    [{ n: [1, 2n] }, "payload.n[1] is a bigint"],
    [{ n: NaN }, "payload.n is NaN"],
    [{ m: new Map() }, "payload.m is a Map"],
    [cycle, "payload.self.cycle contains itself"],
    [[], "payload must be an object"],
    [null, "payload must be an object"],
    ["text", "payload must be an object"],
  ];
  for (const [payload, message] of bad) {
    const error = await assertRejects(() => client.callTool("a", payload as Record<string, unknown>), McpRuntimeError);
    assertEquals([error.code, error.delivery], ["INPUT_INVALID", "not-sent"]);
    assertStringIncludes(error.message, message);
  }
  const meta = await assertRejects(() => client.callTool("a", {}, { meta: { f: 1n } }), McpRuntimeError);
  assertStringIncludes(meta.message, "options.meta.f");
  for (const name of ["", undefined, 5]) {
    const error = await assertRejects(() => client.callTool(name as string, {}), McpRuntimeError);
    assertStringIncludes(error.message, "toolName");
  }
  for (const timeoutMs of [NaN, -1, "5"]) {
    const options = { timeoutMs: timeoutMs as number };
    assertEquals((await assertRejects(() => client.callTool("a", {}, options), McpRuntimeError)).code, "INPUT_INVALID");
  }
  assertEquals(transport.of("tools/call"), []);
  await client.close();
});

Deno.test("P19 client: an own __proto__ key is data", async () => {
  const { client, transport } = await openScripted();
  const payload = JSON.parse('{"__proto__": {"admin": true}, "a": 1}');
  const call = client.callTool("a", payload);
  const [{ id, params }] = transport.of("tools/call");
  assertEquals(JSON.stringify(params!.arguments), '{"__proto__":{"admin":true},"a":1}');
  assertEquals(({} as { admin?: boolean }).admin, undefined);
  transport.receive({ id, result: OK });
  await call;
  await client.close();
});

Deno.test("client: 0 and Infinity turn the limits of a call off", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted({}, { timeoutMs: 10, maxTotalTimeoutMs: 20 });
  const calls = [0, Infinity].map((limit) => client.callTool("a", {}, { timeoutMs: limit, maxTotalTimeoutMs: limit }));
  await time.tickAsync(10_000_000);
  for (const { id } of transport.of("tools/call")) transport.receive({ id, result: OK });
  assertEquals(await Promise.all(calls), [OK, OK]);
  const limited = assertRejects(() => client.callTool("a", {}), McpTimeoutError);
  await time.tickAsync(10);
  assertEquals((await limited).limitMs, 10);
  await client.close();
});

Deno.test("client: the transport keeps the program alive while a call is in flight, and not for long after", async () => {
  using time = new FakeTime();
  const { client, transport } = await openScripted();
  const seen: string[] = [];
  Object.assign(transport, { ref: () => seen.push("ref"), unref: () => seen.push("unref") });
  for (let n = 0; n < 3; n++) {
    const call = client.callTool("a", {});
    transport.receive({ id: transport.of("tools/call").at(-1)!.id, result: OK });
    await call;
  }
  await time.tickAsync(1_000);
  assertEquals(seen, ["unref"]);
  const call = client.callTool("a", {});
  assertEquals(seen, ["unref", "ref"]);
  await time.tickAsync(1_000);
  assertEquals(seen, ["unref", "ref"]);
  transport.receive({ id: transport.of("tools/call").at(-1)!.id, result: OK });
  await call;
  await client.close();
});

Deno.test("client: a listener may call and close from within an answer", async () => {
  const { client, transport } = await openScripted();
  const call = client.callTool("a", {}, { onProgress: () => void client.close() });
  const outcome = call.catch((error) => error.code);
  const [{ id }] = transport.of("tools/call");
  transport.receive({ method: "notifications/progress", params: { progressToken: id, progress: 1 } });
  transport.receive({ id, result: OK });
  assertEquals(await outcome, "SESSION_CLOSED");
  await settle();
  assertEquals(transport.closed, 1);
});
