/**
 * OpenTelemetry for factories and pools, by the semantic conventions for MCP. Does nothing until the program registers
 * an OpenTelemetry SDK, or runs with `OTEL_DENO=true`. docs/telemetry.md lists what is recorded.
 *
 * @example
 * ```ts
 * import { McpRuntimePool } from "@wf/sources-mcp";
 * import { openTelemetry } from "@wf/sources-mcp/telemetry";
 *
 * await using pool = new McpRuntimePool(undefined, { telemetry: openTelemetry() });
 * ```
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  createNoopMeter,
  type Histogram,
  isSpanContextValid,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { McpSourceConnection } from "./connection.ts";
import { type McpRuntimeError, RpcError } from "./errors.ts";
import { DEFAULT_CLIENT_INFO } from "./handshake.ts";
import { checkOptions } from "./input.ts";
import type { ToolCallResult } from "./result.ts";
import type {
  CallTelemetry,
  OpeningTelemetry,
  RuntimeTelemetry,
  TelemetryCall,
  TelemetryOpening,
  TelemetrySession,
} from "./telemetry_hooks.ts";

export type { HttpSourceTransport, McpSourceConnection, SourceTransport, StdioSourceTransport } from "./connection.ts";
export type { Delivery, McpErrorCode, McpErrorInit, McpRuntimeError } from "./errors.ts";
export type { ContentBlock, ToolCallResult } from "./result.ts";
export type {
  CallTelemetry,
  OpeningTelemetry,
  RequestTelemetry,
  RuntimeTelemetry,
  TelemetryCall,
  TelemetryOpening,
  TelemetrySession,
} from "./telemetry_hooks.ts";

/** Options of {@linkcode openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Records the arguments of calls. They may be personal or secret. Default false. */
  recordArguments?: boolean;
  /** Records the results of calls. They may be personal or secret. Default false. */
  recordResults?: boolean;
}

/** Most characters of arguments or of a result that are recorded. */
const MAX_RECORDED_LENGTH = 8_192;

/** The advice of the conventions for both histograms, in seconds. */
const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const NOOP_HISTOGRAM = createNoopMeter().createHistogram("none");

interface Histograms {
  operation: Histogram;
  session: Histogram;
}

/** Asked anew when the program registers another provider: that may happen after this telemetry was made. */
class Instruments {
  #tracerProvider: unknown;
  #tracer = trace.getTracer(DEFAULT_CLIENT_INFO.name, DEFAULT_CLIENT_INFO.version);
  #meterProvider: unknown;
  #histograms: Histograms = { operation: NOOP_HISTOGRAM, session: NOOP_HISTOGRAM };

  startSpan(name: string, parent: Context): Span {
    const provider = trace.getTracerProvider();
    if (provider !== this.#tracerProvider) {
      this.#tracerProvider = provider;
      this.#tracer = provider.getTracer(DEFAULT_CLIENT_INFO.name, DEFAULT_CLIENT_INFO.version);
    }
    return this.#tracer.startSpan(name, { kind: SpanKind.CLIENT }, parent);
  }

  histograms(): Histograms {
    const provider = metrics.getMeterProvider();
    if (provider !== this.#meterProvider) {
      this.#meterProvider = provider;
      const meter = provider.getMeter(DEFAULT_CLIENT_INFO.name, DEFAULT_CLIENT_INFO.version);
      const advice = { explicitBucketBoundaries: BUCKETS };
      this.#histograms = {
        operation: meter.createHistogram("mcp.client.operation.duration", {
          unit: "s",
          description: "From sending an MCP request until its response.",
          advice,
        }),
        session: meter.createHistogram("mcp.client.session.duration", {
          unit: "s",
          description: "How long an MCP session lived.",
          advice,
        }),
      };
    }
    return this.#histograms;
  }

  /** Whether neither a span nor a measurement would go anywhere. */
  idle(span: Span): boolean {
    return !span.isRecording() && !isSpanContextValid(span.spanContext()) &&
      this.histograms().operation === NOOP_HISTOGRAM;
  }
}

/** What an opening and a call record alike. */
class Operation {
  readonly context: Context;
  protected readonly acceptedAt = performance.now();
  protected requestedAt: number | undefined;
  /** Goes on the span and on the measurement. */
  protected readonly shared: Attributes;

  constructor(
    readonly instruments: Instruments,
    readonly span: Span,
    parent: Context,
    method: string,
    connection: McpSourceConnection,
  ) {
    this.context = trace.setSpan(parent, span);
    this.shared = { "mcp.method.name": method, ...serverAttributes(connection) };
    span.setAttribute("wf.mcp.connection.id", connection.id);
  }

  run(work: () => void): void {
    context.with(this.context, work);
  }

  request(id: number | undefined): Record<string, string> {
    this.requestedAt = performance.now();
    if (id !== undefined) this.span.setAttribute("jsonrpc.request.id", String(id));
    const carrier: Record<string, string> = {};
    propagation.inject(this.context, carrier);
    return carrier;
  }

  protected on(session: TelemetrySession): void {
    const { protocolVersion, sessionId, generation } = session;
    if (protocolVersion !== undefined) this.shared["mcp.protocol.version"] = protocolVersion;
    if (sessionId !== undefined) this.span.setAttribute("mcp.session.id", sessionId);
    this.span.setAttribute("wf.mcp.session.generation", generation);
  }

  protected fail(type: string, rpcCode: number | undefined, message: string | undefined): void {
    this.shared["error.type"] = type;
    if (rpcCode !== undefined) this.shared["rpc.response.status_code"] = String(rpcCode);
    this.span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
  }

  protected end(): void {
    this.span.setAttributes(this.shared);
    this.span.end();
    const seconds = (performance.now() - (this.requestedAt ?? this.acceptedAt)) / 1000;
    this.instruments.histograms().operation.record(seconds, this.shared, this.context);
  }
}

class OpeningSpan extends Operation implements OpeningTelemetry {
  #openedAt = 0;

  opened(session: TelemetrySession): void {
    this.on(session);
    this.#openedAt = performance.now();
    this.end();
  }

  failed(error: McpRuntimeError | undefined): void {
    const rpcCode = error instanceof RpcError ? error.rpcCode : undefined;
    this.fail(rpcCode === undefined ? error?.code ?? "ABORTED" : String(rpcCode), rpcCode, error?.message);
    this.end();
  }

  ended(reason: McpRuntimeError | undefined): void {
    const { "mcp.method.name": _method, ...attributes } = this.shared;
    const seconds = (performance.now() - this.#openedAt) / 1000;
    this.instruments.histograms().session.record(seconds, {
      ...attributes,
      ...(reason === undefined ? {} : { "error.type": reason.code }),
    });
  }
}

class CallSpan extends Operation implements CallTelemetry {
  readonly #redact: (text: string) => string;
  readonly #recordResults: boolean;
  #reused = true;
  #attempts = 0;

  constructor(
    instruments: Instruments,
    span: Span,
    parent: Context,
    info: TelemetryCall,
    options: OpenTelemetryOptions,
  ) {
    super(instruments, span, parent, "tools/call", info.connection);
    this.shared["gen_ai.operation.name"] = "execute_tool";
    this.shared["gen_ai.tool.name"] = info.toolName;
    this.#redact = info.redact;
    this.#recordResults = options.recordResults === true;
    if (options.recordArguments) this.#record("gen_ai.tool.call.arguments", info.payload);
  }

  waited(opening: OpeningTelemetry | undefined): void {
    this.#reused = false;
    if (opening instanceof OpeningSpan) this.span.addLink({ context: opening.span.spanContext() });
  }

  started(session: TelemetrySession): void {
    this.#attempts++;
    this.on(session);
    this.span.setAttributes({
      "wf.mcp.session.reused": this.#reused,
      "wf.mcp.queued_ms": performance.now() - this.acceptedAt,
      "wf.mcp.attempts": this.#attempts,
    });
  }

  resend(error: McpRuntimeError): void {
    this.#reused = true;
    this.span.addEvent("wf.mcp.resend", { "error.type": error.code, "wf.mcp.delivery": error.delivery });
  }

  settled(result: ToolCallResult): void {
    if (result.outcome === "error") this.fail("tool_error", undefined, undefined);
    if (this.#recordResults) {
      this.#record("gen_ai.tool.call.result", result.structuredContent ?? { content: result.content });
    }
    this.end();
  }

  failed(error: McpRuntimeError | undefined): void {
    const rpcCode = error instanceof RpcError && error.delivery === "answered" ? error.rpcCode : undefined;
    this.fail(rpcCode === undefined ? error?.code ?? "ABORTED" : String(rpcCode), rpcCode, error?.message);
    if (error) this.span.setAttribute("wf.mcp.delivery", error.delivery);
    this.end();
  }

  #record(name: string, value: unknown): void {
    if (!this.span.isRecording()) return;
    // Redacting comes before the cut, so that no part of a secret is left at its border.
    this.span.setAttribute(name, this.#redact(JSON.stringify(value)).slice(0, MAX_RECORDED_LENGTH));
  }
}

function serverAttributes({ provider, transport }: McpSourceConnection): Attributes {
  const base = { "wf.mcp.provider": provider };
  if (transport?.kind === "stdio") return { ...base, "network.transport": "pipe" };
  if (transport?.kind !== "http") return base;
  const { hostname, port, protocol } = new URL(transport.url);
  return {
    ...base,
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": hostname,
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
  };
}

/**
 * A telemetry that records spans and metrics through `@opentelemetry/api`, and puts the trace context into each request's
 * `_meta`. An SDK may be registered before or after. A trace context that the caller put into `meta` is the span's parent.
 *
 * @param options whether arguments and results are recorded; default neither
 * @returns give it to a factory or a pool; one of both is enough
 * @throws {McpRuntimeError} `INPUT_INVALID` for an option that is not a boolean
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): RuntimeTelemetry {
  // Refused, not taken for a yes: what arguments hold may be secret.
  checkOptions(options, { recordArguments: "boolean", recordResults: "boolean" });
  const instruments = new Instruments();
  return {
    opening({ connection }: TelemetryOpening, call): OpeningTelemetry | undefined {
      const parent = call instanceof CallSpan ? call.context : context.active();
      const span = instruments.startSpan("initialize", parent);
      if (instruments.idle(span)) return undefined;
      return new OpeningSpan(instruments, span, parent, "initialize", connection);
    },
    call(info: TelemetryCall): CallTelemetry | undefined {
      const active = context.active();
      const parent = info.meta?.traceparent === undefined ? active : propagation.extract(active, info.meta);
      const span = instruments.startSpan(`tools/call ${info.toolName}`, parent);
      if (instruments.idle(span)) return undefined;
      return new CallSpan(instruments, span, parent, info, options);
    },
  };
}
