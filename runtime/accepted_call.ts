/**
 * One call of a session, from its acceptance to its settling.
 *
 * @module
 */
import type { CallToolOptions } from "./client.ts";
import { McpRuntimeError } from "./errors.ts";
import type { OwnEvent } from "./emit.ts";
import type { QueueNode } from "./queue.ts";
import type { ToolCallResult } from "./result.ts";
import type { FollowedCall } from "./telemetry_hooks.ts";
import type { Timer } from "./timers.ts";

/** How the pool follows one call through the attempts it takes. */
export interface CallTracker {
  /** 1, or 2 when the call is sent again. */
  readonly attempt: number;
  /** Who follows the call; `undefined` when the pool has no telemetry, so that the session's own may. */
  readonly telemetry?: FollowedCall | null | undefined;
  /** The call is handed to the client. */
  onStart(): void;
}

/** See the module. */
export class AcceptedCall implements QueueNode<AcceptedCall> {
  previous: AcceptedCall | undefined;
  next: AcceptedCall | undefined;
  settled = false;
  /** When it was handed to the client; 0 before. */
  startedAt = 0;
  /** Only while it is queued. */
  queueTimer: Timer | undefined;
  /** Only while it is queued. */
  onAbort: (() => void) | undefined;
  readonly acceptedAt = Date.now();

  constructor(
    readonly toolName: string,
    readonly payload: Record<string, unknown>,
    readonly options: CallToolOptions,
    readonly tracker: CallTracker | undefined,
    readonly telemetry: FollowedCall | null | undefined,
    readonly resolve: (result: ToolCallResult) => void,
    readonly reject: (reason: unknown) => void,
  ) {}

  /** The wait in the queue is over. */
  release(): void {
    clearTimeout(this.queueTimer);
    if (this.onAbort) this.options.signal?.removeEventListener("abort", this.onAbort);
    this.queueTimer = this.onAbort = undefined;
  }

  /** What a listener hears when it was handed to the client. */
  startedEvent(): OwnEvent {
    const { toolName, tracker, startedAt, acceptedAt } = this;
    return { type: "call-started", toolName, attempt: tracker?.attempt ?? 1, queuedMs: startedAt - acceptedAt };
  }

  /** What a listener hears when it settles. */
  settledEvent(result: ToolCallResult | undefined, failure: unknown): OwnEvent {
    const { signal } = this.options;
    // A caller may give a failure of another call as its reason.
    const aborted = signal?.aborted && failure === signal.reason;
    const known = !aborted && failure instanceof McpRuntimeError ? failure : undefined;
    return {
      type: "call-settled",
      toolName: this.toolName,
      attempt: this.tracker?.attempt ?? 1,
      queuedMs: this.startedAt - this.acceptedAt,
      durationMs: Date.now() - this.startedAt,
      outcome: result?.outcome ?? "failed",
      ...(result ? {} : { code: known?.code ?? "ABORTED", delivery: known?.delivery ?? "unknown" }),
    };
  }
}
