/**
 * One call of the pool, through the one or two attempts it takes.
 *
 * @module
 */
import type { CallTracker } from "./accepted_call.ts";
import type { CallToolOptions } from "./client.ts";
import { McpRuntimeError } from "./errors.ts";
import { checkValue } from "./input.ts";
import type { PoolCounters } from "./pool_stats.ts";
import type { Slot, SlotConfig } from "./slot.ts";
import type { FollowedCall } from "./telemetry_hooks.ts";

/** Options of one call of the pool. */
export interface PoolCallOptions extends CallToolOptions {
  /** Who shares the session: calls of one connection with different scopes have sessions of their own. */
  scope?: string;
  /**
   * Whether a call may be sent again, once, on a new session, when its own was lost. `if-unsent` (default): only when it
   * provably did not run. `never`: not even then. `idempotent`: the caller vouches that running twice does no harm, so
   * also when it may have run. Nothing is ever sent again after an answer, a timeout or an abort.
   */
  retry?: "if-unsent" | "never" | "idempotent";
  /** Refuses the call, unsent, with `SESSION_LOST` unless the session has this generation. */
  expectGeneration?: number;
}

/** See the module. */
export class PoolCall implements CallTracker {
  attempt = 1;
  telemetry: FollowedCall | null | undefined;
  readonly acceptedAt = Date.now();
  readonly #counters: PoolCounters;
  #started = false;
  /** Whether an attempt before this one may have run. */
  #mayHaveRun = false;

  constructor(
    readonly config: SlotConfig,
    readonly toolName: string,
    readonly payload: Record<string, unknown>,
    readonly options: PoolCallOptions,
    counters: PoolCounters,
  ) {
    this.#counters = counters;
    const { scope, retry, expectGeneration } = options;
    if (scope !== undefined) checkValue("scope", scope, "string", config.connection.id);
    const refuse = (what: string) =>
      new McpRuntimeError(what, { code: "INPUT_INVALID", connectionId: config.connection.id });
    if (retry !== undefined && !["if-unsent", "never", "idempotent"].includes(retry)) {
      throw refuse('retry must be "if-unsent", "never" or "idempotent"');
    }
    if (expectGeneration !== undefined && !Number.isInteger(expectGeneration)) {
      throw refuse("expectGeneration must be an integer");
    }
  }

  /** The call is sent again after a failure. */
  again(error: unknown): void {
    this.attempt++;
    this.#mayHaveRun = error instanceof McpRuntimeError && error.delivery === "unknown";
  }

  /** What the caller is told: a second attempt that was not sent does not undo the first. */
  told(error: unknown): unknown {
    const denies = this.#mayHaveRun && error instanceof McpRuntimeError && error.delivery === "not-sent";
    return denies ? error.withDelivery("unknown") : error;
  }

  onStart(): void {
    this.#started = true;
    this.#counters.inFlight++;
  }

  /** An attempt is over. */
  settled(): void {
    if (this.#started) this.#counters.inFlight--;
    this.#started = false;
  }

  /**
   * Refuses the call when it would run on another generation than the caller expects.
   *
   * @param slot where it would run: a slot, or its session
   * @param live whether a session of its configuration is live; if not, the next generation would have to be opened
   */
  expectGeneration(slot: Pick<Slot, "generation">, live: boolean): void {
    const { expectGeneration: expected } = this.options;
    const generation = live ? slot.generation : slot.generation + 1;
    if (expected === undefined || expected === generation) return;
    const connectionId = this.config.connection.id;
    throw new McpRuntimeError(
      `connection "${connectionId}" has lost the session the call was meant for: generation ${expected} was ` +
        `expected, the call would run on ${generation}`,
      { code: "SESSION_LOST", connectionId },
    );
  }
}

/**
 * Whether a failed call is sent again. Only a lost session and a server that could not be reached count; a session that
 * was closed on purpose, a timeout and an answer do not.
 *
 * @param call the call
 * @param error its failure
 * @returns true for one more attempt
 */
export function mayResend(call: PoolCall, error: unknown): boolean {
  const { retry = "if-unsent", expectGeneration, signal } = call.options;
  if (signal?.aborted && error === signal.reason) return false; // It may be the failure of another call.
  if (call.attempt > 1 || retry === "never" || expectGeneration !== undefined) return false;
  if (!(error instanceof McpRuntimeError)) return false;
  if (error.code !== "SESSION_LOST" && error.code !== "HTTP_ERROR") return false;
  return error.delivery === "not-sent" || retry === "idempotent" && error.delivery === "unknown";
}
