import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { McpRuntimePool, PersistentSessionFactory, type RuntimeTelemetry } from "../mod.ts";
import { openTelemetry, type OpenTelemetryOptions } from "../runtime/telemetry.ts";
import { FakeMcpServer, FakeRpcError } from "../runtime/testing.ts";

/** The SDK, registered for one test. */
function sdk() {
  const exporter = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  metrics.setGlobalMeterProvider(meterProvider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return {
    spans: (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name),
    async metric(name: string) {
      await meterProvider.forceFlush();
      const all = measured.getMetrics().at(-1)?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return all.find(({ descriptor }) => descriptor.name === name);
    },
    async [Symbol.asyncDispose]() {
      await meterProvider.shutdown();
      for (const api of [trace, metrics, context, propagation]) api.disable();
    },
  };
}

function serverOf() {
  return new FakeMcpServer({
    tools: {
      echo: ({ text }) => ({ echoed: text }),
      broken: () => {
        throw new Error("disk full");
      },
      refuses: () => {
        throw new FakeRpcError(-32602, "bad argument");
      },
    },
  });
}

function poolOf(server: FakeMcpServer, options?: OpenTelemetryOptions) {
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
  return new McpRuntimePool(factory, { telemetry: openTelemetry(options) });
}

Deno.test("openTelemetry: a call of a pool is one client span with the attributes of the conventions", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", { text: "hi" });
  const [span, ...others] = otel.spans("tools/call echo");
  assertEquals([others.length, span.kind, span.status.code], [0, SpanKind.CLIENT, SpanStatusCode.UNSET]);
  const { "wf.mcp.queued_ms": queuedMs, ...attributes } = span.attributes;
  assert(Number(queuedMs) >= 0);
  assertEquals(attributes, {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "echo",
    "jsonrpc.request.id": "1",
    "mcp.protocol.version": "2025-11-25",
    "network.transport": "pipe",
    "wf.mcp.attempts": 1,
    "wf.mcp.connection.id": "fake.test",
    "wf.mcp.provider": "fake",
    "wf.mcp.session.generation": 1,
    "wf.mcp.session.reused": false,
  });
});

Deno.test("openTelemetry: the opening is a child of the call that needs it; a later call reuses the session", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  for (let i = 0; i < 2; i++) await pool.callTool(server.connection, null, "echo", {});
  const [first, second] = otel.spans("tools/call echo");
  const [opening, ...others] = otel.spans("initialize");
  assertEquals(others.length, 0);
  assertEquals(opening.parentSpanContext?.spanId, first.spanContext().spanId);
  assertEquals(first.links[0].context.spanId, opening.spanContext().spanId);
  assertEquals(second.attributes["wf.mcp.session.reused"], true);
});

Deno.test("openTelemetry: the request carries the span's trace context, and the caller's own is its parent", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await pool.callTool(server.connection, null, "echo", {}, { meta: { traceparent, mine: 1 } });
  const [span] = otel.spans("tools/call echo");
  assertEquals(span.parentSpanContext?.spanId, "00f067aa0ba902b7");
  const { spanId, traceId } = span.spanContext();
  assertEquals(server.calls[0].meta, { mine: 1, progressToken: 1, traceparent: `00-${traceId}-${spanId}-01` });
});

Deno.test("openTelemetry: error.type tells a tool's failure, a JSON-RPC error and a failure of ours apart", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "broken", {});
  await assertRejects(() => pool.callTool(server.connection, null, "refuses", {}));
  await pool.closeAll();
  await assertRejects(() => pool.callTool(server.connection, null, "echo", {}));
  const seen = ["broken", "refuses", "echo"].map((tool) => {
    const { attributes, status } = otel.spans(`tools/call ${tool}`)[0];
    return [attributes["error.type"], attributes["rpc.response.status_code"], status.code];
  });
  assertEquals(seen, [
    ["tool_error", undefined, SpanStatusCode.ERROR],
    ["-32602", "-32602", SpanStatusCode.ERROR],
    ["POOL_CLOSED", undefined, SpanStatusCode.ERROR],
  ]);
});

Deno.test("openTelemetry: a call that is sent again is one span, with an event for it", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", {});
  server.forgetSessions();
  await pool.callTool(server.connection, null, "echo", {});
  const [, span, ...others] = otel.spans("tools/call echo");
  assertEquals([others.length, span.attributes["wf.mcp.attempts"]], [0, 2]);
  assertEquals(span.events.map((event) => event.name), ["wf.mcp.resend"]);
});

Deno.test("openTelemetry: pool and factory with telemetry make no span twice, and a factory alone makes them", async () => {
  await using otel = sdk();
  const server = serverOf();
  const telemetry = openTelemetry();
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport, telemetry });
  await using pool = new McpRuntimePool((...all) => factory.create(...all), { telemetry });
  await pool.callTool(server.connection, null, "echo", {});
  assertEquals([otel.spans("initialize").length, otel.spans("tools/call echo").length], [1, 1]);
  await using session = await factory.create(server.connection, null);
  await session.callTool("echo", {});
  assertEquals([otel.spans("initialize").length, otel.spans("tools/call echo").length], [2, 2]);
});

Deno.test("openTelemetry: arguments and results only by opt-in, known secrets removed", async () => {
  await using otel = sdk();
  const server = serverOf();
  const auth = { connectionId: "fake.test", scheme: "token", payload: { token: "s3cret-token" } };
  await using closed = poolOf(server);
  await closed.callTool(server.connection, auth, "echo", { text: "private" });
  await using open = poolOf(server, { recordArguments: true, recordResults: true });
  await open.callTool(server.connection, auth, "echo", { text: "s3cret-token" });
  const [without, recorded] = otel.spans("tools/call echo");
  assert(!JSON.stringify(without.attributes).includes("private"));
  assertEquals(recorded.attributes["gen_ai.tool.call.arguments"], '{"text":"[redacted]"}');
  assertEquals(recorded.attributes["gen_ai.tool.call.result"], '{"echoed":"[redacted]"}');
});

Deno.test("openTelemetry: both histograms have the advised buckets and a point for each outcome", async () => {
  await using otel = sdk();
  const server = serverOf();
  const pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", {});
  await pool.closeAll();
  const operation = await otel.metric("mcp.client.operation.duration");
  const methods = operation?.dataPoints.map(({ attributes }) => attributes["mcp.method.name"]).sort();
  assertEquals(methods, ["initialize", "tools/call"]);
  const session = await otel.metric("mcp.client.session.duration");
  assertEquals(session?.dataPoints.length, 1);
  const { boundaries } = (session?.dataPoints[0].value as { buckets: { boundaries: number[] } }).buckets;
  assertEquals(boundaries, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
});

Deno.test("openTelemetry: an HTTP server is named by host and port, its session by the start of its id", async () => {
  await using otel = sdk();
  const telemetry = openTelemetry();
  const connection = {
    id: "web.main",
    provider: "web",
    account: "main",
    transport: { kind: "http" as const, url: "https://user:s3cret-word@tools.example/mcp?key=s3cret-key" },
  };
  const call = telemetry.call({ connection, toolName: "echo", payload: {}, redact: (text) => text })!;
  call.started({ generation: 1, sessionId: "8267461…" });
  call.settled({ outcome: "ok", output: {}, meta: {}, content: [] });
  const { attributes } = otel.spans("tools/call echo")[0];
  const names = ["network.transport", "server.address", "server.port", "mcp.session.id"];
  assertEquals(names.map((name) => attributes[name]), ["tcp", "tools.example", 443, "8267461…"]);
  assert(!JSON.stringify(attributes).includes("s3cret"));
});

Deno.test("openTelemetry: a session that was lost says why in its duration", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", {});
  const session = await pool.getSession(server.connection, null);
  server.crash();
  await session.closed;
  const metric = await otel.metric("mcp.client.session.duration");
  assertEquals(metric?.dataPoints.map(({ attributes }) => attributes["error.type"]), ["SESSION_LOST"]);
});

Deno.test("openTelemetry: a call that its caller gave up is ABORTED, without the caller's reason", async () => {
  await using otel = sdk();
  const server = serverOf();
  await using pool = poolOf(server);
  const signal = AbortSignal.abort(new Error("private"));
  await assertRejects(() => pool.callTool(server.connection, null, "echo", {}, { signal }));
  const { attributes, status } = otel.spans("tools/call echo")[0];
  assertEquals([attributes["error.type"], status], ["ABORTED", { code: SpanStatusCode.ERROR }]);
});

Deno.test("openTelemetry: without an SDK nothing is followed and nothing is put into the request", async () => {
  const server = serverOf();
  await using pool = poolOf(server);
  await pool.callTool(server.connection, null, "echo", {});
  assertEquals(server.calls[0].meta, { progressToken: 1 });
});

Deno.test("RuntimeTelemetry: one that throws everywhere harms no call", async () => {
  const boom = () => {
    throw new Error("telemetry");
  };
  const all = { run: boom, request: boom, failed: boom, opened: boom, ended: boom, started: boom, settled: boom };
  const rejecting: RuntimeTelemetry = {
    opening: () => all,
    call: () => ({ ...all, settled: () => Promise.reject(new Error("late")) }),
  };
  for (const telemetry of [{ opening: boom, call: boom } as RuntimeTelemetry, rejecting]) {
    const server = serverOf();
    const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
    await using pool = new McpRuntimePool(factory, { telemetry });
    const { output } = await pool.callTool(server.connection, null, "echo", { text: "hi" });
    assertEquals([output, server.calls.length], [{ echoed: "hi" }, 1]);
  }
});

Deno.test("RuntimeEvent, McpRuntimeError: printed for people they are useful and show no secret", async () => {
  const events: unknown[] = [];
  const server = serverOf();
  server.refuseOpenings = "no entry for s3cret-token";
  const auth = { connectionId: "fake.test", scheme: "token", payload: { token: "s3cret-token" } };
  const factory = new PersistentSessionFactory({ createTransport: server.createTransport });
  await using pool = new McpRuntimePool(factory, { onEvent: (event) => events.push(event) });
  const error = await assertRejects(() => pool.callTool(server.connection, auth, "echo", {}));
  for (const text of [Deno.inspect(events, { depth: 9 }), JSON.stringify(events), Deno.inspect(error)]) {
    assertMatch(text, /OPEN_FAILED/);
    assertMatch(text, /no entry for/);
    assert(!text.includes("s3cret"));
  }
});
