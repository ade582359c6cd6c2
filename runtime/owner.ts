/**
 * The owner of one session: it alone opens the client, makes the calls in the order they were accepted, and closes it.
 *
 * - `opening → ready → closing → closed`, or `→ lost` from anywhere before `closed`; `#enter` alone changes the state.
 * - Calls start in the order they were accepted; at most `concurrency` are awaited at once.
 * - Every accepted call settles exactly once: with its result, its failure, or the cause that ended the session.
 * - The client is closed once and the close callback runs once, whatever ended the session.
 *
 * @module
 */
import { AcceptedCall, type CallTracker } from "./accepted_call.ts";
import type { CallToolOptions, ToolClient } from "./client.ts";
import { McpRuntimeError } from "./errors.ts";
import { emit, eventOf, type OwnEvent } from "./emit.ts";
import type { RuntimeEventListener } from "./events.ts";
import { Lane, type LaneHost, type LaneLimits } from "./lane.ts";
import { McpClient } from "./mcp_client.ts";
import { type ToolCallResult, toolResultToCallResult } from "./result.ts";
import { type Redactor, safeCause, shortId } from "./secrets.ts";
import { foreignError, sessionError } from "./session_errors.ts";
import { Silence } from "./silence.ts";
import { type CallFollower, type FollowedCallOptions, reportEnd, TELEMETRY } from "./telemetry_hooks.ts";
import { settledWithin, startTimer, type Timer } from "./timers.ts";

/** The life of a session, in order. */
export type SessionState = "opening" | "ready" | "closing" | "closed" | "lost";

/** How a session ended. */
export interface SessionEnd {
  /** `closed` when it was asked to, `lost` when not. */
  state: "closed" | "lost";
  /** Why it was lost. */
  reason?: McpRuntimeError;
  /** What the close callback or the client threw at the end. */
  closeError?: unknown;
}

/** Limits of an owner, all of them resolved: `Infinity` is off. */
export interface OwnerLimits extends LaneLimits {
  /** How long accepted calls may go on once the session closes. */
  drainTimeoutMs: number;
  /** How long closing the client and the close callback may take, each. */
  closeTimeoutMs: number;
}

/** What an owner is made of. */
export interface OwnerInit {
  connectionId: string;
  scope?: string | undefined;
  limits: OwnerLimits;
  /** Knows the secrets of the connection; asked for when a client from elsewhere throws an error of its own. */
  redactor: () => Redactor;
  closeCallback?: (() => void | Promise<void>) | undefined;
  follow?: CallFollower | undefined;
}

/** How the pool follows the sessions it holds. */
export interface OwnerObserver {
  /** The session left `ready`: it takes no more calls. */
  onLeave?: () => void;
  /** No call is queued or in flight. */
  onIdle?: () => void;
  onEvent?: RuntimeEventListener | undefined;
}

/** The actor behind a `PersistentMcpSession`. */
export class SessionOwner {
  readonly connectionId: string;
  /** Who shares the session, for events; the pool says it of sessions that were made without. */
  scope: string | undefined;
  /** Which session of its key this is; the pool counts. */
  generation = 1;
  /** Follows calls that nobody else follows. */
  follow: CallFollower | undefined;
  /** Resolves when everything the session owned is gone. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  readonly #limits: OwnerLimits;
  readonly #redactor: () => Redactor;
  readonly #closeCallback: OwnerInit["closeCallback"];
  readonly #lane: Lane;
  readonly #silence = new Silence();
  readonly #observers: OwnerObserver[] = [];
  /** Whether anybody hears of events: without a listener none is made, since each call would pay for two. */
  #listened = false;
  #state: SessionState = "opening";
  #client: ToolClient | undefined;
  #end: McpRuntimeError | undefined;
  #resolveClosed!: (end: SessionEnd) => void;
  #teardown: Promise<void> | undefined;
  #closeResult: Promise<void> | undefined;
  #drained: (() => void) | undefined;
  #drainTimer: Timer | undefined;
  #drainBy = Infinity;

  constructor(init: OwnerInit) {
    this.connectionId = init.connectionId;
    this.scope = init.scope;
    this.#limits = init.limits;
    this.#redactor = init.redactor;
    this.#closeCallback = init.closeCallback;
    this.follow = init.follow;
    this.closed = new Promise((resolve) => this.#resolveClosed = resolve);
    this.#lane = new Lane(init.limits, this.#laneHost());
  }

  /** Where the session is in its life. */
  get state(): SessionState {
    return this.#state;
  }

  /** Why the session was lost, once it was. */
  get reason(): McpRuntimeError | undefined {
    return this.#end;
  }

  /** Calls accepted and not sent. */
  get queued(): number {
    return this.#lane.queued;
  }

  /** Calls sent and not answered. */
  get inFlight(): number {
    return this.#lane.inFlight;
  }

  /** The client, once the session is ready. */
  get client(): ToolClient | undefined {
    return this.#client;
  }

  /** What an event or a listing may say of the client: process id, shortened session id, revision; those that there are. */
  clientFacts(): { pid?: number; sessionId?: string; protocolVersion?: string } {
    const { pid, sessionId, protocolVersion } = this.#client ?? {};
    return {
      ...(pid === undefined ? {} : { pid }),
      ...(sessionId === undefined ? {} : { sessionId: shortId(sessionId) }),
      ...(protocolVersion === undefined ? {} : { protocolVersion }),
    };
  }

  /** Adds someone who follows this session. */
  observe(observer: OwnerObserver): void {
    this.#observers.push(observer);
    this.#listened ||= observer.onEvent !== undefined;
  }

  /** Takes the opened client over: the session is ready. */
  adopt(client: ToolClient): void {
    this.#client = client;
    this.#enter("ready");
    client.closed?.then((cause) => this.#onClientEnd(cause), (cause) => this.#onClientEnd(cause));
  }

  /**
   * Accepts a call, or refuses it by rejecting. The call was checked before.
   *
   * @returns its result
   */
  submit(
    toolName: string,
    payload: Record<string, unknown>,
    options: CallToolOptions,
    tracker?: CallTracker,
  ): Promise<ToolCallResult> {
    if (!this.follow || tracker?.telemetry !== undefined) return this.#accept(toolName, payload, options, tracker);
    const telemetry = this.follow(toolName, payload, options);
    const result = this.#accept(toolName, payload, options, tracker, telemetry);
    return telemetry ? reportEnd(telemetry, result, options.signal) : result;
  }

  #accept(
    toolName: string,
    payload: Record<string, unknown>,
    options: CallToolOptions,
    tracker: CallTracker | undefined,
    telemetry = tracker?.telemetry,
  ): Promise<ToolCallResult> {
    return new Promise((resolve, reject) => {
      if (this.#state !== "ready") throw this.#refusal();
      if (options.signal?.aborted) throw options.signal.reason;
      this.#lane.accept(new AcceptedCall(toolName, payload, options, tracker, telemetry, resolve, reject));
    });
  }

  /**
   * Ends the session: no new calls, accepted ones go on for `drainMs`, then the client is closed.
   *
   * @param drainMs longest wait for accepted calls; a later call of `close` can only shorten it
   * @returns resolves when all is gone; rejects only with what the close callback threw
   */
  close(drainMs: number = this.#limits.drainTimeoutMs): Promise<void> {
    if (this.#state === "ready" || this.#state === "opening") {
      this.#enter("closing");
      this.#finish();
    }
    if (this.#state === "closing" && drainMs !== Infinity) this.#limitDrain(drainMs);
    return this.#closeResult!;
  }

  /** Closes without draining: accepted calls are rejected at once. */
  abort(reason?: unknown): Promise<void> {
    const result = this.close(0);
    this.#rejectAll(this.#closedError("was aborted", reason));
    return result;
  }

  #enter(state: SessionState): void {
    const left = this.#state === "ready";
    this.#state = state;
    if (left) { for (const observer of this.#observers) observer.onLeave?.(); }
  }

  #laneHost(): LaneHost {
    return {
      connectionId: this.connectionId,
      send: (call) => this.#send(call),
      onStarted: (call) => this.#listened && this.#emit(call.startedEvent()),
      read: (call, raw) => this.#read(call, raw),
      explain: (call, error) => this.#explain(call, error),
      onSettled: (call, result, failure) => this.#listened && this.#emit(call.settledEvent(result, failure)),
      onIdle: () => this.#onIdle(),
    };
  }

  #send({ toolName, payload, options, telemetry }: AcceptedCall): unknown {
    const client = this.#client!;
    if (!telemetry) return client.callTool(toolName, payload, options);
    telemetry.started({ generation: this.generation, ...this.clientFacts() });
    const followed: FollowedCallOptions = { ...options, [TELEMETRY]: telemetry };
    return telemetry.run(() => client.callTool(toolName, payload, followed));
  }

  #read({ toolName }: AcceptedCall, raw: unknown): ToolCallResult {
    this.#silence.broken();
    try {
      return toolResultToCallResult(raw);
    } catch (error) {
      // A callback of this program may return what JSON cannot carry, and reading that throws something else.
      throw error instanceof McpRuntimeError ? error : this.#foreignError(toolName, error);
    }
  }

  #explain({ toolName, options: { signal }, startedAt }: AcceptedCall, error: unknown): unknown {
    if (signal?.aborted && error === signal.reason) return error; // The caller's: it says nothing of the server.
    const known = error instanceof McpRuntimeError ? error : undefined;
    // Calls in flight settle by themselves: each is being refused, or is still answered, on its own exchange.
    if (known?.code === "SESSION_LOST") this.#lose(known, false);
    else if (known?.code === "CALL_TIMEOUT") this.#afterTimeout(startedAt, known);
    else this.#silence.broken();
    return known ?? this.#foreignError(toolName, error);
  }

  /** A wedged server is replaced, not kept. The call that shows it is told its timeout: it is never sent again. */
  #afterTimeout(startedAt: number, cause: McpRuntimeError): void {
    const received = this.#client?.received;
    if (received === undefined || !this.#silence.timedOut(received, startedAt, Date.now())) return;
    const what = "was given up: two calls in a row timed out and nothing came from the server in between";
    const reason = sessionError(this.connectionId, "SESSION_LOST", what, cause);
    this.#lose(reason, false);
    // A call that times out in the same moment is told so first: one that was lost may be sent again.
    queueMicrotask(() => this.#rejectRunning(reason));
  }

  #onIdle(): void {
    this.#drained?.();
    if (this.#state === "ready") { for (const observer of this.#observers) observer.onIdle?.(); }
  }

  #onClientEnd(cause: unknown): void {
    const safe = cause === undefined ? undefined : safeCause(cause, this.#redactor());
    const reason = safe instanceof McpRuntimeError
      ? safe
      : sessionError(this.connectionId, "SESSION_LOST", "ended without being asked", safe);
    // Our own client tells each of its calls by itself, and whether it was sent; any other may leave its calls open.
    this.#lose(reason, !(this.#client instanceof McpClient));
  }

  /** @param all whether calls in flight are rejected too, or may settle by themselves within the drain limit */
  #lose(reason: McpRuntimeError, all: boolean): void {
    if (this.#state === "closed" || this.#teardown && this.#state !== "lost") return;
    if (this.#state !== "lost") {
      this.#end = reason;
      this.#enter("lost");
      this.#finish(); // Before anybody is told: a listener may close the session, and waits for its end.
      this.#lane.rejectQueued(reason);
      this.#emit({ type: "session-lost", error: reason });
      if (all) this.#lane.rejectRunning(reason);
      this.#limitDrain(this.#limits.drainTimeoutMs);
    } else if (all) this.#lane.rejectRunning(reason);
  }

  #limitDrain(ms: number): void {
    const by = Date.now() + ms;
    if (this.#lane.idle || this.#teardown || by >= this.#drainBy) return;
    this.#drainBy = by;
    clearTimeout(this.#drainTimer);
    const expire = () => this.#rejectAll(this.#closedError(`was closed: the limit for accepted calls is ${ms} ms`));
    this.#drainTimer = startTimer(expire, ms);
  }

  #rejectAll(error: McpRuntimeError): void {
    this.#lane.rejectQueued(this.#end ?? error);
    this.#rejectRunning(this.#end ?? error);
  }

  /** Our own client knows of each call whether it was sent; of any other nothing is known. */
  #rejectRunning(error: McpRuntimeError): void {
    if (this.#client instanceof McpClient) this.#client.abandon(error);
    else this.#lane.rejectRunning(error);
  }

  /** Releases everything once no call is left; the way there may change from closing to lost meanwhile. */
  #finish(): void {
    if (this.#closeResult) return;
    const drained = this.#lane.idle ? Promise.resolve() : new Promise<void>((resolve) => this.#drained = resolve);
    this.#closeResult = drained.then(() => this.#release());
    this.#closeResult.catch(() => {}); // Whoever called close hears of it; nobody has to.
  }

  async #release(): Promise<void> {
    clearTimeout(this.#drainTimer);
    const { closeTimeoutMs } = this.#limits;
    const failures: unknown[] = [];
    this.#teardown = (async () => {
      // Our client's own close is bounded; a client from elsewhere may not be.
      await bounded(() => this.#client?.close(), closeTimeoutMs * 2).catch(() => {}); // What the server did is not thrown.
      await bounded(this.#closeCallback, closeTimeoutMs).catch((error) => failures.push(error));
    })();
    await this.#teardown;
    const closeError = failures[0];
    if (this.#state !== "lost") {
      this.#enter("closed");
      // The caller gets its callback's error as it is; a listener writes logs.
      const told = failures.length > 0 ? { error: safeCause(closeError, this.#redactor()) } : {};
      this.#emit({ type: "session-closed", ...told });
    }
    this.#resolveClosed({
      state: this.#state === "lost" ? "lost" : "closed",
      ...(this.#end === undefined ? {} : { reason: this.#end }),
      ...(failures.length > 0 ? { closeError } : {}),
    });
    if (failures.length > 0) throw closeError;
  }

  #refusal(): McpRuntimeError {
    if (this.#end) return this.#end.withDelivery("not-sent");
    return this.#closedError(this.#state === "opening" ? "is not open yet" : "is closed and takes no more calls");
  }

  #closedError(what: string, cause?: unknown): McpRuntimeError {
    return sessionError(this.connectionId, "SESSION_CLOSED", what, cause);
  }

  #foreignError(toolName: string, error: unknown): McpRuntimeError {
    return foreignError(this.connectionId, toolName, error, this.#redactor());
  }

  #emit(event: OwnEvent): void {
    const whole = eventOf(event, this.connectionId, this.scope, this.generation);
    for (const { onEvent } of this.#observers) emit(onEvent, whole);
  }
}

const owners = new WeakMap<object, SessionOwner>();

/**
 * Remembers the owner of a session, for the pool.
 *
 * @param session the handle
 * @param owner its owner
 */
export function registerOwner(session: object, owner: SessionOwner): void {
  owners.set(session, owner);
}

/**
 * The owner of a session.
 *
 * @param session the handle
 * @returns its owner, `undefined` when it is no `PersistentMcpSession`
 */
export function ownerOf(session: object): SessionOwner | undefined {
  return owners.get(session);
}

async function bounded(work: (() => unknown) | undefined, ms: number): Promise<void> {
  if (!work) return;
  const promise = Promise.resolve().then(work);
  if (!await settledWithin(promise, ms)) throw new Error(`closing took more than ${ms} ms and is not waited for`);
  await promise;
}
