/**
 * What the runtime tells a listener. Types only.
 *
 * @module
 */
import type { Delivery, McpErrorCode, McpRuntimeError } from "./errors.ts";

/** What every event says. */
export interface EventBase {
  /** Id of the connection. */
  connectionId: string;
  /** Scope of the session, when it has one. */
  scope?: string;
  /** Which session of its connection and scope: 1, 2, …; what a session has lost stays with its generation. */
  generation: number;
}

/** What every event of a tool call says. */
export interface CallEventBase extends EventBase {
  /** Name of the tool. */
  toolName: string;
  /** 1, or 2 when the call was sent again because the first attempt provably did not run. */
  attempt: number;
  /** Milliseconds in the session's queue, until it was handed to the client; not the wait for the session to open. */
  queuedMs: number;
}

/** A session is being opened. */
export interface SessionOpeningEvent extends EventBase {
  /** Marks the event. */
  type: "session-opening";
}

/** A session is ready for calls. */
export interface SessionOpenedEvent extends EventBase {
  /** Marks the event. */
  type: "session-opened";
  /** Milliseconds from the start of the opening. */
  durationMs: number;
  /** Process id of the server, when it is a child process. */
  pid?: number;
  /** Start of the HTTP session's id, when there is one. */
  sessionId?: string;
  /** The revision of MCP that was negotiated. */
  protocolVersion?: string;
}

/** A session could not be opened. */
export interface SessionOpenFailedEvent extends EventBase {
  /** Marks the event. */
  type: "session-open-failed";
  /** Milliseconds from the start of the opening. */
  durationMs: number;
  /** Why: a `McpRuntimeError`, or the reason for which the opening was given up. */
  error: unknown;
}

/** A session ended without being asked. */
export interface SessionLostEvent extends EventBase {
  /** Marks the event. */
  type: "session-lost";
  /** Why. */
  error: McpRuntimeError;
}

/** A session closes because the configuration of its connection changed. */
export interface SessionReplacedEvent extends EventBase {
  /** Marks the event. */
  type: "session-replaced";
  /**
   * Set when this connection goes back and forth between configurations: give each its own `scope`, or move what
   * rotates into the `credentials` hook.
   */
  advice?: string;
}

/** A session closes by policy. */
export interface SessionEvictedEvent extends EventBase {
  /** Marks the event. */
  type: "session-evicted";
  /** Which policy. */
  reason: "idle" | "max-sessions" | "max-lifetime";
}

/** A session has ended, after it was closed, replaced or evicted, and everything it owned is gone. */
export interface SessionClosedEvent extends EventBase {
  /** Marks the event. */
  type: "session-closed";
  /** What went wrong at closing, when something did. */
  error?: unknown;
}

/** A call was handed to the client. */
export interface CallStartedEvent extends CallEventBase {
  /** Marks the event. */
  type: "call-started";
}

/** A call that was started has its result or failure. */
export interface CallSettledEvent extends CallEventBase {
  /** Marks the event. */
  type: "call-settled";
  /** `ok` and `error` are the tool's own; `failed` means that the call rejected. */
  outcome: "ok" | "error" | "failed";
  /** Milliseconds from starting to settling. */
  durationMs: number;
  /** Code of the failure; `ABORTED` for the caller's own abort. */
  code?: McpErrorCode | "ABORTED";
  /** May the tool have run? Set with `failed`. */
  delivery?: Delivery;
}

/** Anything a listener is told. No event carries a secret, an argument or a result. */
export type RuntimeEvent =
  | SessionOpeningEvent
  | SessionOpenedEvent
  | SessionOpenFailedEvent
  | SessionLostEvent
  | SessionReplacedEvent
  | SessionEvictedEvent
  | SessionClosedEvent
  | CallStartedEvent
  | CallSettledEvent;

/** Hears of events, at once and in order. What it throws is ignored. */
export type RuntimeEventListener = (event: RuntimeEvent) => void;
