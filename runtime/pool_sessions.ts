/**
 * The sessions of a pool, each from its opening until everything it owned is gone, and the policy that ends them.
 *
 * @module
 */
import type { BackoffLimits } from "./backoff.ts";
import { Capacity } from "./capacity.ts";
import { emit, eventOf, type OwnEvent } from "./emit.ts";
import { McpRuntimeError } from "./errors.ts";
import type { RuntimeEventListener } from "./events.ts";
import { PersistentSessionFactory } from "./factory.ts";
import { limitOf } from "./limits.ts";
import { type Ending, LiveSession } from "./live_session.ts";
import { ownerOf, type SessionOwner } from "./owner.ts";
import { openByFunction, type SessionFactory } from "./pool_function.ts";
import { PoolSlots } from "./pool_slots.ts";
import { newCounters } from "./pool_stats.ts";
import type { PersistentMcpSession } from "./session.ts";
import type { Slot, SlotGroup, SlotHost } from "./slot.ts";
import {
  callFollower,
  claimOpening,
  failureOf,
  type FollowedOpening,
  followOpening,
  type RuntimeTelemetry,
} from "./telemetry_hooks.ts";

/** Policy of a pool. */
export interface PoolOptions {
  /** Closes a session that had no call for this long, in milliseconds. Default none. */
  idleTimeoutMs?: number;
  /** Most sessions at once, opening and closing ones included. Default none. */
  maxSessions?: number;
  /** Closes a session this long after its opening, in milliseconds, once its accepted calls are done. Default none. */
  maxLifetimeMs?: number;
  /** Delays between openings that keep failing; `false` for none. Default 200 ms, doubling to 30 000 ms. */
  openBackoff?: { initialMs?: number; maxMs?: number } | false;
  /** Hears of sessions and calls, at once and in order. What it throws is ignored. */
  onEvent?: RuntimeEventListener;
  /** Follows openings and calls. Default: the telemetry of the session factory. */
  telemetry?: RuntimeTelemetry;
}

/** What is told of callers that go back and forth. */
const ALTERNATING = "callers alternate between two configurations of this connection: give each its own scope, or " +
  "move what rotates into the credentials hook";

/** See the module. */
export class PoolSessions implements SlotHost, Iterable<LiveSession> {
  readonly slots = new PoolSlots(this);
  readonly counters = newCounters();
  readonly telemetry: RuntimeTelemetry | undefined;
  readonly #factory: SessionFactory | PersistentSessionFactory;
  readonly #onEvent: RuntimeEventListener | undefined;
  readonly #idleTimeoutMs: number;
  readonly #maxLifetimeMs: number;
  readonly #backoff: BackoffLimits | false;
  readonly #capacity: Capacity;
  readonly #all = new Set<LiveSession>();

  /**
   * @param factory opens the sessions
   * @param options policy
   * @param telemetry follows openings and calls
   * @throws {McpRuntimeError} `INPUT_INVALID` for a limit that is not a number of at least 0
   */
  constructor(
    factory: SessionFactory | PersistentSessionFactory,
    options: PoolOptions,
    telemetry: RuntimeTelemetry | undefined,
  ) {
    this.#factory = factory;
    this.telemetry = telemetry;
    this.#onEvent = options.onEvent;
    this.#idleTimeoutMs = limitOf("idleTimeoutMs", options.idleTimeoutMs);
    this.#maxLifetimeMs = limitOf("maxLifetimeMs", options.maxLifetimeMs);
    const { openBackoff = {} } = options;
    this.#backoff = openBackoff !== false && {
      initialMs: limitOf("backoffInitialMs", openBackoff.initialMs),
      maxMs: limitOf("backoffMaxMs", openBackoff.maxMs),
    };
    this.#capacity = new Capacity(limitOf("maxSessions", options.maxSessions));
  }

  /** Every session that is live or closing. */
  [Symbol.iterator](): Iterator<LiveSession> {
    return this.#all.values();
  }

  async reserve(signal: AbortSignal): Promise<void> {
    const permit = this.#capacity.acquire(signal);
    this.#makeRoom();
    await permit;
  }

  release(): void {
    this.#capacity.release();
  }

  onServed(live: LiveSession): void {
    if (live.idle) this.#onIdle(live);
  }

  onEmpty(slot: Slot): void {
    this.slots.retire(slot);
  }

  async open(slot: Slot, group: SlotGroup, signal: AbortSignal): Promise<LiveSession> {
    const generation = slot.generation + 1;
    const startedAt = Date.now();
    slot.opening = true;
    this.#emit(slot, generation, { type: "session-opening" });
    const telemetry = this.#followOpening(slot, group, generation, signal);
    try {
      const create = () => this.#create(slot, group, generation, signal);
      const session = await (telemetry ? telemetry.run(create) : create());
      // Looked at in the very turn of registering: whoever gives up later finds the session and closes it.
      if (signal.aborted) {
        await session.close().catch(() => {}); // Nobody ever had this session.
        throw signal.reason;
      }
      const live = this.#register(slot, group, session, generation, telemetry);
      const durationMs = Date.now() - startedAt;
      telemetry?.opened({ generation, ...live.owner.clientFacts() });
      this.#emit(slot, generation, { type: "session-opened", durationMs, ...live.owner.clientFacts() });
      return live;
    } catch (error) {
      slot.opening = false;
      this.#capacity.release();
      this.counters.openFailed++;
      // An opening that was given up says nothing about the server, nor does one that was refused before any I/O.
      if (!signal.aborted && !(error instanceof McpRuntimeError && error.code === "NO_TRANSPORT")) {
        slot.backoff.failed(group.fingerprint, error, this.#backoff, Date.now(), Math.random());
      }
      telemetry?.failed(failureOf(error, signal));
      this.#emit(slot, generation, { type: "session-open-failed", durationMs: Date.now() - startedAt, error });
      throw error;
    }
  }

  #followOpening(slot: Slot, group: SlotGroup, generation: number, signal: AbortSignal): FollowedOpening | null {
    if (!this.telemetry) return null;
    const { connection, telemetry: call } = group;
    const telemetry = followOpening(this.telemetry, { connection, scope: slot.scope, generation }, call);
    claimOpening(signal, telemetry);
    return telemetry;
  }

  async #create(slot: Slot, group: SlotGroup, generation: number, signal: AbortSignal): Promise<PersistentMcpSession> {
    const context = { signal, generation, ...(slot.scope === undefined ? {} : { scope: slot.scope }) };
    const { connection, auth } = group;
    const factory = this.#factory;
    return await (factory instanceof PersistentSessionFactory
      ? factory.create(connection, auth, context)
      : openByFunction(factory, connection, auth, context));
  }

  #register(
    slot: Slot,
    group: SlotGroup,
    session: PersistentMcpSession,
    generation: number,
    telemetry: FollowedOpening | null,
  ): LiveSession {
    const owner = ownerOf(session);
    if (owner?.state !== "ready") throw notReady(slot.connectionId, owner);
    const live = new LiveSession(session, owner, group.fingerprint, generation, telemetry, slot);
    owner.generation = generation;
    owner.scope = slot.scope;
    if (this.telemetry) owner.follow = callFollower(this.telemetry, group.connection, group.auth, slot.scope);
    owner.observe({
      onLeave: () => this.#onLeave(slot, live),
      onIdle: () => this.#onIdle(live),
      onEvent: this.#onEvent,
    });
    owner.closed.then(({ reason }) => this.#onGone(slot, live, reason));
    this.#all.add(live);
    this.counters.opened++;
    slot.live = live;
    slot.opening = false;
    slot.generation = generation;
    slot.backoff.succeeded(group.fingerprint);
    live.watchIdle(this.#idleTimeoutMs, () => this.#evict(slot, live, "idle"));
    live.watchLifetime(this.#maxLifetimeMs, () => this.#evict(slot, live, "max-lifetime"));
    return live;
  }

  replace(slot: Slot, live: LiveSession, group: SlotGroup): void {
    live.ending ??= "replaced";
    const alternates = slot.replacedFingerprint === group.fingerprint;
    slot.replacedFingerprint = live.fingerprint;
    this.#emit(slot, live.generation, { type: "session-replaced", ...(alternates ? { advice: ALTERNATING } : {}) });
    // A close that fails or is slow is told by the session's own event; it must not stop the successor.
    live.owner.close().catch(() => {});
  }

  #evict(slot: Slot, live: LiveSession, reason: "idle" | "max-sessions" | "max-lifetime"): void {
    if (live.ending) return;
    live.ending = "evicted";
    live.evictedForRoom = reason === "max-sessions";
    if (live.evictedForRoom) this.#capacity.expect();
    this.#emit(slot, live.generation, { type: "session-evicted", reason });
    // No limit for draining: policy never cuts a call short, the calls have limits of their own.
    live.owner.close(Infinity).catch(() => {});
  }

  /** Evicts the least recently used idle session when somebody waits for room that nothing else will give. */
  #makeRoom(): void {
    if (!this.#capacity.short) return;
    let oldest: { slot: Slot; live: LiveSession } | undefined;
    for (const slot of this.slots) {
      const { live } = slot;
      if (live?.idle && slot.waiting === 0 && (!oldest || live.lastUsedAt < oldest.live.lastUsedAt)) {
        oldest = { slot, live };
      }
    }
    if (oldest) this.#evict(oldest.slot, oldest.live, "max-sessions");
  }

  #onIdle(live: LiveSession): void {
    live.lastUsedAt = Date.now();
    this.#makeRoom();
  }

  /** The session takes no more calls: it leaves the pool, by identity, whatever has taken its place. */
  #onLeave(slot: Slot, live: LiveSession): void {
    live.unwatch();
    slot.leaving++;
    const lost = live.owner.state === "lost";
    live.ending ??= lost ? "lost" : "closed";
    if (slot.live !== live) return;
    slot.live = undefined;
    // Two processes of one server may fight over its files, so the next waits for the last one's end. A lost HTTP session
    // has nothing to wait for; exchanges that still run on it end by themselves.
    if (!lost || live.owner.client?.pid !== undefined) slot.previous = live;
  }

  #onGone(slot: Slot, live: LiveSession, reason: McpRuntimeError | undefined): void {
    live.telemetry?.ended(reason);
    this.#all.delete(live);
    this.counters[live.ending as Ending]++;
    this.#capacity.release(live.evictedForRoom);
    slot.leaving--;
    if (slot.previous === live) slot.previous = undefined;
    this.slots.retire(slot);
  }

  #emit(slot: Slot, generation: number, event: OwnEvent): void {
    if (this.#onEvent) emit(this.#onEvent, eventOf(event, slot.connectionId, slot.scope, generation));
  }
}

function notReady(connectionId: string, owner: SessionOwner | undefined): McpRuntimeError {
  const seen = owner ? `a session that is ${owner.state}` : "no PersistentMcpSession";
  const why = owner?.reason ? `: ${owner.reason.message}` : "";
  return new McpRuntimeError(
    `connection "${connectionId}" could not be opened: the session factory gave ${seen}${why}`,
    { code: "OPEN_FAILED", connectionId, ...(owner?.reason ? { cause: owner.reason } : {}) },
  );
}
