/**
 * `PersistentSessionFactory`: opens sessions that own their transport.
 *
 * @module
 */
import { type AuthRecord, parseAuthOrNull } from "./auth.ts";
import type { OpenSessionOptions, ToolClient } from "./client.ts";
import { type McpSourceConnection, parseConnection } from "./connection.ts";
import { McpTimeoutError } from "./errors.ts";
import { emit, eventOf, type OwnEvent } from "./emit.ts";
import type { RuntimeEventListener } from "./events.ts";
import { connectionRuntimeFingerprint } from "./fingerprint.ts";
import { guarded } from "./guarded_client.ts";
import { openClient, openingError } from "./handshake.ts";
import { checkOpeningOptions, checkOptions } from "./input.ts";
import { printAsJson } from "./inspect.ts";
import { registerLaneLimits } from "./lane.ts";
import { limitOf } from "./limits.ts";
import { type OwnerLimits, SessionOwner } from "./owner.ts";
import { redactorFor } from "./secrets.ts";
import { PersistentMcpSession, type SessionInit } from "./session.ts";
import {
  callFollower,
  claimedOpening,
  failureOf,
  type FollowedOpenOptions,
  followOpening,
  registerTelemetry,
  type RuntimeTelemetry,
  TELEMETRY,
} from "./telemetry_hooks.ts";
import { settledWithin, startTimer, type Timer } from "./timers.ts";
import { CredentialsSource } from "./transport/credentials.ts";

/** Options of a factory: what an opening takes, and the limits of the sessions it makes. */
export interface SessionFactoryOptions extends Omit<OpenSessionOptions, "signal" | "scope"> {
  /**
   * Default of `queueTimeoutMs`, in milliseconds: for calls, and for callers of a pool that wait for a session. Default
   * none.
   */
  queueTimeoutMs?: number;
  /** How long accepted calls may go on when a session closes, in milliseconds. Default 30 000. */
  drainTimeoutMs?: number;
  /** Calls that may wait in one session. Default 1 000; one more is refused with `QUEUE_FULL`. */
  maxQueuedCalls?: number;
  /** Calls of one session sent and not answered. Default 1: the server sees one call after another. */
  concurrency?: number;
  /** Hears of the sessions this factory makes and their calls. */
  onEvent?: RuntimeEventListener;
  /** Follows the openings of this factory and the calls of its sessions; a pool that has none of its own uses it too. */
  telemetry?: RuntimeTelemetry;
}

type OpeningExtras = Pick<FollowedOpenOptions, "scope" | "credentials" | typeof TELEMETRY>;

/** What a session is opened for. */
export interface SessionContext {
  /** Who shares the session; handed to the credentials hook. */
  scope?: string;
  /** Gives the opening up: `create` rejects with `signal.reason` after what was started has ended. */
  signal?: AbortSignal;
  /** Which session of its connection and scope this is, for events; the pool counts. Default 1. */
  generation?: number;
}

/**
 * Opens sessions. Each has one owner that opens its transport, makes its calls in order and closes it.
 *
 * Subclasses may override `createClient`, the one seam: whatever client it returns is owned by the session.
 *
 * @example
 * ```ts
 * import { McpRuntimePool, PersistentSessionFactory } from "@wf/sources-mcp";
 *
 * const factory = new PersistentSessionFactory({ timeoutMs: 10_000, inheritEnv: "all" });
 * await using pool = new McpRuntimePool(factory, { idleTimeoutMs: 60_000 });
 * ```
 */
export class PersistentSessionFactory {
  static {
    printAsJson(this);
  }
  readonly #options: SessionFactoryOptions;
  readonly #limits: OwnerLimits;
  readonly #callLimits: { timeoutMs: number; maxTotalTimeoutMs: number };
  readonly #openLimitMs: number;
  /** One for each connection, scope and fingerprint, so that their sessions share a refresh; with its users. */
  readonly #sources = new Map<string, { source: CredentialsSource; users: number }>();
  /** What else an opening needs travels beside its signal, so that `createClient` keeps its three parameters. */
  readonly #extras = new WeakMap<AbortSignal, OpeningExtras>();

  /**
   * Makes a factory; nothing is opened before `create`.
   *
   * @param options limits and hooks, for every session of this factory
   * @throws {McpRuntimeError} `INPUT_INVALID` for a limit that is not a number of at least 0, and any other option of a
   * wrong kind
   */
  constructor(options: SessionFactoryOptions = {}) {
    checkOpeningOptions(options);
    checkOptions(options, { onEvent: "function", telemetry: "telemetry" });
    this.#options = { ...options };
    this.#limits = {
      concurrency: limitOf("concurrency", options.concurrency),
      maxQueuedCalls: limitOf("maxQueuedCalls", options.maxQueuedCalls),
      queueTimeoutMs: limitOf("queueTimeoutMs", options.queueTimeoutMs),
      drainTimeoutMs: limitOf("drainTimeoutMs", options.drainTimeoutMs),
      closeTimeoutMs: limitOf("closeTimeoutMs", options.closeTimeoutMs),
    };
    this.#callLimits = {
      timeoutMs: limitOf("timeoutMs", options.timeoutMs),
      maxTotalTimeoutMs: limitOf("maxTotalTimeoutMs", options.maxTotalTimeoutMs),
    };
    limitOf("maxMessageBytes", options.maxMessageBytes);
    // Our own opening keeps `connectTimeoutMs` and then cleans up; an overriding `createClient` may do neither.
    this.#openLimitMs = limitOf("connectTimeoutMs", options.connectTimeoutMs) + 2 * this.#limits.closeTimeoutMs;
    limitOf("credentialsTimeoutMs", options.credentialsTimeoutMs);
    registerTelemetry(this, options.telemetry);
    registerLaneLimits(this, this.#limits);
  }

  /**
   * Opens a session. Resolves after the handshake.
   *
   * @param connection the connection, parsed or a literal
   * @param auth its auth record, or `null`
   * @param context scope and signal of this opening
   * @returns the session, ready for calls; the caller closes it
   * @throws {McpRuntimeError} `CONNECTION_INVALID`, `INPUT_INVALID`, `NO_TRANSPORT` before any I/O; `OPEN_FAILED`,
   * `AUTH_REJECTED`, `UNSUPPORTED` after everything that was started has ended
   */
  async create(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    context: SessionContext = {},
  ): Promise<PersistentMcpSession> {
    const checked = parseConnection(connection);
    const checkedAuth = parseAuthOrNull(auth);
    checkOptions(context, { scope: "string", signal: "signal" }, checked.id, "context");
    const { scope, generation = 1 } = context;
    const redactor = () => redactorFor(checked, checkedAuth);
    const owner = new SessionOwner({ connectionId: checked.id, scope, limits: this.#limits, redactor });
    owner.generation = generation;
    const { onEvent, telemetry } = this.#options;
    if (telemetry) owner.follow = callFollower(telemetry, checked, checkedAuth, scope);
    const claimed = claimedOpening(context.signal);
    const own = telemetry && claimed === undefined
      ? followOpening(telemetry, { connection: checked, scope, generation })
      : undefined;
    if (onEvent) owner.observe({ onEvent });
    const tell = (event: OwnEvent) => emit(onEvent, eventOf(event, checked.id, scope, generation));
    const startedAt = Date.now();
    tell({ type: "session-opening" });
    const { release, ...credentials } = this.#acquireCredentials(checked, checkedAuth, scope);
    try {
      const extras = { ...(scope === undefined ? {} : { scope }), ...credentials, [TELEMETRY]: claimed ?? own };
      const open = () => this.#open(checked, checkedAuth, extras, context.signal);
      const client = await (own ? own.run(open) : open());
      owner.adopt(guarded(checked.id, client, this.#callLimits));
      owner.closed.then(({ reason }) => {
        release();
        own?.ended(reason);
      });
    } catch (thrown) {
      release();
      const { signal } = context;
      // An override of `createClient` may throw anything.
      const error = signal?.aborted && thrown === signal.reason ? thrown : openingError(thrown, checked, redactor());
      own?.failed(failureOf(error, signal));
      tell({ type: "session-open-failed", durationMs: Date.now() - startedAt, error });
      throw error;
    }
    own?.opened({ generation, ...owner.clientFacts() });
    tell({ type: "session-opened", durationMs: Date.now() - startedAt, ...owner.clientFacts() });
    const init: SessionInit & { owner: SessionOwner } = { connection: checked, auth: checkedAuth, owner };
    return new PersistentMcpSession(init);
  }

  /**
   * Opens the client of a session: the seam for tests and subclasses. The session owns the result.
   *
   * @param connection the connection, parsed
   * @param auth its auth record, parsed, or `null`
   * @param signal aborted when nobody waits for this opening any more
   * @returns the client, ready for calls
   */
  protected createClient(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    signal: AbortSignal,
  ): Promise<ToolClient> {
    return openClient(connection, auth, { ...this.#options, ...this.#extras.get(signal), signal });
  }

  async #open(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    extras: OpeningExtras,
    signal: AbortSignal | undefined,
  ): Promise<ToolClient> {
    if (signal?.aborted) throw signal.reason;
    const controller = new AbortController();
    this.#extras.set(controller.signal, extras);
    let onAbort!: () => void;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => {
        controller.abort(signal!.reason);
        reject(signal!.reason);
      };
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    // `async` so that an override that throws at once is a rejection like any other.
    const work = (async () => await this.createClient(connection, auth, controller.signal))();
    let timer: Timer | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = startTimer(() => reject(this.#lateError(connection.id)), this.#openLimitMs);
    });
    try {
      return await Promise.race([work, expired, aborted]);
    } catch (error) {
      controller.abort(error);
      // An override may bring its client too late: it is closed. Ours cleans up before it rejects.
      const cleanup = work.then((client) => client.close()).catch(() => {});
      if (!signal?.aborted) throw error;
      await settledWithin(cleanup, 2 * this.#limits.closeTimeoutMs);
      throw signal.reason;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #acquireCredentials(
    connection: McpSourceConnection,
    auth: AuthRecord | null,
    scope: string | undefined,
  ): { credentials?: CredentialsSource; release: () => void } {
    const hook = this.#options.credentials;
    if (hook === undefined) return { release: () => {} };
    if (typeof hook !== "function") return { credentials: hook, release: () => {} };
    const key = `${scope === undefined ? "" : JSON.stringify(scope)} ${connectionRuntimeFingerprint(connection, auth)}`;
    let entry = this.#sources.get(key);
    if (!entry) {
      const { credentialsTimeoutMs: timeoutMs, fetch } = this.#options;
      entry = { source: new CredentialsSource(hook, { connection, auth, scope, timeoutMs, fetch }), users: 0 };
      this.#sources.set(key, entry);
    }
    entry.users++;
    const release = () => {
      if (--entry.users === 0) this.#sources.delete(key);
    };
    return { credentials: entry.source, release };
  }

  #lateError(connectionId: string): McpTimeoutError {
    const limitMs = this.#openLimitMs;
    return new McpTimeoutError(`connection "${connectionId}" could not be opened: createClient took ${limitMs} ms`, {
      code: "OPEN_FAILED",
      connectionId,
      elapsedMs: limitMs,
      limitMs,
    });
  }

  /** What may be shown of a factory: none of its hooks, headers and environment. */
  toJSON(): Record<string, unknown> {
    return { ...this.#limits, ...this.#callLimits };
  }
}
