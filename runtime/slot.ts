/**
 * One key of the pool: at most one live session, and the callers that wait for one.
 *
 * - Callers with the same fingerprint wait together and share one opening; one that leaves does not cancel it.
 * - Groups are served in order. A session of another fingerprint drains and closes before its successor opens.
 * - An opening whose fingerprint was overtaken by a newer one is given up, once; its group is served after the newer,
 *   and until then nobody else overtakes.
 * - Two sessions of one key never live at the same time.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import { OpenBackoff } from "./backoff.ts";
import type { McpSourceConnection } from "./connection.ts";
import { BackoffError } from "./errors.ts";
import type { LiveSession } from "./live_session.ts";
import { LinkedQueue, type QueueNode } from "./queue.ts";
import type { FollowedCall } from "./telemetry_hooks.ts";

/** Someone who waits for a session. Both callbacks run synchronously, so that a call is accepted before anything else. */
export interface SlotWaiter extends QueueNode<SlotWaiter> {
  deliver(live: LiveSession): void;
  fail(error: unknown): void;
  /** Who follows the call that waits. */
  readonly telemetry?: FollowedCall | null | undefined;
}

/** What a session is opened with. */
export interface SlotConfig {
  readonly connection: McpSourceConnection;
  readonly auth: AuthRecord | null;
  /** Of both. */
  readonly fingerprint: string;
}

/** Callers that want the same configuration. */
export interface SlotGroup extends SlotConfig {
  readonly waiters: LinkedQueue<SlotWaiter>;
  /** Who follows the call for which the session is opened. */
  readonly telemetry: FollowedCall | null | undefined;
  /** Whether its opening was given up before: that happens at most once. */
  overtaken: boolean;
}

/** What a slot needs of its pool. */
export interface SlotHost {
  /** Waits until there may be one more session. Rejects when `signal` is aborted. */
  reserve(signal: AbortSignal): Promise<void>;
  /** Gives back what `reserve` took, when nothing is opened after all. */
  release(): void;
  /** Opens a session for the group and registers it; rejects when `signal` is aborted, after ending what it started. */
  open(slot: Slot, group: SlotGroup, signal: AbortSignal): Promise<LiveSession>;
  /** Starts to close the live session because its configuration changed. */
  replace(slot: Slot, live: LiveSession, group: SlotGroup): void;
  /** Everybody who waited has the session; perhaps nobody did any more. */
  onServed(live: LiveSession): void;
  /** Nothing is live and nobody waits. */
  onEmpty(slot: Slot): void;
}

const OVERTAKEN = new Error("the configuration changed while the session was being opened");
const NOBODY_WAITS = new Error("nobody waits for the session any more");

/** See the module. */
export class Slot {
  readonly key: string;
  readonly connectionId: string;
  readonly scope: string | undefined;
  readonly backoff = new OpenBackoff();
  /** The session that takes calls, when there is one. */
  live: LiveSession | undefined;
  /** Generation of the last session that was opened or tried. */
  generation: number;
  /** The fingerprint that was replaced last, to notice callers that alternate. */
  replacedFingerprint: string | undefined;
  /** The session that has to be gone before the next opening. */
  previous: LiveSession | undefined;
  /** Sessions that left and are not gone. */
  leaving = 0;
  /** Whether a session is being opened, from its first event to its last. */
  opening = false;
  readonly #host: SlotHost;
  #groups: SlotGroup[] = [];
  #controller: AbortController | undefined;
  #reserving = false;
  #openingDone: Promise<unknown> = Promise.resolve();
  #driving = false;

  constructor(host: SlotHost, key: string, connectionId: string, scope: string | undefined, generation: number) {
    this.#host = host;
    this.key = key;
    this.connectionId = connectionId;
    this.scope = scope;
    this.generation = generation;
  }

  /** Whether the slot holds nothing, not even a session that is ending: its successor has to wait for it. */
  get empty(): boolean {
    return this.live === undefined && !this.#driving && this.leaving === 0;
  }

  /** How many wait for a session. */
  get waiting(): number {
    return this.#groups.reduce((sum, group) => sum + group.waiters.size, 0);
  }

  /** Whether callers with this fingerprint are already being served. */
  serves(fingerprint: string): boolean {
    return this.#groups.some((group) => group.fingerprint === fingerprint);
  }

  /**
   * Refuses callers of a configuration that keeps failing to open, until its delay is over.
   *
   * @param fingerprint the configuration
   * @param now milliseconds
   * @throws {BackoffError} `OPEN_FAILED` with the last failure as its cause
   */
  refuseDuringBackoff(fingerprint: string, now: number): void {
    const retryAfterMs = this.serves(fingerprint) ? 0 : this.backoff.waitMs(fingerprint, now);
    if (retryAfterMs === 0) return;
    const { connectionId } = this;
    const cause = this.backoff.lastError(fingerprint);
    const said = cause instanceof Error ? cause.message : "no reason is known";
    throw new BackoffError(`connection "${connectionId}" is not tried again for ${retryAfterMs} ms: ${said}`, {
      code: "OPEN_FAILED",
      connectionId,
      retryAfterMs,
      cause,
    });
  }

  /**
   * Waits for a session.
   *
   * @param waiter gets the session or the failure
   * @param config what the session has to be opened with
   * @returns takes the waiter out again; the opening goes on without it
   */
  join(waiter: SlotWaiter, { connection, auth, fingerprint }: SlotConfig): () => void {
    let group = this.#groups.find((candidate) => candidate.fingerprint === fingerprint);
    if (!group) {
      const { telemetry } = waiter;
      group = { fingerprint, connection, auth, telemetry, waiters: new LinkedQueue(), overtaken: false };
      this.#overtake(group);
    }
    const { waiters } = group;
    waiters.push(waiter);
    if (!this.#driving) this.#drive();
    return () => {
      waiters.remove(waiter);
      // Once a session is being opened it is worth having; while it only waits for room it is not.
      if (this.#reserving && waiters.size === 0 && this.#groups[0] === group) this.#controller?.abort(NOBODY_WAITS);
    };
  }

  /**
   * Gives up what is being opened and refuses everybody who waits.
   *
   * @param error what they are told
   * @returns resolves when what was being opened has ended
   */
  cancel(error: unknown): Promise<unknown> {
    const groups = this.#groups;
    this.#groups = [];
    this.#controller?.abort(error);
    for (const group of groups) failAll(group, error);
    return this.#openingDone;
  }

  #overtake(group: SlotGroup): void {
    const current = this.#groups[0];
    // One at a time: if every newcomer overtook, a configuration that changes with each call would never be opened.
    if (!this.#controller || !current || this.#groups.some(({ overtaken }) => overtaken)) {
      this.#groups.push(group);
      return;
    }
    current.overtaken = true;
    this.#groups = [group, ...this.#groups.slice(1), current];
    this.#controller.abort(OVERTAKEN);
  }

  async #drive(): Promise<void> {
    this.#driving = true;
    for (let group = this.#groups[0]; group; group = this.#groups[0]) {
      try {
        const live = await this.#sessionFor(group);
        if (live) this.#serve(group, live);
      } catch (error) {
        // Overtaken or cancelled, the group is no longer the first: its waiters wait for their turn, or were told.
        if (this.#groups[0] !== group) continue;
        // Somebody came in the turn in which the last one left.
        if (error === NOBODY_WAITS && group.waiters.size > 0) continue;
        this.#groups.shift();
        failAll(group, error);
      }
    }
    this.#driving = false;
    if (this.empty) this.#host.onEmpty(this);
  }

  /** `undefined` when the group is not to be served now, or not any more. */
  async #sessionFor(group: SlotGroup): Promise<LiveSession | undefined> {
    if (this.live && this.live.fingerprint !== group.fingerprint) this.#host.replace(this, this.live, group);
    if (this.live) return this.live;
    await this.previous?.owner.closed;
    if (this.#groups[0] !== group) return undefined;
    if (this.live) return undefined; // Look again: its fingerprint decides.
    if (group.waiters.size === 0) {
      this.#groups.shift();
      return undefined;
    }
    const { signal } = this.#controller = new AbortController();
    const work = this.#open(group, signal);
    this.#openingDone = work.catch(() => {}); // Told to the waiters; `cancel` only waits for the end.
    try {
      return await work;
    } finally {
      this.#controller = undefined;
    }
  }

  async #open(group: SlotGroup, signal: AbortSignal): Promise<LiveSession> {
    this.#reserving = true;
    try {
      await this.#host.reserve(signal);
    } finally {
      this.#reserving = false;
    }
    if (signal.aborted) {
      this.#host.release();
      throw signal.reason;
    }
    return await this.#host.open(this, group, signal);
  }

  #serve(group: SlotGroup, live: LiveSession): void {
    // Cancelled at the last moment: whoever cancelled closes the session, since it is registered by now.
    if (this.#groups[0] !== group) return;
    if (this.live !== live) return; // It left before anybody had it: another is opened.
    for (let waiter = group.waiters.shift(); waiter; waiter = group.waiters.shift()) waiter.deliver(live);
    // Only now: a listener that makes a call meanwhile must not get ahead of those who still wait, and may have cancelled.
    if (this.#groups[0] === group) this.#groups.shift();
    this.#host.onServed(live);
  }
}

function failAll(group: SlotGroup, error: unknown): void {
  for (let waiter = group.waiters.shift(); waiter; waiter = group.waiters.shift()) waiter.fail(error);
}
