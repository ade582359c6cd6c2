/**
 * What a pool tells about itself: counts and a listing.
 *
 * @module
 */
import { type McpErrorCode, McpRuntimeError } from "./errors.ts";
import type { Ending, LiveSession } from "./live_session.ts";
import type { SessionState } from "./owner.ts";
import type { Slot } from "./slot.ts";

/** One snapshot; see {@linkcode McpRuntimePool.stats} for what sums. */
export interface PoolStats {
  /** Sessions by what they are doing. */
  sessions: { opening: number; idle: number; busy: number; closing: number };
  /** Calls of the pool: waiting, sent, and settled by outcome. `failedByCode` splits `failed`; `ABORTED` is the caller's. */
  calls: {
    queued: number;
    inFlight: number;
    ok: number;
    error: number;
    failed: number;
    failedByCode: Partial<Record<McpErrorCode | "ABORTED", number>>;
  };
  /** Sessions opened. */
  opened: number;
  /** Openings that failed or were given up. */
  openFailed: number;
  /** Sessions that were closed by the program and are gone. */
  closed: number;
  /** Sessions that ended without being asked and are gone. */
  lost: number;
  /** Sessions that were replaced and are gone. */
  replaced: number;
  /** Sessions that policy closed and that are gone. */
  evicted: number;
}

/** One session of a pool, as a person may see it. */
export interface SessionInfo {
  /** Id of the connection. */
  connectionId: string;
  /** Scope, when it has one. */
  scope?: string;
  /** Where it is in its life. */
  state: SessionState;
  /** Which session of its connection and scope it is. */
  generation: number;
  /** Milliseconds since it was opened; 0 while opening. */
  ageMs: number;
  /** Milliseconds since its last call ended, 0 while it is busy. */
  idleMs: number;
  /** Calls accepted and not sent. */
  queued: number;
  /** Calls sent and not answered. */
  inFlight: number;
  /** Process id of the server, when it is a child process. */
  pid?: number;
  /** Start of the HTTP session's id, when there is one. */
  sessionId?: string;
  /** The revision of MCP that was negotiated. */
  protocolVersion?: string;
}

/** The counts a pool keeps. */
export interface PoolCounters extends Record<Ending, number> {
  /** Calls accepted and not settled. */
  open: number;
  inFlight: number;
  ok: number;
  error: number;
  failed: number;
  failedByCode: Partial<Record<McpErrorCode | "ABORTED", number>>;
  opened: number;
  openFailed: number;
}

/** @returns counters at zero */
export function newCounters(): PoolCounters {
  return {
    open: 0,
    inFlight: 0,
    ok: 0,
    error: 0,
    failed: 0,
    failedByCode: {},
    opened: 0,
    openFailed: 0,
    closed: 0,
    lost: 0,
    replaced: 0,
    evicted: 0,
  };
}

/**
 * Counts a call that is over.
 *
 * @param counters the pool's counters
 * @param outcome the tool's outcome, `ABORTED`, or the failure
 */
export function countSettled(counters: PoolCounters, outcome: unknown): void {
  counters.open--;
  if (outcome === "ok" || outcome === "error") {
    counters[outcome]++;
    return;
  }
  counters.failed++;
  const code = outcome instanceof McpRuntimeError ? outcome.code : "ABORTED";
  counters.failedByCode[code] = (counters.failedByCode[code] ?? 0) + 1;
}

/**
 * @param slots the pool's slots
 * @param sessions its sessions, closing ones included
 * @param counters its counters
 * @returns the snapshot
 */
export function collectStats(
  slots: Iterable<Slot>,
  sessions: Iterable<LiveSession>,
  counters: PoolCounters,
): PoolStats {
  const byState = { opening: 0, idle: 0, busy: 0, closing: 0 };
  for (const slot of slots) if (slot.opening) byState.opening++;
  for (const live of sessions) byState[live.ending ? "closing" : live.idle ? "idle" : "busy"]++;
  const { open, inFlight, ok, error, failed, failedByCode, ...sessionCounts } = counters;
  return {
    sessions: byState,
    calls: { queued: open - inFlight, inFlight, ok, error, failed, failedByCode: { ...failedByCode } },
    ...sessionCounts,
  };
}

/**
 * @param slots the pool's slots
 * @param sessions its sessions, closing ones included
 * @returns one entry each
 */
export function describeSessions(slots: Iterable<Slot>, sessions: Iterable<LiveSession>): SessionInfo[] {
  const now = Date.now();
  const infos: SessionInfo[] = [];
  for (const slot of slots) {
    if (!slot.opening) continue;
    const { connectionId, scope, generation } = slot;
    infos.push({
      connectionId,
      ...(scope === undefined ? {} : { scope }),
      state: "opening",
      generation: generation + 1,
      ageMs: 0,
      idleMs: 0,
      queued: slot.waiting,
      inFlight: 0,
    });
  }
  for (const live of sessions) {
    const { owner, generation } = live;
    const { connectionId, scope } = live.key;
    infos.push({
      connectionId,
      ...(scope === undefined ? {} : { scope }),
      state: owner.state,
      generation,
      ageMs: now - live.openedAt,
      idleMs: live.idle ? now - live.lastUsedAt : 0,
      queued: owner.queued,
      inFlight: owner.inFlight,
      ...owner.clientFacts(),
    });
  }
  return infos;
}
