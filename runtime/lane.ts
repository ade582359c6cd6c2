/**
 * The lane of one session: accepted calls, sent in the order they came.
 *
 * - At most `concurrency` are awaited at once; the others wait, at most `maxQueuedCalls` of them, each as long as its
 *   `queueTimeoutMs` and its signal let it.
 * - Every call settles exactly once; how a call left the lane is decided by whoever settles it first.
 * - Work per call does not grow with the queue.
 *
 * @module
 */
import type { AcceptedCall } from "./accepted_call.ts";
import type { McpRuntimeError } from "./errors.ts";
import { limitOf } from "./limits.ts";
import { LinkedQueue } from "./queue.ts";
import type { ToolCallResult } from "./result.ts";
import { queueTimeoutError, sessionError } from "./session_errors.ts";
import { startTimer } from "./timers.ts";

/** Limits of a lane, all of them resolved: `Infinity` is off. */
export interface LaneLimits {
  /** Calls awaited at once. */
  concurrency: number;
  /** Calls that may wait. */
  maxQueuedCalls: number;
  /** Longest wait in the queue, unless the call says otherwise. */
  queueTimeoutMs: number;
}

/** What a lane needs of its session. */
export interface LaneHost {
  readonly connectionId: string;
  /** Hands a call to the client; gives or promises its raw answer. */
  send(call: AcceptedCall): unknown;
  /** The call is on its way. */
  onStarted(call: AcceptedCall): void;
  /** Reads an answer; throws what the caller is told instead. */
  read(call: AcceptedCall, raw: unknown): ToolCallResult;
  /** What the caller is told of a failure. It may end the session. */
  explain(call: AcceptedCall, error: unknown): unknown;
  /** A call that was sent has settled. */
  onSettled(call: AcceptedCall, result: ToolCallResult | undefined, failure: unknown): void;
  /** No call is queued or in flight. */
  onIdle(): void;
}

/** See the module. */
export class Lane {
  readonly #limits: LaneLimits;
  readonly #host: LaneHost;
  readonly #queue = new LinkedQueue<AcceptedCall>();
  readonly #running = new Set<AcceptedCall>();

  constructor(limits: LaneLimits, host: LaneHost) {
    this.#limits = limits;
    this.#host = host;
  }

  /** Calls accepted and not sent. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Calls sent and not answered. */
  get inFlight(): number {
    return this.#running.size;
  }

  /** Whether no call is queued or in flight. */
  get idle(): boolean {
    return this.#queue.size === 0 && this.#running.size === 0;
  }

  /**
   * Sends a call, or lets it wait.
   *
   * @param call a call that was not in a lane before
   * @throws {McpRuntimeError} `QUEUE_FULL`
   */
  accept(call: AcceptedCall): void {
    if (this.#queue.size === 0 && this.#running.size < this.#limits.concurrency) this.#start(call);
    else this.#enqueue(call);
  }

  /** Rejects the calls that wait: they were not sent. */
  rejectQueued(error: McpRuntimeError): void {
    for (let call = this.#queue.shift(); call; call = this.#queue.shift()) {
      this.#settle(call, undefined, error.withDelivery("not-sent"));
    }
  }

  /** Rejects the calls that were sent: they may have run. To be used when none waits any more. */
  rejectRunning(error: McpRuntimeError): void {
    for (const call of this.#running) {
      this.#running.delete(call);
      this.#settle(call, undefined, error.withDelivery("unknown"));
    }
    this.#host.onIdle();
  }

  #enqueue(call: AcceptedCall): void {
    const { connectionId } = this.#host;
    const { maxQueuedCalls, queueTimeoutMs } = this.#limits;
    const { size } = this.#queue;
    if (size >= maxQueuedCalls) {
      const what = `has no room for another call: ${size} are queued, the limit is ${maxQueuedCalls}`;
      throw sessionError(connectionId, "QUEUE_FULL", what);
    }
    const { signal } = call.options;
    const limitMs = limitOf("queueTimeoutMs", call.options.queueTimeoutMs, queueTimeoutMs);
    this.#queue.push(call);
    const expire = () => this.#leaveQueue(call, queueTimeoutError(connectionId, call.acceptedAt, limitMs));
    call.queueTimer = startTimer(expire, limitMs);
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
      answer = this.#host.send(call);
    } catch (error) {
      answer = Promise.reject(error);
    }
    // Told once it is on its way: a listener that makes a call must not get ahead of this one.
    this.#host.onStarted(call);
    // A callback may be synchronous; a promise of another realm is still thenable.
    Promise.resolve(answer).then((raw) => this.#answered(call, raw), (error) => this.#failed(call, error));
  }

  #answered(call: AcceptedCall, raw: unknown): void {
    let result: ToolCallResult | undefined;
    let failure: unknown;
    try {
      result = this.#host.read(call, raw);
    } catch (error) {
      failure = error;
    }
    this.#leaveRunning(call, result, failure);
  }

  #failed(call: AcceptedCall, error: unknown): void {
    if (call.settled) return; // Its session was lost or aborted before.
    this.#leaveRunning(call, undefined, this.#host.explain(call, error));
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
    if (call.startedAt > 0) this.#host.onSettled(call, result, failure);
    if (result) call.resolve(result);
    else call.reject(failure);
  }

  #afterSettling(): void {
    while (this.#queue.size > 0 && this.#running.size < this.#limits.concurrency) this.#start(this.#queue.shift()!);
    if (this.idle) this.#host.onIdle();
  }
}

const limitsByFactory = new WeakMap<object, LaneLimits>();

/**
 * Remembers the limits of the lanes that a factory makes, for the pool: callers wait for a session under the same ones.
 *
 * @param factory the factory
 * @param limits the limits
 */
export function registerLaneLimits(factory: object, limits: LaneLimits): void {
  limitsByFactory.set(factory, limits);
}

/**
 * The limits of the lanes that a factory makes.
 *
 * @param factory the factory
 * @returns its limits, `undefined` when it is not one of ours
 */
export function laneLimitsOf(factory: object): LaneLimits | undefined {
  return limitsByFactory.get(factory);
}
