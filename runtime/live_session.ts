/**
 * A session as the pool holds it: from its opening until everything it owned is gone.
 *
 * @module
 */
import type { SessionOwner } from "./owner.ts";
import type { PersistentMcpSession } from "./session.ts";
import type { FollowedOpening } from "./telemetry_hooks.ts";
import { startTimer, type Timer } from "./timers.ts";

/** Why a session is no longer in the pool. Each session ends in exactly one of these. */
export type Ending = "closed" | "lost" | "replaced" | "evicted";

/** What the pool knows of one of its sessions. */
export class LiveSession {
  /** Set when the session leaves the pool; the first reason stays. */
  ending: Ending | undefined;
  lastUsedAt = Date.now();
  readonly openedAt = Date.now();
  #idleTimer: Timer | undefined;
  #lifeTimer: Timer | undefined;

  constructor(
    readonly session: PersistentMcpSession,
    readonly owner: SessionOwner,
    readonly fingerprint: string,
    readonly generation: number,
    /** Who follows the session. */
    readonly telemetry: FollowedOpening | null | undefined,
    /** What the pool knows it by; a factory that is a function may give a session that says otherwise. */
    readonly key: { readonly connectionId: string; readonly scope: string | undefined },
    /** Whether it was evicted to make room for a caller that waits. */
    public evictedForRoom = false,
  ) {}

  /** Whether no call is queued or in flight. */
  get idle(): boolean {
    return this.owner.queued === 0 && this.owner.inFlight === 0;
  }

  /**
   * Calls back when the session has been idle for a time. One timer serves many calls: it is not moved by each of them,
   * but looks, when it fires, how long the session has really been idle.
   *
   * @param ms how long
   * @param onIdle called once, while the session is idle
   */
  watchIdle(ms: number, onIdle: () => void): void {
    if (ms === Infinity) return;
    const look = () => {
      this.#idleTimer = undefined;
      if (this.ending) return;
      const idleMs = this.idle ? Math.max(0, Date.now() - this.lastUsedAt) : 0;
      if (idleMs >= ms) onIdle();
      else this.#idleTimer = startTimer(look, ms - idleMs);
    };
    this.#idleTimer = startTimer(look, ms);
  }

  /**
   * Calls back when the session has lived for a time, busy or not.
   *
   * @param ms how long
   * @param onExpire called once
   */
  watchLifetime(ms: number, onExpire: () => void): void {
    this.#lifeTimer = startTimer(onExpire, ms);
  }

  /** Ends both watches. */
  unwatch(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#lifeTimer);
  }
}
