/**
 * A pool among fake servers, and everything that is to hold of it whatever happens: each rule is checked where it could
 * be broken, and what is broken is kept in `problems`.
 *
 * @module
 */
import { type McpSourceConnection, parseConnection } from "../../runtime/connection.ts";
import { McpRuntimeError } from "../../runtime/errors.ts";
import type { RuntimeEvent } from "../../runtime/events.ts";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { McpRuntimePool, type PoolCallOptions } from "../../runtime/pool.ts";
import type { PersistentMcpSession } from "../../runtime/session.ts";
import { countingSignal } from "../fakes/counting_signal.ts";
import { ModelClock } from "./clock.ts";
import { ModelTransport, type ServerMode, type WireObserver, type WireRequest } from "./server.ts";

/** What a pool of one sequence is made with; 0 is none. */
export interface Policy {
  concurrency: number;
  maxQueuedCalls: number;
  idleTimeoutMs: number;
  maxSessions: number;
  maxLifetimeMs: number;
}

/** The keys of the model: connection and scope. */
export const KEYS = [
  { id: "a.one", scope: undefined, kind: "stdio" },
  { id: "a.one", scope: "s", kind: "stdio" },
  { id: "b.one", scope: undefined, kind: "http" },
  { id: "c.one", scope: undefined, kind: "http" },
] as const;

const BACKOFF = { initialMs: 200, maxMs: 1_000 };

/** One call of a caller. */
export interface ModelCall {
  readonly number: number;
  readonly key: number;
  readonly config: number;
  readonly options: PoolCallOptions;
  readonly own: ReturnType<typeof countingSignal> | undefined;
  readonly since: number;
  readonly sends: WireRequest[];
  outcome: "ok" | "error" | "failed" | undefined;
}

type Signal = ReturnType<typeof countingSignal>;

export class World implements WireObserver {
  readonly clock = new ModelClock();
  readonly calls: ModelCall[] = [];
  readonly transports: ModelTransport[] = [];
  readonly problems: string[] = [];
  /** How often each thing happened, so that a run can show that it went everywhere. */
  readonly seen: Record<string, number> = {};
  readonly modes: Record<string, ServerMode> = {};
  readonly holders: PersistentMcpSession[] = [];
  readonly pool: McpRuntimePool;
  shared: Signal = countingSignal();
  /** Waits of `getSession` that have not settled. */
  waits = 0;
  /** A call to be made from within the next event. */
  armed: (() => void) | undefined;
  ending = false;
  readonly #policy: Policy;
  readonly #opening = new Map<string, { failures: number; notBefore: number }>();
  /** Failures of openings that no caller was told of yet: one that was overtaken in its last turn does not count. */
  readonly #untold = new Map<string, number>();
  readonly #lossAt = new Map<string, number>();
  readonly #excuses = new Map<string, number>();
  readonly #connections = new Map<string, McpSourceConnection>();
  readonly #random = Math.random;
  readonly #onUnhandled = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    this.problems.push(`unhandled rejection: ${event.reason}`);
  };

  constructor(policy: Policy) {
    this.#policy = policy;
    let dice = 1; // The same for each sequence, or one that failed would not fail again.
    Math.random = () => (dice = dice * 48_271 % 0x7fff_ffff) / 0x7fff_ffff;
    addEventListener("unhandledrejection", this.#onUnhandled);
    for (const { id } of KEYS) this.modes[id] = { opening: "good", closing: "quick", stalled: false };
    const { concurrency, maxQueuedCalls, idleTimeoutMs, maxSessions, maxLifetimeMs } = policy;
    const factory = new PersistentSessionFactory({
      concurrency,
      maxQueuedCalls,
      createTransport: (connection, _auth, options) => this.#transportFor(connection, options.scope),
    });
    this.pool = new McpRuntimePool(factory, {
      idleTimeoutMs,
      maxSessions,
      maxLifetimeMs,
      openBackoff: BACKOFF,
      onEvent: (event) => {
        this.#onEvent(event);
        const { armed } = this;
        this.armed = undefined;
        armed?.();
        throw new Error("a listener's failure harms nothing");
      },
    });
  }

  connection(key: number, config: number): McpSourceConnection {
    const { id, kind } = KEYS[key];
    const name = `${id} ${config}`;
    let connection = this.#connections.get(name);
    if (!connection) {
      const [provider, account] = id.split(".");
      const transport = kind === "stdio"
        ? { kind, command: "model", args: [String(config)] }
        : { kind, url: `http://127.0.0.1/${config}` };
      this.#connections.set(name, connection = parseConnection({ id, provider, account, transport }));
    }
    return connection;
  }

  call(key: number, config: number, how: "none" | "own" | "shared", given: PoolCallOptions): void {
    const own = how === "own" ? countingSignal() : undefined;
    const signal = how === "shared" ? this.shared.signal : own?.signal;
    const { scope } = KEYS[key];
    const options: PoolCallOptions = { ...given, ...(scope ? { scope } : {}), ...(signal ? { signal } : {}) };
    const call: ModelCall = {
      number: this.calls.length,
      key,
      config,
      options,
      own,
      since: this.clock.now,
      sends: [],
      outcome: undefined,
    };
    this.calls.push(call);
    this.pool.callTool(this.connection(key, config), null, `t${call.number}`, {}, options).then(
      (result) => {
        const last = call.sends.at(-1);
        if (last?.state !== "answered") this.#problem(call, "has a result that no server gave");
        if (result.output.call !== call.number) this.#problem(call, "has another call's result");
        if (result.session?.generation !== last?.transport.generation) this.#problem(call, "has a wrong generation");
        this.#settled(call, result.outcome);
      },
      (error) => {
        this.#explain(call, error);
        this.#settled(call, "failed");
      },
    );
  }

  hold(key: number, config: number): void {
    this.waits++;
    const { scope } = KEYS[key];
    this.pool.getSession(this.connection(key, config), null, scope ? { scope } : {}).then((session) => {
      this.waits--;
      this.holders.push(session);
    }, () => this.waits--);
  }

  /** From now on calls of this connection may be told that their session was closed. */
  excuse(id: string): void {
    this.#excuses.set(id, this.clock.now);
  }

  onStart(transport: ModelTransport): void {
    this.#count("opening");
    const rivals = this.transports.filter((other) => other !== transport && other.key === transport.key);
    for (const other of rivals) {
      const lives = other.kind === "stdio"
        ? other.state !== "gone" && other.state !== "new" && !other.stuck
        : isLive(other);
      if (lives) this.problems.push(`two sessions of ${transport.key} live at the same time`);
    }
    const { maxSessions } = this.#policy;
    const open = this.transports.filter(({ state, stuck }) => state !== "gone" && state !== "new" && !stuck).length;
    if (maxSessions > 0 && open > maxSessions) this.problems.push(`${open} sessions, the limit is ${maxSessions}`);
    const { notBefore = 0 } = this.#opening.get(`${transport.key} ${transport.config}`) ?? {};
    if (this.clock.now < notBefore) {
      this.problems.push(`${transport.key} is opened ${notBefore - this.clock.now} ms before its backoff is over`);
    }
  }

  onWritten(request: WireRequest): void {
    const { transport } = request;
    const call = this.calls[request.call];
    const previous = call.sends.at(-1);
    call.sends.push(request);
    this.#count(previous ? "sent again" : "sent");
    if (call.outcome) this.#problem(call, "is sent after it settled");
    if (previous && !mayFollow(call, previous)) this.#problem(call, "is sent twice");
    if (transport.config !== call.config) this.#problem(call, "runs on another configuration");
    if (transport.key !== keyName(call.key)) this.#problem(call, "runs on another key");
    const expected = call.options.expectGeneration;
    if (expected !== undefined && transport.generation !== undefined && expected !== transport.generation) {
      this.#problem(call, "runs on another generation than expected");
    }
    if (transport.open.length > this.#policy.concurrency) this.#problem(call, "overlaps another");
    const before = transport.requests[transport.requests.indexOf(request) - 1];
    // A loss sends the queued calls through the slot again; calls made in that very moment may come before them.
    const sinceLoss = call.number >= (this.#lossAt.get(transport.key) ?? 0);
    if (
      before && before.call > call.number && sinceLoss && this.#attempts(call.number) === 1 &&
      this.#attempts(before.call) === 1
    ) {
      this.#problem(call, `starts after ${before.call}`);
    }
  }

  #attempts(number: number): number {
    return this.transports.flatMap(({ requests }) => requests.filter((each) => each.call === number)).length;
  }

  /** What must hold when nothing can move without time or a command. */
  check(): void {
    const { calls, sessions, ...totals } = this.pool.stats();
    const { ok, error, failed, failedByCode, queued, inFlight } = calls;
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    const expect = (what: string, found: number, expected: number) => {
      if (found !== expected) this.problems.push(`stats: ${what} is ${found}, not ${expected}`);
    };
    const unsettled = this.calls.filter((call) => !call.outcome);
    const outcomes = (outcome: string) => this.calls.filter((call) => call.outcome === outcome).length;
    expect("queued + in flight", queued + inFlight, unsettled.length);
    expect("ok", ok, outcomes("ok"));
    expect("error", error, outcomes("error"));
    expect("failed", failed, outcomes("failed"));
    expect("sum of failedByCode", sum(Object.values(failedByCode)), failed);
    const { opened, openFailed, ...ended } = totals;
    expect("opened", opened, sessions.idle + sessions.busy + sessions.closing + sum(Object.values(ended)));
    expect("opened, as events tell", opened, this.seen["session-opened"] ?? 0);
    expect("openFailed, as events tell", openFailed, this.seen["session-open-failed"] ?? 0);
    const infos = this.pool.sessions();
    expect("in flight, as sessions tell", sum(infos.map((info) => info.inFlight)), inFlight);
    const keys = infos.filter(({ state }) => state === "opening" || state === "ready").map(nameOf);
    if (new Set(keys).size < keys.length) this.problems.push("two sessions of one key are listed");
    for (const info of infos) {
      if (info.state === "ready" && info.queued > 0 && info.inFlight < this.#policy.concurrency) {
        this.problems.push(`${nameOf(info)} has queued calls and does nothing`);
      }
    }
    this.#checkCalls();
  }

  /** What must hold after the pool was closed. */
  checkEnd(): void {
    for (const call of this.calls) if (!call.outcome) this.#problem(call, "never settled");
    if (this.waits > 0) this.problems.push(`${this.waits} waits for a session never settled`);
    const { opening, idle, busy, closing } = this.pool.stats().sessions;
    if (opening + idle + busy + closing > 0 || this.pool.sessions().length > 0) this.problems.push("sessions are left");
    const left = this.transports.filter(({ state, stuck }) => state !== "gone" && state !== "new" && !stuck);
    if (left.length > 0) this.problems.push(`${left.length} transports are left`);
    if (this.clock.pending > 0) this.problems.push(`${this.clock.pending} timers are left`);
    this.#checkCalls();
  }

  restore(): void {
    removeEventListener("unhandledrejection", this.#onUnhandled);
    Math.random = this.#random;
    this.clock.restore();
  }

  #transportFor({ id, transport }: McpSourceConnection, scope: string | undefined): ModelTransport {
    const key = nameOf({ connectionId: id, scope });
    const config = transport!.kind === "stdio" ? transport!.args![0] : new URL(transport!.url).pathname.slice(1);
    const made = new ModelTransport(key, Number(config), this.modes[id], this.clock, this, transport!.kind);
    this.transports.push(made);
    return made;
  }

  #checkCalls(): void {
    let sharing = 0;
    for (const call of this.calls) {
      if (call.outcome) {
        if (call.own?.listeners()) this.#problem(call, "left a listener on its signal");
        continue;
      }
      if (call.options.signal === this.shared.signal) sharing++;
      const limit = call.options.queueTimeoutMs;
      if (limit && call.sends.length === 0 && !this.modes[KEYS[call.key].id].stalled) {
        const stalled = this.transports.some(({ requests }) =>
          requests.some((request) => request.call === call.number)
        );
        if (!stalled && this.clock.now > call.since + limit) this.#problem(call, "waits longer than its limit");
      }
    }
    if (sharing === 0 && this.shared.listeners() > 0) this.problems.push("a listener is left on a shared signal");
  }

  #settled(call: ModelCall, outcome: ModelCall["outcome"]): void {
    if (call.outcome) this.#problem(call, "settled twice");
    call.outcome = outcome;
    this.#count(`call ${outcome}`);
  }

  /** A failure must have a reason in what the commands did, and must not deny what reached a server. */
  #explain(call: ModelCall, error: unknown): void {
    if (!(error instanceof McpRuntimeError)) {
      this.#count("ABORTED");
      if (error !== call.options.signal?.reason) this.#problem(call, `failed with something else: ${error}`);
      return;
    }
    this.#count(error.code);
    if (error.code === "OPEN_FAILED") this.#openFailed(`${keyName(call.key)} ${call.config}`);
    const ran = call.sends.some((request) => request.state !== "refused");
    if (error.delivery === "not-sent" && ran) this.#problem(call, `was sent and is told ${error.code} not-sent`);
    const { id } = KEYS[call.key];
    const replaced = (this.#excuses.get(`${keyName(call.key)} replaced`) ?? -1) >= call.since;
    if (
      error.code === "SESSION_CLOSED" && !this.ending && !replaced && !((this.#excuses.get(id) ?? -1) >= call.since)
    ) {
      this.#problem(call, "is told SESSION_CLOSED, and nobody closed it");
    }
    if (error.code === "POOL_CLOSED" && !this.ending) this.#problem(call, "is told POOL_CLOSED");
    if (error.code === "QUEUE_TIMEOUT" && !(this.clock.now - call.since >= (call.options.queueTimeoutMs ?? Infinity))) {
      this.#problem(call, "is told QUEUE_TIMEOUT too early");
    }
  }

  #onEvent(event: RuntimeEvent): void {
    this.#count(event.type);
    const key = nameOf(event);
    const latest = this.transports.findLast((transport) => transport.key === key);
    if (event.type === "session-opened") {
      latest!.generation = event.generation;
      this.#opening.delete(`${key} ${latest!.config}`);
    } else if (event.type === "session-open-failed") {
      const code = event.error instanceof McpRuntimeError ? event.error.code : undefined;
      if (code === "OPEN_FAILED") this.#untold.set(`${key} ${latest!.config}`, this.clock.now);
    } else if (event.type === "session-lost") this.#lossAt.set(key, this.calls.length);
    else if (event.type === "session-replaced") this.excuse(`${key} replaced`);
    else if (event.type === "session-evicted") this.#evicted(event, key);
  }

  #openFailed(name: string): void {
    const failedAt = this.#untold.get(name);
    if (failedAt === undefined) return;
    this.#untold.delete(name);
    const { failures = 0 } = this.#opening.get(name) ?? {};
    const delay = failures === 0 ? 0 : Math.min(BACKOFF.maxMs, BACKOFF.initialMs * 2 ** (failures - 1)) * 0.75;
    this.#opening.set(name, { failures: failures + 1, notBefore: failedAt + delay });
  }

  #evicted(event: RuntimeEvent & { type: "session-evicted" }, key: string): void {
    this.#count(`evicted: ${event.reason}`);
    if (event.reason === "max-lifetime") return;
    const infos = this.pool.sessions();
    const info = infos.find((each) => nameOf(each) === key && each.generation === event.generation);
    if (!info || info.queued + info.inFlight > 0) this.problems.push(`${key} is evicted (${event.reason}) while busy`);
    if (event.reason === "idle" && info!.idleMs < this.#policy.idleTimeoutMs) {
      this.problems.push(`${key} is evicted after ${info!.idleMs} ms`);
    }
    const idler = infos.find((each) =>
      each.state === "ready" && each.queued + each.inFlight === 0 && each.idleMs > info!.idleMs
    );
    if (event.reason === "max-sessions" && idler) {
      this.problems.push(`${key} is evicted before ${nameOf(idler)}, idle for longer`);
    }
  }

  #count(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  }

  #problem(call: ModelCall, what: string): void {
    this.problems.push(`call ${call.number} of ${keyName(call.key)} ${what}`);
  }
}

function isLive({ state, forgotten }: ModelTransport): boolean {
  return (state === "opening" || state === "alive") && !forgotten;
}

function mayFollow({ options, sends }: ModelCall, { state, written }: WireRequest): boolean {
  if (sends.length > 2 || options.expectGeneration !== undefined || options.retry === "never") return false;
  if (state === "refused" || !written) return true;
  return options.retry === "idempotent" && (state === "lost" || state === "broken" || state === "open");
}

function keyName(key: number): string {
  return nameOf({ connectionId: KEYS[key].id, scope: KEYS[key].scope });
}

function nameOf({ connectionId, scope }: { connectionId: string; scope?: string | undefined }): string {
  return scope === undefined ? connectionId : `${connectionId}/${scope}`;
}
