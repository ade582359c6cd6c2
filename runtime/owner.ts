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
import type { CallToolOptions, ToolClient } from "./client.ts";
import { type Delivery, McpRuntimeError, McpTimeoutError } from "./errors.ts";
import { emit, type RuntimeEvent, type RuntimeEventListener } from "./events.ts";
import { limitOf } from "./limits.ts";
import { McpClient } from "./mcp_client.ts";
import { LinkedQueue, type QueueNode } from "./queue.ts";
import { type ToolCallResult, toolResultToCallResult } from "./result.ts";
import { type Redactor, safeCause, shortId } from "./secrets.ts";
import {
  type CallFollower,
  type FollowedCall,
  type FollowedCallOptions,
  reportEnd,
  TELEMETRY,
} from "./telemetry_hooks.ts";
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
export interface OwnerLimits {
  /** Calls awaited at once. */
  concurrency: number;
  /** Calls that may wait. */
  maxQueuedCalls: number;
  /** Longest wait in the queue, unless the call says otherwise. */
  queueTimeoutMs: number;
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

/** How the pool follows one call through the attempts it takes. */
export interface CallTracker {
  /** 1, or 2 when the call is sent again. */
  readonly attempt: number;
  /** Who follows the call; `undefined` when the pool has no telemetry, so that the session's own may. */
  readonly telemetry?: FollowedCall | null | undefined;
  /** The call is handed to the client. */
  onStart(): void;
}

/** A call from its acceptance to its settling. */
class AcceptedCall implements QueueNode<AcceptedCall> {
  previous: AcceptedCall | undefined;
  next: AcceptedCall | undefined;
  settled = false;
  startedAt = 0;
  queueTimer: Timer | undefined;
  onAbort: (() => void) | undefined;

  constructor(
    readonly toolName: string,
    readonly payload: Record<string, unknown>,
    readonly options: CallToolOptions,
    readonly tracker: CallTracker | undefined,
    readonly telemetry: FollowedCall | null | undefined,
    readonly acceptedAt: number,
    readonly resolve: (result: ToolCallResult) => void,
    readonly reject: (reason: unknown) => void,
  ) {}

  /** The wait in the queue is over. */
  release(): void {
    clearTimeout(this.queueTimer);
    if (this.onAbort) this.options.signal?.removeEventListener("abort", this.onAbort);
    this.queueTimer = this.onAbort = undefined;
  }
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
  readonly #queue = new LinkedQueue<AcceptedCall>();
  readonly #running = new Set<AcceptedCall>();
  readonly #observers: OwnerObserver[] = [];
  /** Whether anybody hears of events: without a listener none is made, since each call would pay for two. */
  #listened = false;
  #state: SessionState = "opening";
  #client: ToolClient | undefined;
  #end: McpRuntimeError | undefined;
  #silentSince: number | undefined;
  #lastTimeoutAt = 0;
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
  }

  /** Where the session is in its life. */
  get state(): SessionState {
    return this.#state;
  }

  /** Calls accepted and not sent. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Calls sent and not answered. */
  get inFlight(): number {
    return this.#running.size;
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
      const call = new AcceptedCall(toolName, payload, options, tracker, telemetry, Date.now(), resolve, reject);
      if (this.#queue.size === 0 && this.#running.size < this.#limits.concurrency) this.#start(call);
      else this.#enqueue(call);
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

  get #idle(): boolean {
    return this.#queue.size === 0 && this.#running.size === 0;
  }

  #enter(state: SessionState): void {
    const left = this.#state === "ready";
    this.#state = state;
    if (left) { for (const observer of this.#observers) observer.onLeave?.(); }
  }

  #enqueue(call: AcceptedCall): void {
    const { maxQueuedCalls } = this.#limits;
    if (this.#queue.size >= maxQueuedCalls) {
      throw this.#error(
        "QUEUE_FULL",
        `has no room for another call: ${this.#queue.size} are queued, the limit is ${maxQueuedCalls}`,
      );
    }
    const limitMs = limitOf("queueTimeoutMs", call.options.queueTimeoutMs, this.#limits.queueTimeoutMs);
    this.#queue.push(call);
    call.queueTimer = startTimer(
      () => this.#leaveQueue(call, queueTimeoutError(this.connectionId, call.acceptedAt, limitMs)),
      limitMs,
    );
    const { signal } = call.options;
    if (signal) {
      call.onAbort = () => this.#leaveQueue(call, signal.reason);
      signal.addEventListener("abort", call.onAbort, { once: true });
    }
  }

  #leaveQueue(call: AcceptedCall, reason: unknown): void {
    this.#queue.remove(call);
    this.#settle(call, undefined, reason);
    this.#afterSettling();
  }

  #start(call: AcceptedCall): void {
    call.release();
    call.startedAt = Date.now();
    this.#running.add(call);
    call.tracker?.onStart();
    let answer: unknown;
    try {
      answer = call.telemetry ? this.#sendFollowed(call, call.telemetry) : this.#send(call, call.options);
    } catch (error) {
      answer = Promise.reject(error);
    }
    // Told once it is on its way: a listener that makes a call must not get ahead of this one.
    if (this.#listened) this.#emitStarted(call);
    // A callback may be synchronous; a promise of another realm is still thenable.
    Promise.resolve(answer).then((raw) => this.#answered(call, raw), (error) => this.#failed(call, error));
  }

  #send({ toolName, payload }: AcceptedCall, options: CallToolOptions): unknown {
    return this.#client!.callTool(toolName, payload, options);
  }

  #sendFollowed(call: AcceptedCall, telemetry: FollowedCall): unknown {
    telemetry.started({ generation: this.generation, ...this.clientFacts() });
    const options: FollowedCallOptions = { ...call.options, [TELEMETRY]: telemetry };
    return telemetry.run(() => this.#send(call, options));
  }

  #answered(call: AcceptedCall, raw: unknown): void {
    let result: ToolCallResult | undefined;
    let failure: unknown;
    try {
      result = toolResultToCallResult(raw);
    } catch (error) {
      // A callback of this program may return what JSON cannot carry, and reading that throws something else.
      failure = error instanceof McpRuntimeError ? error : this.#foreignError(call, error);
    }
    this.#silentSince = undefined;
    this.#leaveRunning(call, result, failure);
  }

  #failed(call: AcceptedCall, error: unknown): void {
    const known = error instanceof McpRuntimeError ? error : undefined;
    const aborted = call.options.signal?.aborted && error === call.options.signal.reason;
    const failure = known || aborted ? error : this.#foreignError(call, error);
    if (call.settled) return; // Its session was lost or aborted before.
    if (known?.code === "SESSION_LOST") {
      // Calls in flight settle by themselves: each is being refused, or is still answered, on its own exchange.
      this.#lose(known, false);
    } else if (known?.code === "CALL_TIMEOUT") {
      // It is told its timeout even when that ends the session: a timed out call is never sent again.
      this.#running.delete(call);
      this.#settle(call, undefined, failure);
      this.#afterTimeout(call, known);
      this.#afterSettling();
    } else if (!aborted) this.#silentSince = undefined;
    this.#leaveRunning(call, undefined, failure);
  }

  /** A wedged server is replaced, not kept: two timeouts in a row, and nothing at all from the server in between. */
  #afterTimeout(call: AcceptedCall, error: McpRuntimeError): void {
    const received = this.#client?.received;
    if (received === undefined) return;
    if (this.#silentSince === received && call.startedAt >= this.#lastTimeoutAt) {
      const message = `session of connection "${this.connectionId}" was given up: two calls in a row timed out and ` +
        "nothing came from the server in between";
      const reason = new McpRuntimeError(message, {
        code: "SESSION_LOST",
        connectionId: this.connectionId,
        cause: error,
      });
      this.#lose(reason, false);
      // A call that times out in the same moment is told so first: one that was lost may be sent again.
      queueMicrotask(() => this.#rejectRunning(reason));
    }
    this.#silentSince = received;
    this.#lastTimeoutAt = Date.now();
  }

  #leaveRunning(call: AcceptedCall, result: ToolCallResult | undefined, failure: unknown): void {
    if (call.settled) return; // Its session was lost or aborted before.
    this.#running.delete(call);
    this.#settle(call, result, failure);
    this.#afterSettling();
  }

  #settle(call: AcceptedCall, result: ToolCallResult | undefined, failure: unknown): void {
    call.settled = true;
    call.release();
    if (call.startedAt > 0 && this.#listened) this.#emitSettled(call, result, failure);
    if (result) call.resolve(result);
    else call.reject(failure);
  }

  #afterSettling(): void {
    while (this.#queue.size > 0 && this.#running.size < this.#limits.concurrency && this.#state !== "lost") {
      this.#start(this.#queue.shift()!);
    }
    if (!this.#idle) return;
    this.#drained?.();
    if (this.#state === "ready") { for (const observer of this.#observers) observer.onIdle?.(); }
  }

  #onClientEnd(cause: unknown): void {
    const safe = cause === undefined ? undefined : safeCause(cause, this.#redactor());
    const reason = safe instanceof McpRuntimeError
      ? safe
      : this.#error("SESSION_LOST", "ended without being asked", safe);
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
      this.#emit({ type: "session-lost", error: reason });
      this.#rejectQueued(reason);
      if (all) this.#rejectRunning(reason);
      this.#limitDrain(this.#limits.drainTimeoutMs);
    } else if (all) this.#rejectRunning(reason);
  }

  #limitDrain(ms: number): void {
    const by = Date.now() + ms;
    if (this.#idle || this.#teardown || by >= this.#drainBy) return;
    this.#drainBy = by;
    clearTimeout(this.#drainTimer);
    const expire = () => this.#rejectAll(this.#closedError(`was closed: the limit for accepted calls is ${ms} ms`));
    this.#drainTimer = startTimer(expire, ms);
  }

  #rejectAll(error: McpRuntimeError): void {
    this.#rejectQueued(this.#end ?? error);
    this.#rejectRunning(this.#end ?? error);
  }

  #rejectQueued(error: McpRuntimeError): void {
    for (let call = this.#queue.shift(); call; call = this.#queue.shift()) {
      this.#settle(call, undefined, error.withDelivery("not-sent"));
    }
  }

  #rejectRunning(error: McpRuntimeError): void {
    for (const call of this.#running) {
      this.#running.delete(call);
      this.#settle(call, undefined, error.withDelivery("unknown"));
    }
    this.#drained?.();
  }

  /** Releases everything once no call is left; the way there may change from closing to lost meanwhile. */
  #finish(): void {
    if (this.#closeResult) return;
    const drained = this.#idle ? Promise.resolve() : new Promise<void>((resolve) => this.#drained = resolve);
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
    return this.#error(
      "SESSION_CLOSED",
      this.#state === "opening" ? "is not open yet" : "is closed and takes no more calls",
    );
  }

  #closedError(what: string, cause?: unknown): McpRuntimeError {
    return this.#error("SESSION_CLOSED", what, cause);
  }

  #error(code: "SESSION_CLOSED" | "SESSION_LOST" | "QUEUE_FULL", what: string, cause?: unknown): McpRuntimeError {
    return new McpRuntimeError(`session of connection "${this.connectionId}" ${what}`, {
      code,
      connectionId: this.connectionId,
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** A client or callback from elsewhere threw an error of its own: nothing is known of what ran. */
  #foreignError(call: AcceptedCall, error: unknown): McpRuntimeError {
    const cause = safeCause(error, this.#redactor());
    const said = cause instanceof Error ? cause.message : String(cause);
    return new McpRuntimeError(`call of tool "${call.toolName}" of connection "${this.connectionId}" failed: ${said}`, {
      code: "PROTOCOL_ERROR",
      delivery: "unknown",
      connectionId: this.connectionId,
      cause,
    });
  }

  #emitStarted({ toolName, tracker, startedAt, acceptedAt }: AcceptedCall): void {
    const attempt = tracker?.attempt ?? 1;
    this.#emit({ type: "call-started", toolName, attempt, queuedMs: startedAt - acceptedAt });
  }

  #emitSettled(call: AcceptedCall, result: ToolCallResult | undefined, failure: unknown): void {
    const known = failure instanceof McpRuntimeError ? failure : undefined;
    const delivery: Delivery = known?.delivery ?? "unknown";
    this.#emit({
      type: "call-settled",
      toolName: call.toolName,
      attempt: call.tracker?.attempt ?? 1,
      queuedMs: call.startedAt - call.acceptedAt,
      durationMs: Date.now() - call.startedAt,
      outcome: result?.outcome ?? "failed",
      ...(result ? {} : { code: known?.code ?? "ABORTED", delivery }),
    });
  }

  #emit(event: DistributiveOmit<RuntimeEvent, "connectionId" | "scope" | "generation">): void {
    const scope = this.scope === undefined ? {} : { scope: this.scope };
    const whole = { ...event, connectionId: this.connectionId, ...scope, generation: this.generation } as RuntimeEvent;
    for (const { onEvent } of this.#observers) emit(onEvent, whole);
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

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

/**
 * The error of a wait that took too long before the call was sent.
 *
 * @param connectionId the connection
 * @param since when the wait began, as `Date.now()`
 * @param limitMs the limit
 * @returns code `QUEUE_TIMEOUT`, not sent
 */
export function queueTimeoutError(connectionId: string, since: number, limitMs: number): McpTimeoutError {
  const elapsedMs = Date.now() - since;
  return new McpTimeoutError(
    `a call of connection "${connectionId}" was not sent: it waited ${elapsedMs} ms, the limit is ${limitMs} ms`,
    { code: "QUEUE_TIMEOUT", connectionId, elapsedMs, limitMs },
  );
}

async function bounded(work: (() => unknown) | undefined, ms: number): Promise<void> {
  if (!work) return;
  const promise = Promise.resolve().then(work);
  if (!await settledWithin(promise, ms)) throw new Error(`closing took more than ${ms} ms and is not waited for`);
  await promise;
}
