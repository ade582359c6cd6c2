/**
 * `McpRuntimePool`: one live session per connection and scope, opened when needed and kept between calls.
 *
 * @module
 */
import { type AuthRecord, parseAuthOrNull } from "./auth.ts";
import type { CallToolOptions } from "./client.ts";
import { type McpSourceConnection, parseConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import { PersistentSessionFactory } from "./factory.ts";
import { connectionRuntimeFingerprint } from "./fingerprint.ts";
import { checkOptions, checkValue, type OptionKinds } from "./input.ts";
import { printAsJson } from "./inspect.ts";
import { type LaneLimits, laneLimitsOf } from "./lane.ts";
import { limitOf } from "./limits.ts";
import type { LiveSession } from "./live_session.ts";
import { mayResend, PoolCall, type PoolCallOptions } from "./pool_call.ts";
import type { SessionFactory } from "./pool_function.ts";
import { type PoolOptions, PoolSessions } from "./pool_sessions.ts";
import { collectStats, countSettled, describeSessions, type PoolStats, type SessionInfo } from "./pool_stats.ts";
import { waitInSlot, type WaitLimits } from "./pool_wait.ts";
import type { ToolExecutor } from "./protocols.ts";
import type { ToolCallResult } from "./result.ts";
import type { PersistentMcpSession } from "./session.ts";
import { sessionError } from "./session_errors.ts";
import type { Slot, SlotConfig } from "./slot.ts";
import { callFollower, failureOf, telemetryOf } from "./telemetry_hooks.ts";
import { checkToolCall } from "./tool_call.ts";

export { connectionRuntimeFingerprint } from "./fingerprint.ts";
export type { PoolCallOptions } from "./pool_call.ts";
export type { SessionFactory } from "./pool_function.ts";
export type { PoolOptions } from "./pool_sessions.ts";
export type { PoolStats, SessionInfo } from "./pool_stats.ts";

/** Options of {@linkcode McpRuntimePool.getSession}. */
export interface GetSessionOptions {
  /** Who shares the session. Default: all callers without a scope. */
  scope?: string;
  /** Gives the wait up: rejects with `signal.reason`. The opening goes on for others. */
  signal?: AbortSignal;
  /** Longest wait, in milliseconds. Default: that of the session factory, which has none unless it is told one. */
  queueTimeoutMs?: number;
}

const WAIT_OPTIONS: OptionKinds = Object.freeze({ scope: "string", signal: "signal", queueTimeoutMs: "limit" });

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
  readonly #sessions: PoolSessions;
  /** The limits of the sessions, under which callers wait for them too; a factory that is a function has none. */
  readonly #limits: LaneLimits | undefined;
  #closed: McpRuntimeError | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Makes a pool; nothing is opened before the first call.
   *
   * @param sessionFactory opens the sessions: a `PersistentSessionFactory` or a function. Default: a factory with
   * default options
   * @param options policy
   * @throws {McpRuntimeError} `INPUT_INVALID` for a limit that is not a number of at least 0, and any other argument or
   * option of a wrong kind
   */
  constructor(
    sessionFactory: SessionFactory | PersistentSessionFactory = new PersistentSessionFactory(),
    options: PoolOptions = {},
  ) {
    if (!(sessionFactory instanceof PersistentSessionFactory)) {
      checkValue("sessionFactory", sessionFactory, "function");
    }
    checkOptions(options, { openBackoff: "backoff", onEvent: "function", telemetry: "telemetry" });
    this.#sessions = new PoolSessions(sessionFactory, options, options.telemetry ?? telemetryOf(sessionFactory));
    this.#limits = laneLimitsOf(sessionFactory);
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
    const config = configOf(connection, auth);
    checkToolCall(config.connection.id, toolName, payload, options);
    const { counters, telemetry } = this.#sessions;
    const call = new PoolCall(config, toolName, payload, options, counters);
    counters.open++;
    if (telemetry) {
      const follow = callFollower(telemetry, config.connection, config.auth, options.scope);
      call.telemetry = follow(toolName, payload, options);
    }
    for (;;) {
      try {
        const result = await this.#attempt(call);
        call.settled();
        countSettled(counters, result.outcome);
        call.telemetry?.settled(result);
        return result;
      } catch (error) {
        call.settled();
        if (mayResend(call, error)) {
          call.again(error);
          call.telemetry?.resend(error as McpRuntimeError);
          continue;
        }
        countSettled(counters, options.signal?.aborted && error === options.signal.reason ? "ABORTED" : error);
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
    const config = configOf(connection, auth);
    checkOptions(options, WAIT_OPTIONS, config.connection.id);
    const limitMs = limitOf("queueTimeoutMs", options.queueTimeoutMs, this.#limits?.queueTimeoutMs);
    const slot = this.#slotOf(config.connection.id, options.scope);
    if (options.signal?.aborted) throw options.signal.reason;
    if (slot.live?.fingerprint === config.fingerprint) return slot.live.session;
    const limits = { signal: options.signal, since: Date.now(), limitMs };
    return await this.#wait(slot, config, limits, (live) => live.session);
  }

  /**
   * Closes every session of a connection, in every scope, after draining accepted calls. Calls that wait for a session
   * are refused. A later call opens a new session.
   *
   * @param connectionId id of the connection
   * @returns resolves when everything is gone
   * @throws {McpRuntimeError} `INPUT_INVALID` for an id that is no text
   * @throws {AggregateError} what close callbacks threw
   */
  async closeConnection(connectionId: string): Promise<void> {
    checkValue("connectionId", connectionId, "name");
    const error = new McpRuntimeError(`connection "${connectionId}" was closed`, {
      code: "SESSION_CLOSED",
      connectionId,
    });
    const slots = [...this.#sessions.slots].filter((slot) => slot.connectionId === connectionId);
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
    return collectStats(this.#sessions.slots, this.#sessions, this.#sessions.counters);
  }

  /**
   * The sessions of the pool, for people: no secret is in it.
   *
   * @returns one entry for each session that is opening, live or closing
   */
  sessions(): readonly SessionInfo[] {
    return describeSessions(this.#sessions.slots, this.#sessions);
  }

  /** What may be shown of a pool: its counts. */
  toJSON(): Record<string, unknown> {
    return { ...this.stats() };
  }

  #attempt(call: PoolCall): Promise<ToolCallResult> {
    const { options, config: { connection, fingerprint } } = call;
    const slot = this.#slotOf(connection.id, options.scope);
    if (options.signal?.aborted) throw options.signal.reason;
    const { live } = slot;
    call.expectGeneration(slot, live?.fingerprint === fingerprint);
    // Between its opening and the next turn a session has callers that came before this one.
    if (live?.fingerprint === fingerprint && !slot.serves(fingerprint)) return this.#run(call, live, options);
    const limitMs = limitOf("queueTimeoutMs", options.queueTimeoutMs, this.#limits?.queueTimeoutMs);
    const limits = { signal: options.signal, since: call.acceptedAt, limitMs, telemetry: call.telemetry };
    return this.#wait(slot, call.config, limits, (ready) => {
      call.telemetry?.waited(ready.telemetry ?? undefined);
      if (limitMs === Infinity) return this.#run(call, ready, options);
      return this.#run(call, ready, {
        ...options,
        queueTimeoutMs: Math.max(1, limitMs - (Date.now() - call.acceptedAt)),
      });
    });
  }

  async #run(call: PoolCall, live: LiveSession, options: CallToolOptions): Promise<ToolCallResult> {
    const { generation } = live;
    call.expectGeneration(live, true); // It may have waited for another session than the one it was accepted for.
    const result = await live.owner.submit(call.toolName, call.payload, options, call);
    result.session = { generation };
    return result;
  }

  #wait<T>(slot: Slot, config: SlotConfig, limits: WaitLimits, use: (live: LiveSession) => T | Promise<T>): Promise<T> {
    slot.refuseDuringBackoff(config.fingerprint, Date.now());
    const { maxQueuedCalls, concurrency } = this.#limits ?? { maxQueuedCalls: Infinity, concurrency: 0 };
    // As many as the session will take at once when it comes.
    const room = maxQueuedCalls + concurrency;
    if (slot.waiting >= room) {
      const what = `has no room for another call: ${slot.waiting} wait for it, the limit is ${room}`;
      throw sessionError(slot.connectionId, "QUEUE_FULL", what);
    }
    this.#sessions.slots.activate(slot);
    return waitInSlot(slot, config, limits, use);
  }

  #slotOf(connectionId: string, scope: string | undefined): Slot {
    if (this.#closed) throw this.#closed.restate({ connectionId });
    return this.#sessions.slots.get(connectionId, scope);
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
    await this.#end([...this.#sessions.slots], [...this.#sessions], this.#closed, close);
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
}

function configOf(connection: McpSourceConnection, auth: AuthRecord | null): SlotConfig {
  const checked = parseConnection(connection);
  const checkedAuth = parseAuthOrNull(auth);
  return { connection: checked, auth: checkedAuth, fingerprint: connectionRuntimeFingerprint(checked, checkedAuth) };
}
