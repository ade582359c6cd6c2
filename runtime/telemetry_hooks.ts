/**
 * How a telemetry follows openings and calls. Types, and the one place that calls them: whatever a telemetry throws
 * stays here. `telemetry.ts` makes one for OpenTelemetry; the core knows no other package.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { CallToolOptions, OpenSessionOptions } from "./client.ts";
import type { McpSourceConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import type { ToolCallResult } from "./result.ts";
import { redactorFor } from "./secrets.ts";

/** What a telemetry is told of an opening. */
export interface TelemetryOpening {
  /** The connection, parsed. It may hold secrets: record its id, its provider, and host and port of its URL, no more. */
  connection: McpSourceConnection;
  /** Scope of the session, when it has one. */
  scope?: string | undefined;
  /** Which session of its connection and scope: 1, 2, … */
  generation: number;
}

/** What a telemetry is told of a call. */
export interface TelemetryCall {
  /** The connection, parsed. It may hold secrets: record its id, its provider, and host and port of its URL, no more. */
  connection: McpSourceConnection;
  /** Scope of the session, when it has one. */
  scope?: string | undefined;
  /** Name of the tool. */
  toolName: string;
  /** The arguments. They may hold secrets. */
  payload: Readonly<Record<string, unknown>>;
  /** What the caller put into the request's `_meta`. */
  meta?: Readonly<Record<string, unknown>> | undefined;
  /** Removes the known secrets of the connection from text. */
  redact: (text: string) => string;
}

/** What a telemetry is told of an open session. */
export interface TelemetrySession {
  /** Which session of its connection and scope. */
  generation: number;
  /** Process id of the server, when it is a child process. */
  pid?: number;
  /** Start of the HTTP session's id, when there is one. */
  sessionId?: string;
  /** The revision of MCP that was negotiated. */
  protocolVersion?: string;
}

/** What an opening and a call have in common. */
export interface RequestTelemetry {
  /** Runs `work` once, synchronously, in the context in which the request is made. Default: runs it. */
  run?(work: () => void): void;
  /**
   * The request is being made. Called again when a call is sent again.
   *
   * @param id the JSON-RPC id, when the client says it
   * @returns members for the request's `_meta`, such as a trace context
   */
  request?(id: number | undefined): Readonly<Record<string, string>> | undefined;
  /**
   * It failed.
   *
   * @param error why; `undefined` when it was given up by the caller
   */
  failed(error: McpRuntimeError | undefined): void;
}

/** Follows one opening and the session that comes of it. */
export interface OpeningTelemetry extends RequestTelemetry {
  /** The session is ready. */
  opened(session: TelemetrySession): void;
  /** The session that was opened has ended; with the reason when it was lost. */
  ended(reason: McpRuntimeError | undefined): void;
}

/** Follows one call from its acceptance to its settling, through one attempt or two. */
export interface CallTelemetry extends RequestTelemetry {
  /** The call had to wait until a session was open. */
  waited?(opening: OpeningTelemetry | undefined): void;
  /** The call is handed to a session's client. */
  started(session: TelemetrySession): void;
  /** The attempt failed and the call is sent again. */
  resend?(error: McpRuntimeError): void;
  /** The call has its result. */
  settled(result: ToolCallResult): void;
}

/**
 * Follows what a factory or a pool does. What it throws is ignored, and so are members for `_meta` that are not text.
 * `undefined` or `null` in the place of an opening or a call follows nothing, and costs nothing more.
 *
 * `openTelemetry()` of `@wf/sources-mcp/telemetry` makes one.
 */
export interface RuntimeTelemetry {
  /**
   * A session is being opened. Called in the context of whoever needs it.
   *
   * @param info what is opened
   * @param call the call that made the pool open it, when there is one
   */
  opening(info: TelemetryOpening, call: CallTelemetry | undefined): OpeningTelemetry | null | undefined;
  /** A call was accepted. Called in the caller's context. */
  call(info: TelemetryCall): CallTelemetry | null | undefined;
}

/** Carries who follows, from a session or a factory to its client; a symbol, so that no option of a caller can be it. */
export const TELEMETRY: unique symbol = Symbol("telemetry");

/** Options of a call as they travel inside the runtime. */
export interface FollowedCallOptions extends CallToolOptions {
  [TELEMETRY]?: FollowedCall | null | undefined;
}

/** Options of an opening as they travel inside the runtime. */
export interface FollowedOpenOptions extends OpenSessionOptions {
  [TELEMETRY]?: FollowedOpening | null | undefined;
}

/** Calls a telemetry that may throw. */
class Followed<T extends RequestTelemetry> {
  constructor(readonly inner: T) {}

  run<R>(work: () => R): R {
    let outcome: { value: R } | { thrown: unknown } | undefined;
    const once = () => {
      try {
        outcome ??= { value: work() };
      } catch (thrown) {
        outcome = { thrown };
      }
    };
    quietly(() => this.inner.run?.(once));
    if (!outcome) once();
    const settled = outcome!;
    if ("thrown" in settled) throw settled.thrown;
    return settled.value;
  }

  request(id: number | undefined): Record<string, string> {
    const members: Record<string, string> = {};
    quietly(() => {
      for (const [key, value] of Object.entries(this.inner.request?.(id) ?? {})) {
        if (typeof value === "string") members[key] = value;
      }
    });
    return members;
  }

  failed(error: McpRuntimeError | undefined): void {
    quietly(() => this.inner.failed(error));
  }
}

/** An opening that is followed. */
export class FollowedOpening extends Followed<OpeningTelemetry> {
  opened(session: TelemetrySession): void {
    quietly(() => this.inner.opened(session));
  }

  ended(reason: McpRuntimeError | undefined): void {
    quietly(() => this.inner.ended(reason));
  }
}

/** A call that is followed. */
export class FollowedCall extends Followed<CallTelemetry> {
  waited(opening: FollowedOpening | undefined): void {
    quietly(() => this.inner.waited?.(opening?.inner));
  }

  started(session: TelemetrySession): void {
    quietly(() => this.inner.started(session));
  }

  resend(error: McpRuntimeError): void {
    quietly(() => this.inner.resend?.(error));
  }

  settled(result: ToolCallResult): void {
    quietly(() => this.inner.settled(result));
  }
}

/**
 * Follows an opening.
 *
 * @param telemetry who follows
 * @param info what is opened
 * @param call the call that needs it, when it is known
 * @returns `null` when the telemetry does not follow this one
 */
export function followOpening(
  telemetry: RuntimeTelemetry,
  info: TelemetryOpening,
  call?: FollowedCall | null,
): FollowedOpening | null {
  const inner = quietly(() => telemetry.opening(info, call?.inner));
  return inner ? new FollowedOpening(inner) : null;
}

/** Follows one call of a session; `null` when the telemetry does not follow this one. */
export type CallFollower = (
  toolName: string,
  payload: Record<string, unknown>,
  options: CallToolOptions,
) => FollowedCall | null;

/**
 * Follows the calls of one session or one caller.
 *
 * @param telemetry who follows
 * @param connection the connection
 * @param auth its auth record
 * @param scope the session's scope
 * @returns follows one call
 */
export function callFollower(
  telemetry: RuntimeTelemetry,
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  scope: string | undefined,
): CallFollower {
  const redact = (text: string) => redactorFor(connection, auth).redact(text);
  return (toolName, payload, { meta }) => {
    const inner = quietly(() => telemetry.call({ connection, scope, toolName, payload, meta, redact }));
    return inner ? new FollowedCall(inner) : null;
  };
}

/**
 * Tells a telemetry how a call ends.
 *
 * @param telemetry who follows the call
 * @param call the call
 * @param signal the caller's signal
 * @returns settles as the call does
 */
export async function reportEnd(
  telemetry: FollowedCall,
  call: Promise<ToolCallResult>,
  signal: AbortSignal | undefined,
): Promise<ToolCallResult> {
  try {
    const result = await call;
    telemetry.settled(result);
    return result;
  } catch (error) {
    telemetry.failed(failureOf(error, signal));
    throw error;
  }
}

/**
 * A failure as a telemetry is told of it.
 *
 * @param error what was thrown
 * @param signal the signal of whoever waits
 * @returns `undefined` when the wait was given up: the reason is the caller's, and may be anything
 */
export function failureOf(error: unknown, signal: AbortSignal | undefined): McpRuntimeError | undefined {
  const givenUp = signal?.aborted && error === signal.reason;
  return !givenUp && error instanceof McpRuntimeError ? error : undefined;
}

const telemetries = new WeakMap<object, RuntimeTelemetry>();

/**
 * Remembers the telemetry of a factory, for the pool that uses it.
 *
 * @param factory the factory
 * @param telemetry its telemetry, if any
 */
export function registerTelemetry(factory: object, telemetry: RuntimeTelemetry | undefined): void {
  if (telemetry) telemetries.set(factory, telemetry);
}

/**
 * The telemetry of a factory.
 *
 * @param factory the factory
 * @returns its telemetry, `undefined` when it has none
 */
export function telemetryOf(factory: object): RuntimeTelemetry | undefined {
  return telemetries.get(factory);
}

const openings = new WeakMap<AbortSignal, FollowedOpening | null>();

/**
 * Says that the opening with this signal is followed already, so that a factory of the caller's own does not follow it
 * a second time. The signal is what reaches that factory whatever else it is handed.
 *
 * @param signal the signal of the opening
 * @param opening who follows it; `null` for nobody
 */
export function claimOpening(signal: AbortSignal, opening: FollowedOpening | null): void {
  openings.set(signal, opening);
}

/**
 * Who follows the opening with this signal.
 *
 * @param signal the signal of the opening
 * @returns `undefined` when nobody said so
 */
export function claimedOpening(signal: AbortSignal | undefined): FollowedOpening | null | undefined {
  return signal && openings.get(signal);
}

function quietly<T>(work: () => T): T | undefined {
  try {
    const outcome = work();
    if (outcome instanceof Promise) outcome.catch(() => {}); // An async method fits the types; it is not waited for.
    return outcome;
  } catch {
    return undefined; // The telemetry's failure is its own; a call must not fail because it is watched.
  }
}
