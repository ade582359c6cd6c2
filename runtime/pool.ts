/**
 * `McpRuntimePool`: one live session per connection and scope, opened when needed and kept between calls.
 *
 * @module
 */
import { type AuthRecord, parseAuth } from "./auth.ts";
import { Capacity } from "./capacity.ts";
import type { CallToolOptions } from "./client.ts";
import { type McpSourceConnection, parseConnection } from "./connection.ts";
import { BackoffError, McpRuntimeError } from "./errors.ts";
import { emit, type RuntimeEvent, type RuntimeEventListener } from "./events.ts";
import { PersistentSessionFactory, type SessionContext } from "./factory.ts";
import { connectionRuntimeFingerprint } from "./fingerprint.ts";
import { printAsJson } from "./inspect.ts";
import { limitOf } from "./limits.ts";
import { type Ending, LiveSession } from "./live_session.ts";
import { ownerOf, queueTimeoutError } from "./owner.ts";
import { mayResend, PoolCall, type PoolCallOptions } from "./pool_call.ts";
import type { PoolStats, SessionInfo } from "./pool_stats.ts";
import { collectStats, countSettled, describeSessions, newCounters } from "./pool_stats.ts";
import type { ToolExecutor } from "./protocols.ts";
import type { ToolCallResult } from "./result.ts";
import { redactorFor, safeCause } from "./secrets.ts";
import type { PersistentMcpSession } from "./session.ts";
import { Slot, type SlotGroup, type SlotHost } from "./slot.ts";
import {
  callFollower,
  claimOpening,
  failureOf,
  type FollowedCallOptions,
  type FollowedOpening,
  followOpening,
  type RuntimeTelemetry,
  TELEMETRY,
  telemetryOf,
} from "./telemetry_hooks.ts";
import { startTimer } from "./timers.ts";
import { checkToolCall } from "./tool_call.ts";

export { connectionRuntimeFingerprint } from "./fingerprint.ts";
export type { PoolCallOptions } from "./pool_call.ts";
export type { PoolStats, SessionInfo } from "./pool_stats.ts";

/** Opens a session for the pool. May be synchronous. The pool owns and closes what it returns. */
export type SessionFactory = (
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  context?: SessionContext,
) => PersistentMcpSession | Promise<PersistentMcpSession>;

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

/** Options of {@linkcode McpRuntimePool.getSession}. */
export interface GetSessionOptions {
  /** Who shares the session. Default: all callers without a scope. */
  scope?: string;
  /** Gives the wait up: rejects with `signal.reason`. The opening goes on for others. */
  signal?: AbortSignal;
  /** Longest wait, in milliseconds. Default none. */
  queueTimeoutMs?: number;
}

/** A session factory that is a function keeps no limit of its own. */
const FUNCTION_FACTORY_LIMIT_MS = 120_000;

/** Keys whose sessions are gone are remembered for their generation and backoff, but not for ever. */
const MAX_RETIRED_SLOTS = 10_000;

/**
 * Makes tool calls on persistent sessions: one live session per connection (and scope), shared by all callers.
 *
 * - The first call opens the session; parallel first calls share one opening.
 * - A session whose configuration changed is drained and closed, then its successor opens.
 * - A session that was lost, closed or evicted leaves the pool at once; the next call opens a new one.
 * - A call is sent again, once, only when it provably did not run (see `retry`).
 * - Sessions never wait for one another.
 *
 * @example
 * ```ts
 * import { McpRuntimePool, PersistentMcpSession } from "@wf/sources-mcp";
 *
 * const connection = { id: "echo.test", provider: "echo", account: "test" };
 * await using pool = new McpRuntimePool((connection, auth) =>
 *   new PersistentMcpSession({
 *     connection,
 *     auth,
 *     callCallback: (_tool, payload) => ({ structuredContent: { echoed: payload.text } }),
 *   })
 * );
 * const result = await pool.callTool(connection, null, "echo", { text: "hi" });
 * console.log(result.output); // { echoed: "hi" }
 * ```
 */
export class McpRuntimePool implements ToolExecutor, AsyncDisposable {
  static {
    printAsJson(this);
  }
  readonly #factory: SessionFactory | PersistentSessionFactory;
  readonly #onEvent: RuntimeEventListener | undefined;
  readonly #telemetry: RuntimeTelemetry | undefined;
  readonly #idleTimeoutMs: number;
  readonly #maxLifetimeMs: number;
  readonly #backoff: { initialMs: number; maxMs: number } | false;
  readonly #capacity: Capacity;
  readonly #host: SlotHost;
  readonly #slots = new Map<string, Slot>();
  /** Slots that hold nothing, oldest first. */
  readonly #retired = new Map<string, Slot>();
  /** No generation at or below it is given to a key that is not remembered, so that none is ever given twice. */
  #generationFloor = 0;
  /** Every session from its opening until it is gone. */
  readonly #sessions = new Set<LiveSession>();
  readonly #counters = newCounters();
  #evictingForRoom = 0;
  #closed: McpRuntimeError | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Makes a pool; nothing is opened before the first call.
   *
   * @param sessionFactory opens the sessions: a `PersistentSessionFactory` or a function. Default: a factory with
   * default options
   * @param options policy
   * @throws {McpRuntimeError} `INPUT_INVALID` for a limit that is not a number of at least 0
   */
  constructor(
    sessionFactory: SessionFactory | PersistentSessionFactory = new PersistentSessionFactory(),
    options: PoolOptions = {},
  ) {
    this.#factory = sessionFactory;
    this.#onEvent = options.onEvent;
    this.#telemetry = options.telemetry ?? telemetryOf(sessionFactory);
    this.#idleTimeoutMs = limitOf("idleTimeoutMs", options.idleTimeoutMs);
    this.#maxLifetimeMs = limitOf("maxLifetimeMs", options.maxLifetimeMs);
    const { openBackoff = {} } = options;
    this.#backoff = openBackoff !== false && {
      initialMs: limitOf("backoffInitialMs", openBackoff.initialMs),
      maxMs: limitOf("backoffMaxMs", openBackoff.maxMs),
    };
    this.#capacity = new Capacity(limitOf("maxSessions", options.maxSessions));
    this.#host = {
      reserve: (signal) => this.#reserve(signal),
      release: () => this.#capacity.release(),
      open: (slot, group, signal) => this.#open(slot, group, signal),
      replace: (slot, live, group) => this.#replace(slot, live, group),
      onServed: (slot, live) => {
        if (live.idle) this.#onIdle(live);
      },
      onEmpty: (slot) => this.#retire(slot),
    };
  }

  /**
   * Calls a tool on the connection's session, opening it when there is none.
   *
   * @param connection the connection, parsed or a literal; parsed and frozen ones are cheaper
   * @param auth its auth record, or `null`
   * @param toolName name of the tool
   * @param payload its arguments, JSON values only
   * @param options signal, limits, progress, scope, retry, expected generation
   * @returns the normalised result with the generation of the session that gave it; a tool's own failure is a result
   * with outcome `error`
   * @throws {McpRuntimeError} `CONNECTION_INVALID`, `INPUT_INVALID`, `NO_TRANSPORT`, `POOL_CLOSED`, `OPEN_FAILED`,
   * `UNSUPPORTED`, `AUTH_REJECTED`, `QUEUE_FULL`, `QUEUE_TIMEOUT` (not sent); `CALL_TIMEOUT`, `SESSION_CLOSED`,
   * `SESSION_LOST`, `HTTP_ERROR`, `PROTOCOL_ERROR`, `MESSAGE_TOO_LARGE` (see `delivery`). A caller's abort rejects with
   * `signal.reason` itself
   */
  async callTool(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    toolName: string,
    payload: Record<string, unknown>,
    options: PoolCallOptions = {},
  ): Promise<ToolCallResult> {
    const checked = parseConnection(connection);
    const checkedAuth = auth === null ? null : parseAuth(auth);
    checkToolCall(checked.id, toolName, payload, options);
    const call = new PoolCall(checked, checkedAuth, toolName, payload, options, this.#counters);
    const fingerprint = connectionRuntimeFingerprint(checked, checkedAuth);
    this.#counters.open++;
    if (this.#telemetry) {
      call.telemetry = callFollower(this.#telemetry, checked, checkedAuth, options.scope)(toolName, payload, options);
    }
    for (;;) {
      try {
        const result = await this.#attempt(call, fingerprint);
        call.settled();
        countSettled(this.#counters, result.outcome);
        call.telemetry?.settled(result);
        return result;
      } catch (error) {
        call.settled();
        if (mayResend(call, error)) {
          call.again(error);
          call.telemetry?.resend(error as McpRuntimeError);
          continue;
        }
        countSettled(this.#counters, options.signal?.aborted && error === options.signal.reason ? "ABORTED" : error);
        call.telemetry?.failed(failureOf(error, options.signal));
        throw call.told(error);
      }
    }
  }

  /**
   * The connection's session, opened when there is none. It is not a lease: the pool may close it at any time, by
   * policy or because another caller's configuration replaced it. `callTool` of the pool has no such gap.
   *
   * @param connection the connection, parsed or a literal
   * @param auth its auth record, or `null`
   * @param options scope, signal, limit of the wait
   * @returns a session that was ready when this resolved
   * @throws {McpRuntimeError} as {@linkcode McpRuntimePool.callTool} before sending
   */
  async getSession(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    options: GetSessionOptions = {},
  ): Promise<PersistentMcpSession> {
    const checked = parseConnection(connection);
    const checkedAuth = auth === null ? null : parseAuth(auth);
    const fingerprint = connectionRuntimeFingerprint(checked, checkedAuth);
    const slot = this.#slotOf(checked.id, options.scope);
    if (options.signal?.aborted) throw options.signal.reason;
    if (slot.live?.fingerprint === fingerprint) return slot.live.session;
    return await this.#wait(slot, checked, checkedAuth, fingerprint, options, Date.now(), (live) => live.session);
  }

  /**
   * Closes every session of a connection, in every scope, after draining accepted calls. Calls that wait for a session
   * are refused. A later call opens a new session.
   *
   * @param connectionId id of the connection
   * @returns resolves when everything is gone
   * @throws {AggregateError} what close callbacks threw
   */
  async closeConnection(connectionId: string): Promise<void> {
    const error = new McpRuntimeError(`connection "${connectionId}" was closed`, {
      code: "SESSION_CLOSED",
      connectionId,
    });
    const slots = [...this.#slots.values()].filter((slot) => slot.connectionId === connectionId);
    const sessions = [...this.#sessions].filter((live) => live.key.connectionId === connectionId);
    await this.#end(slots, sessions, error, (live) => live.owner.close());
  }

  /**
   * Closes the pool: refuses new calls, closes every session in parallel after draining, and waits until everything is
   * gone. Idempotent. A pool that was closed stays closed.
   *
   * @returns resolves when nothing is left
   * @throws {AggregateError} what close callbacks threw, after everything has ended all the same
   */
  closeAll(): Promise<void> {
    this.#closing ??= this.#shutDown("was closed", (live) => live.owner.close());
    return this.#closing;
  }

  /**
   * Closes the pool without draining: calls in flight and waiting are rejected at once. Also ends a `closeAll` that is
   * still draining.
   *
   * @param reason kept as cause of the rejections
   * @returns resolves when nothing is left
   * @throws {AggregateError} what close callbacks threw
   */
  async abort(reason?: unknown): Promise<void> {
    await this.#shutDown("was aborted", (live) => live.owner.abort(reason), reason);
  }

  /** Closes the pool; the same as {@linkcode McpRuntimePool.closeAll}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAll();
  }

  /**
   * Counts, as one snapshot whose parts sum: `opened` is the number of sessions that are idle, busy and closing, plus
   * those closed, lost, replaced and evicted; every call accepted is queued, in flight, ok, error or failed.
   *
   * @returns the counts
   */
  stats(): PoolStats {
    return collectStats(this.#slots.values(), this.#sessions, this.#counters);
  }

  /**
   * The sessions of the pool, for people: no secret is in it.
   *
   * @returns one entry for each session that is opening, live or closing
   */
  sessions(): readonly SessionInfo[] {
    return describeSessions(this.#slots.values(), this.#sessions);
  }

  /** What may be shown of a pool: its counts. */
  toJSON(): Record<string, unknown> {
    return { ...this.stats() };
  }

  #attempt(call: PoolCall, fingerprint: string): Promise<ToolCallResult> {
    const { options } = call;
    const slot = this.#slotOf(call.connection.id, options.scope);
    if (options.signal?.aborted) throw options.signal.reason;
    const { live } = slot;
    call.expectGeneration(slot, live?.fingerprint === fingerprint);
    // Between its opening and the next turn a session has callers that came before this one.
    if (live?.fingerprint === fingerprint && !slot.serves(fingerprint)) return this.#run(call, live, options);
    const followed = { ...options, [TELEMETRY]: call.telemetry };
    return this.#wait(slot, call.connection, call.auth, fingerprint, followed, call.acceptedAt, (ready) => {
      call.telemetry?.waited(ready.telemetry ?? undefined);
      const { queueTimeoutMs } = options;
      const left = queueTimeoutMs ? Math.max(1, queueTimeoutMs - (Date.now() - call.acceptedAt)) : queueTimeoutMs;
      return this.#run(call, ready, { ...options, queueTimeoutMs: left });
    });
  }

  async #run(call: PoolCall, live: LiveSession, options: CallToolOptions): Promise<ToolCallResult> {
    const { generation } = live;
    call.expectGeneration(live, true); // It may have waited for another session than the one it was accepted for.
    const result = await live.owner.submit(call.toolName, call.payload, options, call);
    result.session = { generation };
    return result;
  }

  /** Waits in the slot until `use` has got its session; each way out removes the timer and the listener. */
  #wait<T>(
    slot: Slot,
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    fingerprint: string,
    options: GetSessionOptions & Pick<FollowedCallOptions, typeof TELEMETRY>,
    since: number,
    use: (live: LiveSession) => T | Promise<T>,
  ): Promise<T> {
    const limitMs = limitOf("queueTimeoutMs", options.queueTimeoutMs);
    this.#refuseDuringBackoff(slot, connection, fingerprint);
    this.#activate(slot);
    return new Promise((resolve, reject) => {
      const { signal } = options;
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const leave = slot.join(
        {
          deliver: (live) => {
            settle();
            resolve(use(live));
          },
          fail: (error) => {
            settle();
            reject(error);
          },
          telemetry: options[TELEMETRY],
        },
        fingerprint,
        connection,
        auth,
      );
      const giveUp = (reason: unknown) => {
        settle();
        leave();
        reject(reason);
      };
      const onAbort = () => giveUp(signal!.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      const left = limitMs === Infinity ? Infinity : Math.max(0, limitMs - (Date.now() - since));
      const timer = startTimer(() => giveUp(queueTimeoutError(connection.id, since, limitMs)), left);
    });
  }

  #refuseDuringBackoff(slot: Slot, connection: McpSourceConnection, fingerprint: string): void {
    const retryAfterMs = slot.serves(fingerprint) ? 0 : slot.backoff.waitMs(fingerprint, Date.now());
    if (retryAfterMs === 0) return;
    const cause = slot.backoff.lastError(fingerprint);
    const said = cause instanceof Error ? cause.message : "no reason is known";
    throw new BackoffError(`connection "${connection.id}" is not tried again for ${retryAfterMs} ms: ${said}`, {
      code: "OPEN_FAILED",
      connectionId: connection.id,
      retryAfterMs,
      cause,
    });
  }

  #slotOf(connectionId: string, scope: string | undefined): Slot {
    if (this.#closed) throw this.#closed.restate({ connectionId });
    if (scope !== undefined && typeof scope !== "string") {
      throw new McpRuntimeError(`scope must be a string: ${typeof scope}`, { code: "INPUT_INVALID", connectionId });
    }
    const key = scope === undefined ? connectionId : `${connectionId}\0${scope}`;
    let slot = this.#slots.get(key) ?? this.#retired.get(key);
    if (!slot) {
      slot = new Slot(this.#host, key, connectionId, scope, this.#generationFloor);
      this.#retire(slot);
    }
    return slot;
  }

  #activate(slot: Slot): void {
    this.#retired.delete(slot.key);
    this.#slots.set(slot.key, slot);
  }

  #retire(slot: Slot): void {
    if (!slot.empty) return;
    this.#slots.delete(slot.key);
    this.#retired.set(slot.key, slot);
    if (this.#retired.size <= MAX_RETIRED_SLOTS) return;
    const [key, oldest] = this.#retired.entries().next().value!;
    this.#retired.delete(key);
    this.#generationFloor = Math.max(this.#generationFloor, oldest.generation);
  }

  async #open(slot: Slot, group: SlotGroup, signal: AbortSignal): Promise<LiveSession> {
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
      this.#counters.openFailed++;
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
    if (!this.#telemetry) return null;
    const { connection, telemetry: call } = group;
    const telemetry = followOpening(this.#telemetry, { connection, scope: slot.scope, generation }, call);
    claimOpening(signal, telemetry);
    return telemetry;
  }

  async #create(slot: Slot, group: SlotGroup, generation: number, signal: AbortSignal): Promise<PersistentMcpSession> {
    const context = { signal, generation, ...(slot.scope === undefined ? {} : { scope: slot.scope }) };
    const factory = this.#factory;
    const session = factory instanceof PersistentSessionFactory
      ? await factory.create(group.connection, group.auth, context)
      : await fromFunction(factory, group, context);
    return session;
  }

  #register(
    slot: Slot,
    group: SlotGroup,
    session: PersistentMcpSession,
    generation: number,
    telemetry: FollowedOpening | null,
  ): LiveSession {
    const owner = ownerOf(session);
    if (owner?.state !== "ready") {
      const seen = owner ? `a session that is ${owner.state}` : "no PersistentMcpSession";
      throw new McpRuntimeError(
        `connection "${slot.connectionId}" could not be opened: the session factory gave ${seen}`,
        {
          code: "OPEN_FAILED",
          connectionId: slot.connectionId,
        },
      );
    }
    const live = new LiveSession(session, owner, group.fingerprint, generation, telemetry, slot);
    owner.generation = generation;
    owner.scope = slot.scope;
    if (this.#telemetry) owner.follow = callFollower(this.#telemetry, group.connection, group.auth, slot.scope);
    owner.observe({
      onLeave: () => this.#onLeave(slot, live),
      onIdle: () => this.#onIdle(live),
      onEvent: this.#onEvent,
    });
    owner.closed.then(({ reason }) => this.#onGone(slot, live, reason));
    this.#sessions.add(live);
    this.#counters.opened++;
    slot.live = live;
    slot.opening = false;
    slot.generation = generation;
    slot.backoff.succeeded(group.fingerprint);
    live.watchIdle(this.#idleTimeoutMs, () => this.#evict(slot, live, "idle"));
    live.watchLifetime(this.#maxLifetimeMs, () => this.#evict(slot, live, "max-lifetime"));
    return live;
  }

  #replace(slot: Slot, live: LiveSession, group: SlotGroup): void {
    live.ending ??= "replaced";
    const alternates = slot.replacedFingerprint === group.fingerprint;
    slot.replacedFingerprint = live.fingerprint;
    const advice =
      "callers alternate between two configurations of this connection: give each its own scope, or move " +
      "what rotates into the credentials hook";
    this.#emit(slot, live.generation, { type: "session-replaced", ...(alternates ? { advice } : {}) });
    // A close that fails or is slow is told by the session's own event; it must not stop the successor.
    live.owner.close().catch(() => {});
  }

  #evict(slot: Slot, live: LiveSession, reason: "idle" | "max-sessions" | "max-lifetime"): void {
    if (live.ending) return;
    live.ending = "evicted";
    live.evictedForRoom = reason === "max-sessions";
    if (live.evictedForRoom) this.#evictingForRoom++;
    this.#emit(slot, live.generation, { type: "session-evicted", reason });
    // No limit for draining: policy never cuts a call short, the calls have limits of their own.
    live.owner.close(Infinity).catch(() => {});
  }

  async #reserve(signal: AbortSignal): Promise<void> {
    const permit = this.#capacity.acquire(signal);
    if (this.#capacity.waiting > this.#evictingForRoom) this.#evictLeastRecentlyUsed();
    await permit;
  }

  #evictLeastRecentlyUsed(): void {
    let oldest: { slot: Slot; live: LiveSession } | undefined;
    for (const slot of this.#slots.values()) {
      const { live } = slot;
      if (live?.idle && slot.waiting === 0 && (!oldest || live.lastUsedAt < oldest.live.lastUsedAt)) {
        oldest = { slot, live };
      }
    }
    if (oldest) this.#evict(oldest.slot, oldest.live, "max-sessions");
  }

  #onIdle(live: LiveSession): void {
    live.lastUsedAt = Date.now();
    if (this.#capacity.waiting > this.#evictingForRoom) this.#evictLeastRecentlyUsed();
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
    this.#sessions.delete(live);
    this.#counters[live.ending as Ending]++;
    // In one turn with the permit: a caller that comes in between must not count on the room of the one before.
    if (live.evictedForRoom) this.#evictingForRoom--;
    this.#capacity.release();
    slot.leaving--;
    if (slot.previous === live) slot.previous = undefined;
    this.#retire(slot);
  }

  async #shutDown(
    what: string,
    close: (live: LiveSession) => Promise<void>,
    cause?: unknown,
  ): Promise<void> {
    this.#closed ??= new McpRuntimeError(`the pool ${what}`, {
      code: "POOL_CLOSED",
      ...(cause === undefined ? {} : { cause }),
    });
    await this.#end([...this.#slots.values()], [...this.#sessions], this.#closed, close);
  }

  async #end(
    slots: Slot[],
    sessions: LiveSession[],
    error: McpRuntimeError,
    close: (live: LiveSession) => Promise<void>,
  ): Promise<void> {
    const openings = slots.map((slot) => slot.cancel(error));
    const closings = sessions.map((live) => {
      live.ending ??= "closed";
      return close(live);
    });
    const outcomes = await Promise.allSettled([...closings, ...openings, ...sessions.map((live) => live.owner.closed)]);
    const failures = outcomes.filter((outcome) => outcome.status === "rejected").map((outcome) => outcome.reason);
    if (failures.length > 0) {
      throw new AggregateError(failures, `${failures.length} of ${sessions.length} sessions failed to close`);
    }
  }

  #emit(slot: Slot, generation: number, event: { type: RuntimeEvent["type"] } & Record<string, unknown>): void {
    if (!this.#onEvent) return;
    const scope = slot.scope === undefined ? {} : { scope: slot.scope };
    emit(this.#onEvent, { ...event, connectionId: slot.connectionId, ...scope, generation } as RuntimeEvent);
  }
}

/** A function may take as long as it likes and ignore the signal; what comes too late is closed. */
async function fromFunction(
  factory: SessionFactory,
  group: SlotGroup,
  context: SessionContext & { signal: AbortSignal },
): Promise<PersistentMcpSession> {
  const { signal } = context;
  const work = (async () => await factory(group.connection, group.auth, context))();
  let onAbort!: () => void;
  let timer: ReturnType<typeof startTimer>;
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    timer = startTimer(
      () => reject(new Error(`it took more than ${FUNCTION_FACTORY_LIMIT_MS} ms`)),
      FUNCTION_FACTORY_LIMIT_MS,
    );
  });
  try {
    return await Promise.race([work, ended]);
  } catch (error) {
    work.then((session) => session.close()).catch(() => {}); // Late, and nobody waits for it.
    if (signal.aborted) throw signal.reason;
    if (error instanceof McpRuntimeError) throw error;
    const cause = safeCause(error, redactorFor(group.connection, group.auth));
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new McpRuntimeError(
      `connection "${group.connection.id}" could not be opened: the session factory failed: ${said}`,
      {
        code: "OPEN_FAILED",
        connectionId: group.connection.id,
        cause,
      },
    );
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
