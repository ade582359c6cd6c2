/**
 * The one error class of the runtime and its few subclasses that carry more.
 *
 * @module
 */

/**
 * What went wrong, as a stable word that programs may switch on. docs/errors.md says for each code when it happens,
 * whether the tool may have run and what to do.
 */
export type McpErrorCode =
  | "CONNECTION_INVALID"
  | "INPUT_INVALID"
  | "NO_TRANSPORT"
  | "OPEN_FAILED"
  | "SESSION_CLOSED"
  | "SESSION_LOST"
  | "CALL_TIMEOUT"
  | "QUEUE_TIMEOUT"
  | "QUEUE_FULL"
  | "POOL_CLOSED"
  | "AUTH_REJECTED"
  | "HTTP_ERROR"
  | "PROTOCOL_ERROR"
  | "MESSAGE_TOO_LARGE"
  | "UNSUPPORTED";

/**
 * May the tool have run?
 *
 * - `not-sent`: no. Nothing of the call was written, or the server turned it away before any tool (a session it does
 *   not know, rejected credentials). Sending it again is safe.
 * - `unknown`: perhaps. The call, or a part of it, left this program and no answer came.
 * - `answered`: the server answered this very call with an error; what that means for the tool is in the answer.
 */
export type Delivery = "not-sent" | "unknown" | "answered";

/** What every {@linkcode McpRuntimeError} is made of. */
export interface McpErrorInit {
  /** The stable word for what went wrong. */
  code: McpErrorCode;
  /** May the tool have run? Default `not-sent`. */
  delivery?: Delivery;
  /** Id of the connection the failure belongs to, when there is one. */
  connectionId?: string;
  /** What led to this failure, already free of secrets. */
  cause?: unknown;
}

/**
 * Every failure of this library. Its message names what failed, for which connection, and after a colon what was seen
 * and the limit; no secret is ever in it. A caller's own abort is not wrapped: it rejects with `signal.reason`.
 *
 * @example
 * ```ts
 * import { McpRuntimeError, McpRuntimePool } from "@wf/sources-mcp";
 *
 * const pool = new McpRuntimePool();
 * try {
 *   await pool.callTool({ id: "no.server", provider: "no", account: "server" }, null, "echo", {});
 * } catch (error) {
 *   if (!(error instanceof McpRuntimeError)) throw error;
 *   console.log(error.code, error.delivery); // NO_TRANSPORT not-sent
 * }
 * ```
 */
export class McpRuntimeError extends Error {
  /** The stable word for what went wrong. */
  readonly code: McpErrorCode;
  /** May the tool have run? */
  readonly delivery: Delivery;
  /** Id of the connection the failure belongs to, when there is one. */
  readonly connectionId?: string;
  readonly #init: McpErrorInit;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init code, delivery, connection and cause
   */
  constructor(message: string, init: McpErrorInit) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    // Spelled out in every class: a bundler shortens the names of classes, and logs must say the same everywhere.
    this.name = "McpRuntimeError";
    this.code = init.code;
    this.delivery = init.delivery ?? "not-sent";
    if (init.connectionId !== undefined) this.connectionId = init.connectionId;
    this.#init = init;
  }

  /**
   * The same failure as it looks to one call: same class, code, message and details, its own delivery. Calls that fail
   * for one reason have copies with one and the same cause.
   *
   * @param delivery whether that call may have run
   * @returns this very error when it says so already, else a copy whose cause is the first telling of the failure
   */
  withDelivery(delivery: Delivery): this {
    if (delivery === this.delivery) return this;
    const first = this.#first;
    return first.delivery === delivery && first.code === this.code ? first : this.restate({ delivery });
  }

  /**
   * The same failure told again: same class and details, with some fields changed and its first telling as cause.
   *
   * @param changes the fields that differ, and the message when it does
   * @returns the copy
   */
  restate(changes: Partial<McpErrorInit> & { message?: string }): this {
    const { message = this.message, ...init } = changes;
    const Same = this.constructor as new (message: string, init: McpErrorInit) => this;
    return new Same(message, { ...this.#init, cause: this.#first, ...init });
  }

  /** A copy of a copy points to the first telling, so that causes never pile up. */
  get #first(): this {
    const { cause } = this;
    return cause instanceof McpRuntimeError && cause.message === this.message ? cause as this : this;
  }

  /**
   * A plain object for structured logs: name, code, message, delivery, connection id, the details of a subclass, and
   * the cause as text.
   *
   * @returns an object that JSON can carry
   */
  toJSON(): Record<string, unknown> {
    const { code, delivery, connectionId, cause: _cause, ...details } = this.#init;
    return {
      name: this.name,
      code,
      message: this.message,
      delivery: delivery ?? "not-sent",
      ...(connectionId === undefined ? {} : { connectionId }),
      ...details,
      ...(this.cause === undefined ? {} : { cause: String(this.cause) }),
    };
  }
}

/** How a child process ended, as far as it is known. */
export interface ProcessErrorInit extends McpErrorInit {
  /** What the session was doing: starting the process, its handshake, idle, or running a call. */
  phase: "spawn" | "handshake" | "idle" | "call";
  /** Exit code, or `null` when a signal ended the process or it never ran. */
  exitCode: number | null;
  /** Name of the signal that ended the process, or `null`. */
  signal: string | null;
  /** The last bytes of what the process wrote to stderr, at most 8 KiB, known secrets removed. */
  stderrTail: string;
}

/** A failure of a stdio server's process. Codes `OPEN_FAILED`, `SESSION_LOST`. */
export class ProcessError extends McpRuntimeError {
  /** What the session was doing. */
  readonly phase: ProcessErrorInit["phase"];
  /** Exit code, or `null`. */
  readonly exitCode: number | null;
  /** Name of the signal that ended the process, or `null`. */
  readonly signal: string | null;
  /** The last of the process's stderr, bounded, known secrets removed. */
  readonly stderrTail: string;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields and how the process ended
   */
  constructor(message: string, init: ProcessErrorInit) {
    super(message, init);
    this.name = "ProcessError";
    this.phase = init.phase;
    this.exitCode = init.exitCode;
    this.signal = init.signal;
    this.stderrTail = init.stderrTail;
  }
}

/** What an HTTP server answered, as far as it may be shown. */
export interface HttpErrorInit extends McpErrorInit {
  /** Status of the response, or `null` when none came. */
  status: number | null;
  /** Media type of the response without parameters, lower-case, or `null`. */
  mediaType: string | null;
  /** The start of the body, cleaned and bounded, or the empty string. */
  excerpt: string;
}

/** A failure at the HTTP level. Codes `HTTP_ERROR`, `OPEN_FAILED`, `SESSION_LOST`, `PROTOCOL_ERROR`, `UNSUPPORTED`. */
export class HttpError extends McpRuntimeError {
  /** Status of the response, or `null` when none came. */
  readonly status: number | null;
  /** Media type of the response, or `null`. */
  readonly mediaType: string | null;
  /** The start of the body, cleaned and bounded. */
  readonly excerpt: string;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields and what the server answered
   */
  constructor(message: string, init: HttpErrorInit) {
    super(message, init);
    this.name = "HttpError";
    this.status = init.status;
    this.mediaType = init.mediaType;
    this.excerpt = init.excerpt;
  }
}

/** A JSON-RPC error object (JSON-RPC 2.0, section 5.1). */
export interface RpcErrorInit extends McpErrorInit {
  /** The JSON-RPC error code. */
  rpcCode: number;
  /** The error's data, if any, known secrets removed. */
  data?: unknown;
}

/** The server answered a request with a JSON-RPC error. Codes `PROTOCOL_ERROR`, `OPEN_FAILED`. */
export class RpcError extends McpRuntimeError {
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  /** The error's data, if any. */
  readonly data?: unknown;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields, JSON-RPC code and data
   */
  constructor(message: string, init: RpcErrorInit) {
    super(message, init);
    this.name = "RpcError";
    this.rpcCode = init.rpcCode;
    if (init.data !== undefined) this.data = init.data;
  }
}

/** How long something took and how long it was allowed to take. */
export interface TimeoutErrorInit extends McpErrorInit {
  /** Milliseconds that had passed. */
  elapsedMs: number;
  /** The limit in milliseconds. */
  limitMs: number;
}

/** A limit of time ran out. Codes `CALL_TIMEOUT`, `QUEUE_TIMEOUT`, `OPEN_FAILED`, `AUTH_REJECTED`. */
export class McpTimeoutError extends McpRuntimeError {
  /** Milliseconds that had passed. */
  readonly elapsedMs: number;
  /** The limit in milliseconds. */
  readonly limitMs: number;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields, time passed and limit
   */
  constructor(message: string, init: TimeoutErrorInit) {
    super(message, init);
    this.name = "McpTimeoutError";
    this.elapsedMs = init.elapsedMs;
    this.limitMs = init.limitMs;
  }
}

/** When an opening may be tried again. */
export interface BackoffErrorInit extends McpErrorInit {
  /** Milliseconds until the next call will try to open a session again. */
  retryAfterMs: number;
}

/** No session was tried, because the last openings failed. Code `OPEN_FAILED`, with the last failure as cause. */
export class BackoffError extends McpRuntimeError {
  /** Milliseconds until the next call will try to open a session again. */
  readonly retryAfterMs: number;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields and the time to wait
   */
  constructor(message: string, init: BackoffErrorInit) {
    super(message, init);
    this.name = "BackoffError";
    this.retryAfterMs = init.retryAfterMs;
  }
}

/** The parts of a `WWW-Authenticate` challenge that a caller can use (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface AuthChallenge {
  /** The authentication scheme, such as `Bearer`. */
  scheme?: string;
  /** `error` of the challenge, such as `invalid_token` or `insufficient_scope`. */
  error?: string;
  /** `error_description` of the challenge, bounded and cleaned. */
  errorDescription?: string;
  /** `scope` of the challenge: the scopes that would be enough. */
  scope?: string;
  /** `resource_metadata` of the challenge: URL of the protected resource's metadata. */
  resourceMetadataUrl?: string;
}

/** What the server asked for when it refused the credentials. */
export interface AuthRejectedErrorInit extends McpErrorInit {
  /** Status of the response: 401 or 403; `null` when the hook failed before any request. */
  status: number | null;
  /** The challenge, when the server sent one. */
  challenge?: AuthChallenge;
  /** Where a person must go to authorize, when the OAuth flow needs one. */
  authorizationUrl?: string;
}

/** The server refused the credentials, or none could be had. Code `AUTH_REJECTED`; `delivery` is `not-sent`. */
export class AuthRejectedError extends McpRuntimeError {
  /** Status of the response: 401 or 403, or `null`. */
  readonly status: number | null;
  /** The challenge, when the server sent one. */
  readonly challenge?: AuthChallenge;
  /** Where a person must go to authorize, when the OAuth flow needs one. */
  readonly authorizationUrl?: string;

  /**
   * Makes the error.
   *
   * @param message what failed, without any secret
   * @param init the base fields, status, challenge and authorization URL
   */
  constructor(message: string, init: AuthRejectedErrorInit) {
    super(message, init);
    this.name = "AuthRejectedError";
    this.status = init.status;
    if (init.challenge !== undefined) this.challenge = init.challenge;
    if (init.authorizationUrl !== undefined) this.authorizationUrl = init.authorizationUrl;
  }
}
