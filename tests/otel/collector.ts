/**
 * Deno's built-in OpenTelemetry, end to end: a program runs with `OTEL_DENO=true`, and a collector on the loopback
 * interface, written here, takes what it exports as OTLP over HTTP with JSON. Run it with `deno task test:otel`.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";

interface Otlp {
  resourceSpans?: {
    scopeSpans: { spans: { name: string; kind: number; parentSpanId?: string; spanId: string }[] }[];
  }[];
  resourceMetrics?: { scopeMetrics: { metrics: { name: string }[] }[] }[];
}

const received: Otlp[] = [];
await using collector = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  received.push(await request.json());
  return Response.json({});
});
const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["run", "--allow-all", new URL("./program.ts", import.meta.url).pathname],
  env: {
    OTEL_DENO: "true",
    OTEL_DENO_CONSOLE: "ignore",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
  },
}).output();
assertEquals(code, 0, new TextDecoder().decode(stderr));

const spans = received.flatMap(({ resourceSpans = [] }) => resourceSpans)
  .flatMap(({ scopeSpans }) => scopeSpans).flatMap((scope) => scope.spans);
const metrics = received.flatMap(({ resourceMetrics = [] }) => resourceMetrics)
  .flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics.map(({ name }) => name));
const call = spans.find(({ name }) => name === "tools/call echo");
const opening = spans.find(({ name }) => name === "initialize");
assert(call && opening, `spans: ${spans.map(({ name }) => name)}`);
assertEquals([call.kind, opening.parentSpanId], [3, call.spanId]);
assertMatch(JSON.parse(new TextDecoder().decode(stdout)).traceparent, new RegExp(`-${call.spanId}-01$`));
for (const name of ["mcp.client.operation.duration", "mcp.client.session.duration"]) {
  assert(metrics.includes(name), `metrics: ${metrics}`);
}
console.log(
  `collector: ${spans.length} spans and ${metrics.length} metrics arrived; the request carried the span's context`,
);
