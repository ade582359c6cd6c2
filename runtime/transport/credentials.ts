/**
 * Credentials that the program gives for each HTTP request.
 *
 * @module
 */
import type { AuthRecord } from "../auth.ts";
import { headerProblem, type McpSourceConnection, shownKey } from "../connection.ts";
import { AuthRejectedError, McpRuntimeError, McpTimeoutError } from "../errors.ts";
import { canonicalJson, isPlainObject } from "../json.ts";
import { limitOf } from "../limits.ts";
import { redactorFor, safeCause } from "../secrets.ts";
import { startTimer, type Timer } from "../timers.ts";

/** What the server refused, handed to the hook when it is asked for something newer. */
export interface RejectedCredentials {
  /** 401 or 403. */
  status: number;
  /** The headers that the hook gave for the refused request. */
  sentHeaders: Record<string, string>;
  /** The `WWW-Authenticate` header of the refusal, or `null`. */
  challenge: string | null;
}

/** What a credentials hook is told. */
export interface CredentialsRequest {
  /** The connection the request belongs to. */
  connection: McpSourceConnection;
  /** Its auth record, or `null`. */
  auth: AuthRecord | null;
  /** The scope of the session, when it has one. */
  scope?: string;
  /** Aborted when nobody waits for the answer any more, or after `credentialsTimeoutMs`. */
  signal: AbortSignal;
  /** Set when the server refused what the hook gave before: get something newer. */
  rejected?: RejectedCredentials;
  /** The `fetch` that was injected for the session, for hooks that make requests themselves. */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
}

/** Gives the headers for one HTTP request. They are laid over all others and are not part of the fingerprint. */
export type CredentialsHook = (request: CredentialsRequest) => Record<string, string> | Promise<Record<string, string>>;

/** Headers that a hook gave, and which answer of the hook they were. */
export interface GivenCredentials {
  /** Checked headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Grows with each answer of the hook. */
  readonly turn: number;
}

/** What a source is made for. */
export interface CredentialsSourceInit {
  /** The connection. */
  connection: McpSourceConnection;
  /** Its auth record, or `null`. */
  auth: AuthRecord | null;
  /** The scope of the sessions that share the source. */
  scope?: string | undefined;
  /** Longest wait for one answer of the hook, in milliseconds. Default 30 000. */
  timeoutMs?: number | undefined;
  /** Handed to the hook. */
  fetch?: CredentialsRequest["fetch"] | undefined;
}

/** One question to the hook that several requests wait for. */
interface Renewal {
  readonly answer: Promise<GivenCredentials>;
  readonly controller: AbortController;
  waiters: number;
}

/**
 * One credentials hook as the sessions of one connection, scope and fingerprint share it.
 *
 * - The hook is asked for each request, so that a program may rotate tokens as it likes.
 * - After a refusal it is asked once for something newer, however many requests were refused; they share the answer.
 * - A request that was refused with headers older than the newest known is given the newest, and the hook is not asked.
 */
export class CredentialsSource {
  readonly #hook: CredentialsHook;
  readonly #init: CredentialsSourceInit;
  readonly #limitMs: number;
  #turn = 0;
  #newest: GivenCredentials | undefined;
  #renewed: GivenCredentials | undefined;
  #renewal: Renewal | undefined;

  /**
   * Makes a source; the hook is not asked before the first request.
   *
   * @param hook the program's hook
   * @param init what it is asked for
   * @throws {McpRuntimeError} `INPUT_INVALID` when the limit is not a number of at least 0
   */
  constructor(hook: CredentialsHook, init: CredentialsSourceInit) {
    this.#hook = hook;
    this.#init = init;
    this.#limitMs = limitOf("credentialsTimeoutMs", init.timeoutMs);
  }

  /**
   * Asks the hook for the headers of one request.
   *
   * @param signal aborted when nobody waits for the request any more
   * @returns the headers
   * @throws {McpRuntimeError} `AUTH_REJECTED` when the hook fails or is too slow, `INPUT_INVALID` for a header that may
   * not be sent
   */
  async headers(signal: AbortSignal): Promise<GivenCredentials> {
    const given = await this.#ask(undefined, signal);
    this.#remember(given);
    return given;
  }

  /**
   * Something newer than what the server refused. The renewal is shared, so one waiter that leaves does not end it.
   *
   * @param refused what was sent
   * @param status status of the refusal
   * @param challenge its `WWW-Authenticate` header, or `null`
   * @param signal aborted when this waiter leaves
   * @returns other headers than the refused ones, or `undefined` when the hook has none
   * @throws {McpRuntimeError} as {@linkcode CredentialsSource.headers}
   */
  async renew(
    refused: GivenCredentials,
    status: number,
    challenge: string | null,
    signal: AbortSignal,
  ): Promise<GivenCredentials | undefined> {
    const known = this.#renewal ? undefined : this.#newer(refused, status);
    if (known) return known;
    const renewal = this.#renewal ??= this.#renew({ status, sentHeaders: { ...refused.headers }, challenge });
    renewal.waiters++;
    try {
      const renewed = await untilAborted(renewal.answer, signal);
      return differs(renewed, refused) ? renewed : undefined;
    } finally {
      if (--renewal.waiters === 0) renewal.controller.abort(signal.reason);
    }
  }

  /** 403 asks for more rights than a known token may have, so only an answer to that very challenge helps. */
  #newer(refused: GivenCredentials, status: number): GivenCredentials | undefined {
    if (status !== 401) return undefined;
    return [this.#renewed, this.#newest].find((given) => given && given.turn > refused.turn && differs(given, refused));
  }

  #renew(rejected: RejectedCredentials): Renewal {
    const controller = new AbortController();
    const answer = this.#ask(rejected, controller.signal).then((renewed) => {
      this.#remember(renewed);
      this.#renewed = renewed;
      return renewed;
    });
    const renewal = { answer, controller, waiters: 0 };
    const done = () => {
      if (this.#renewal === renewal) this.#renewal = undefined;
    };
    answer.then(done, done);
    // With the last waiter the renewal ends; whoever comes then starts another.
    controller.signal.addEventListener("abort", done, { once: true });
    return renewal;
  }

  #remember(given: GivenCredentials): void {
    if (!this.#newest || given.turn > this.#newest.turn) this.#newest = given;
  }

  async #ask(rejected: RejectedCredentials | undefined, signal: AbortSignal): Promise<GivenCredentials> {
    const { connection, auth, scope, fetch } = this.#init;
    // A turn is taken when the hook answers: what it says later is newer, whenever it was asked.
    const controller = new AbortController();
    const answer = Promise.resolve().then(() =>
      this.#hook({
        connection,
        auth,
        signal: controller.signal,
        ...(scope === undefined ? {} : { scope }),
        ...(fetch === undefined ? {} : { fetch }),
        ...(rejected === undefined ? {} : { rejected }),
      })
    );
    try {
      const headers = checkedHeaders(await this.#limited(answer, controller, signal), connection.id);
      return { headers, turn: ++this.#turn };
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      throw this.#failure(error, rejected);
    }
  }

  async #limited<T>(answer: Promise<T>, controller: AbortController, signal: AbortSignal): Promise<T> {
    const startedAt = Date.now();
    let timer: Timer | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = startTimer(() => {
        const error = this.#lateError(Date.now() - startedAt);
        reject(error);
        controller.abort(error);
      }, this.#limitMs);
    });
    answer.catch(() => {}); // An answer that comes after the limit is nobody's.
    try {
      return await untilAborted(Promise.race([answer, expired]), signal, (reason) => controller.abort(reason));
    } finally {
      clearTimeout(timer);
    }
  }

  #lateError(elapsedMs: number): McpTimeoutError {
    const { id } = this.#init.connection;
    const limitMs = this.#limitMs;
    return new McpTimeoutError(
      `connection "${id}" has no credentials: the hook did not answer within ${limitMs} ms`,
      { code: "AUTH_REJECTED", connectionId: id, elapsedMs, limitMs },
    );
  }

  #failure(error: unknown, rejected: RejectedCredentials | undefined): McpRuntimeError {
    const { connection, auth } = this.#init;
    if (error instanceof McpRuntimeError) {
      return error.connectionId === undefined ? error.restate({ connectionId: connection.id }) : error;
    }
    const redactor = redactorFor(connection, auth, Object.values(rejected?.sentHeaders ?? {}));
    const cause = safeCause(error, redactor);
    const said = cause instanceof Error ? cause.message : String(cause);
    return new AuthRejectedError(`connection "${connection.id}" has no credentials: the hook failed: ${said}`, {
      code: "AUTH_REJECTED",
      connectionId: connection.id,
      status: rejected?.status ?? null,
      cause,
    });
  }
}

function differs(one: GivenCredentials, other: GivenCredentials): boolean {
  return canonicalJson(one.headers) !== canonicalJson(other.headers);
}

function checkedHeaders(given: unknown, connectionId: string): Record<string, string> {
  const refuse = (what: string) => {
    throw new McpRuntimeError(`connection "${connectionId}": the credentials hook ${what}`, {
      code: "INPUT_INVALID",
      connectionId,
    });
  };
  if (!isPlainObject(given)) return refuse("must return an object of headers") as never;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const problem = headerProblem(name, value);
    if (problem) refuse(`gave a header that ${problem}: ${JSON.stringify(shownKey(name))}`);
    headers[name.toLowerCase()] = value as string;
  }
  return headers;
}

/** A promise that one waiter may leave while others stay. */
async function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  onAborted?: (reason: unknown) => void,
): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason);
      onAborted?.(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  promise.catch(() => {}); // When the waiter has left, a failure is for the others.
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort) signal.removeEventListener("abort", onAbort);
  }
}
