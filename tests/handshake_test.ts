import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import config from "../deno.json" with { type: "json" };
import { openMcpSession } from "../runtime/client.ts";
import { McpRuntimeError, McpTimeoutError, type RpcError } from "../runtime/errors.ts";
import { DEFAULT_CLIENT_INFO, PROTOCOL_VERSIONS } from "../runtime/handshake.ts";
import type { McpTransport } from "../runtime/transport/message.ts";
import { countingSignal } from "./fakes/counting_signal.ts";
import { openScripted, scripted, settle } from "./fakes/open_scripted.ts";
import { ScriptedTransport, type ScriptOptions } from "./fakes/scripted_transport.ts";

/** The failure of an opening; the transport must have been closed by then. */
async function failedOpening(script: ScriptOptions, options = {}): Promise<McpRuntimeError> {
  const transport = new ScriptedTransport(script);
  const opening = openMcpSession(scripted, null, { createTransport: () => transport, ...options });
  const error = await assertRejects(() => opening, McpRuntimeError);
  assertEquals(transport.closed, 1);
  return error;
}

Deno.test("openMcpSession: initialize, then notifications/initialized, and the transport is told the revision", async () => {
  const transport = new ScriptedTransport();
  const versions: string[] = [];
  Object.assign(transport, { setProtocolVersion: (version: string) => versions.push(version) });
  const client = await openMcpSession(scripted, null, { createTransport: () => transport });
  assertEquals(transport.sent.map(({ method, params }) => ({ method, params })), [
    {
      method: "initialize",
      params: { protocolVersion: PROTOCOL_VERSIONS[0], capabilities: {}, clientInfo: { ...DEFAULT_CLIENT_INFO } },
    },
    { method: "notifications/initialized", params: undefined },
  ]);
  assertEquals([versions, client.protocolVersion], [[PROTOCOL_VERSIONS[0]], PROTOCOL_VERSIONS[0]]);
  await client.close();
});

Deno.test("openMcpSession: clientInfo is sent; the default's name and version are those of deno.json", async () => {
  const clientInfo = { name: "service", version: "7" };
  const { client, transport } = await openScripted({}, { clientInfo });
  assertEquals(transport.sent[0].params!.clientInfo, clientInfo);
  await client.close();
  assertEquals({ ...DEFAULT_CLIENT_INFO }, { name: config.name, version: config.version });
});

for (const protocolVersion of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"]) {
  Deno.test(`openMcpSession: the revision ${protocolVersion} is accepted`, async () => {
    assert(PROTOCOL_VERSIONS.includes(protocolVersion));
    const { client } = await openScripted({ initialize: { result: { protocolVersion } } });
    assertEquals(client.protocolVersion, protocolVersion);
    await client.close();
  });
}

for (const result of [{ protocolVersion: "1999-01-01" }, { protocolVersion: 5 }, {}, [], null, "text", undefined]) {
  Deno.test(`openMcpSession: a revision that is not spoken here is UNSUPPORTED: ${JSON.stringify(result)}`, async () => {
    const error = await failedOpening({ initialize: { result } });
    assertEquals([error.code, error.delivery, error.connectionId], ["UNSUPPORTED", "not-sent", "scripted.test"]);
    assertStringIncludes(error.message, "2025-11-25");
  });
}

Deno.test("openMcpSession: an initialize that is refused is OPEN_FAILED with the server's words, no secret", async () => {
  const error = await failedOpening({
    initialize: { error: { code: -32000, message: "licence key-of-the-scripted expired" } },
  });
  assertEquals([error.code, error.delivery, (error as RpcError).rpcCode], ["OPEN_FAILED", "not-sent", -32000]);
  assertStringIncludes(error.message, "licence [redacted] expired");
});

Deno.test("S2 openMcpSession: a server that never answers initialize fails at connectTimeoutMs", async () => {
  using time = new FakeTime();
  const transport = new ScriptedTransport({ initialize: "nothing" });
  Object.assign(transport, { hint: () => "its stderr ends with: waiting" });
  const opening = assertRejects(
    () => openMcpSession(scripted, null, { createTransport: () => transport, connectTimeoutMs: 500 }),
    McpTimeoutError,
  );
  await time.tickAsync(499);
  assertEquals(transport.closed, 0);
  await time.tickAsync(1);
  const error = await opening;
  assertEquals([error.code, error.delivery, error.limitMs, transport.closed], ["OPEN_FAILED", "not-sent", 500, 1]);
  assertStringIncludes(error.message, "its stderr ends with: waiting");
  assertEquals(time.next(), false, "a timer is left");
});

Deno.test("openMcpSession: a good opening leaves no timer and no listener", async () => {
  using time = new FakeTime();
  const { signal, listeners } = countingSignal();
  const { client } = await openScripted({}, { signal });
  assertEquals(listeners(), 0);
  await client.close();
  assertEquals(time.next(), false, "a timer is left");
});

Deno.test("openMcpSession: an abort while opening rejects with the reason as it is, after the transport has ended", async () => {
  const transport = new ScriptedTransport({ initialize: "nothing" });
  let release!: () => void;
  const ended = new Promise<void>((resolve) => release = resolve);
  let closing = false;
  transport.close = () => {
    closing = true;
    return ended;
  };
  const controller = new AbortController();
  let settled = false;
  const opening = openMcpSession(scripted, null, { createTransport: () => transport, signal: controller.signal })
    .catch((error) => error).finally(() => settled = true);
  await settle();
  const reason = { any: "value" };
  controller.abort(reason);
  await settle();
  assertEquals([closing, settled], [true, false]);
  release();
  assertStrictEquals(await opening, reason);
});

Deno.test("openMcpSession: a signal that is aborted already rejects with its reason before any I/O", async () => {
  const reason = new Error("before");
  const transport = new ScriptedTransport();
  const options = { createTransport: () => transport, signal: AbortSignal.abort(reason) };
  assertStrictEquals(await openMcpSession(scripted, null, options).catch((error) => error), reason);
  assertEquals(transport.started, 0);
});

Deno.test("openMcpSession: a start that fails with a foreign error is OPEN_FAILED with a clean cause", async () => {
  const transport = new ScriptedTransport();
  transport.start = () => Promise.reject(new TypeError("bad value key-of-the-scripted"));
  const error = await assertRejects(
    () => openMcpSession(scripted, null, { createTransport: () => transport }),
    McpRuntimeError,
  );
  assertEquals([error.code, error.delivery, transport.closed], ["OPEN_FAILED", "not-sent", 1]);
  assertStringIncludes(error.message, "bad value [redacted]");
  assertEquals(String(error.cause), "TypeError: bad value [redacted]");
});

Deno.test("openMcpSession: a transport that ends during the handshake is OPEN_FAILED with its reason", async () => {
  const transport = new ScriptedTransport({ initialize: "nothing" });
  const opening = assertRejects(
    () => openMcpSession(scripted, null, { createTransport: () => transport }),
    McpRuntimeError,
  );
  await settle();
  transport.end(new McpRuntimeError("the server exited with code 3", { code: "SESSION_LOST" }));
  const error = await opening;
  assertEquals([error.code, error.delivery], ["OPEN_FAILED", "not-sent"]);
  assertStringIncludes(error.message, "the server exited with code 3");
});

Deno.test("openMcpSession: AUTH_REJECTED of an opening is told as it is", async () => {
  const transport = new ScriptedTransport();
  transport.refuse = new McpRuntimeError("status 401", { code: "AUTH_REJECTED" });
  const opening = openMcpSession(scripted, null, { createTransport: () => transport });
  assertEquals((await assertRejects(() => opening, McpRuntimeError)).code, "AUTH_REJECTED");
});

Deno.test("openMcpSession: bad input is refused before a transport is made", async () => {
  const createTransport = (): McpTransport => {
    throw new Error("must not be called");
  };
  const codeOf = async (connection: unknown, options = {}) => {
    const opening = openMcpSession(connection as typeof scripted, null, { createTransport, ...options });
    return (await assertRejects(() => opening, McpRuntimeError)).code;
  };
  assertEquals(await codeOf({ ...scripted, id: "wrong" }), "CONNECTION_INVALID");
  assertEquals(await codeOf({ ...scripted, transport: null }), "NO_TRANSPORT");
  assertEquals(await codeOf(scripted, { connectTimeoutMs: NaN }), "INPUT_INVALID");
});
