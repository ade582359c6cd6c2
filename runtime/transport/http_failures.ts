/**
 * The errors of the HTTP transport: what each failure is called, and whether the tool may have run.
 *
 * @module
 */
import type { AuthRecord } from "../auth.ts";
import type { McpSourceConnection } from "../connection.ts";
import {
  AuthRejectedError,
  type Delivery,
  HttpError,
  type HttpErrorInit,
  type McpErrorCode,
  McpRuntimeError,
} from "../errors.ts";
import { excerpt, type Redactor, redactorFor, safeCause } from "../secrets.ts";
import { mediaTypeOf, readStart } from "./body.ts";
import { parseChallenge } from "./challenge.ts";
import { allowHint, exposeHint } from "./cors.ts";
import type { Endpoint } from "./endpoint.ts";
import type { JsonRpcErrorResponse } from "./message.ts";

/** As much of an error page is read as may hold a JSON-RPC error and a word to people. */
const ERROR_BODY_BYTES = 16 * 1024;
/** How long an error page may take, in milliseconds; its status says the most. */
const ERROR_BODY_MS = 500;

/** Errors by which a runtime says that no connection was made, so that nothing can have been written. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Limits of Node's own HTTP layer (undici), which no option of this library raises. */
const NODE_LIMITS: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT:
    "Node's fetch waits at most 300 s for the headers of a response (headersTimeout of its dispatcher)",
  UND_ERR_BODY_TIMEOUT: "Node's fetch waits at most 300 s for the next part of a body (bodyTimeout of its dispatcher)",
};

/** An answer with an error status, with the start of its body. */
export interface Refusal {
  status: number;
  mediaType: string | null;
  /** The start of the body, not cleaned. */
  body: string;
  /** The body as JSON, when it is JSON and short. */
  json: unknown;
  challenge: string | null;
  /** Only headers that the server exposes can be seen: it is of another origin than the page this runs in. */
  filtered: boolean;
}

/**
 * Reads what a server said with an error status.
 *
 * @param response the response; its body is read or cancelled
 * @returns its parts
 */
export async function readRefusal(response: Response): Promise<Refusal> {
  const body = await readStart(response, ERROR_BODY_BYTES, ERROR_BODY_MS);
  return {
    status: response.status,
    mediaType: mediaTypeOf(response),
    body,
    json: parseOrNothing(body),
    challenge: response.headers.get("www-authenticate"),
    filtered: response.type === "cors",
  };
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A page for people, or cut: shown as text.
  }
}

/** Makes the errors of one connection. */
export class HttpFailures {
  readonly connectionId: string;
  readonly #connection: McpSourceConnection;
  readonly #auth: AuthRecord | null;
  readonly #endpoint: Endpoint;
  /** The session's id: whoever has it can speak in the session, so it is shown nowhere. */
  sessionId: string | undefined;
  /** Set when no session id could be seen in the answer to `initialize`, and there may be one that is not exposed. */
  sessionIdHidden = false;
  #secrets: readonly string[] = [];
  #hookHeaderNames: readonly string[] = [];

  /**
   * @param connection the connection
   * @param auth its auth record
   * @param endpoint where its requests go
   */
  constructor(connection: McpSourceConnection, auth: AuthRecord | null, endpoint: Endpoint) {
    this.connectionId = connection.id;
    this.#connection = connection;
    this.#auth = auth;
    this.#endpoint = endpoint;
  }

  /**
   * Remembers the latest headers of the credentials hook; their values are secrets.
   *
   * @param headers the headers
   */
  addHookHeaders(headers: Readonly<Record<string, string>>): void {
    // Tokens rotate; the last few are those that a server can still repeat.
    this.#secrets = [...Object.values(headers), ...this.#secrets].slice(0, 32);
    this.#hookHeaderNames = Object.keys(headers);
  }

  /**
   * A JSON-RPC error as it may be passed on: the client knows the secrets of the configuration, but not those that the
   * hook gave, and not the session's id.
   *
   * @param response the error response
   * @returns it without them
   */
  cleaned(response: JsonRpcErrorResponse): JsonRpcErrorResponse {
    if (this.#secrets.length === 0 && this.sessionId === undefined) return response;
    return { ...response, error: this.redactor.redactJson(response.error) as JsonRpcErrorResponse["error"] };
  }

  /** Knows the secrets; made when something failed, because most connections never need it. */
  get redactor(): Redactor {
    const { sessionId } = this;
    return redactorFor(this.#connection, this.#auth, [
      ...this.#secrets,
      ...(sessionId === undefined ? [] : [sessionId]),
    ]);
  }

  /** `fetch` failed. */
  noResponse(error: unknown, delivery: Delivery): McpRuntimeError {
    if (isNotConnected(error)) return this.broken(error, "not-sent", "could not be reached");
    const hint = allowHint(this.#endpoint.url, [...Object.keys(this.#endpoint.headers), ...this.#hookHeaderNames]);
    return this.broken(error, delivery, delivery === "not-sent" ? "could not be asked" : "did not answer", hint);
  }

  /** The exchange broke, whatever the failure was. */
  broken(error: unknown, delivery: Delivery, doing: string, hint = ""): McpRuntimeError {
    const cause = safeCause(error, this.redactor);
    const limit = codesOf(error).map((code) => NODE_LIMITS[code]).find((text) => text !== undefined);
    return this.#http(`${doing}: ${limit ?? deepestMessage(cause)}${hint}`, { delivery, cause });
  }

  /** The server answered with a status that is no success. */
  status(refusal: Refusal, method: string): HttpError {
    const delivery = refusal.status >= 500 ? "unknown" : "answered";
    const mayBeSession = this.sessionIdHidden && (refusal.status === 400 || refusal.status === 404);
    const hint = mayBeSession ? exposeHint("uses sessions", "Mcp-Session-Id") : "";
    return this.refused(`answered ${method} with status ${refusal.status}`, refusal, { delivery }, hint);
  }

  /** A refusal under another heading. */
  refused(what: string, refusal: Refusal, init: { code?: McpErrorCode; delivery: Delivery }, hint = ""): HttpError {
    const said = excerpt(refusal.body, this.redactor);
    const tail = [refusal.mediaType === null ? "no media type" : excerpt(refusal.mediaType, this.redactor, 60), said];
    return this.#http(`${what}: ${tail.filter((part) => part !== "").join(", ")}${hint}`, {
      ...refusal,
      ...init,
      excerpt: said,
    });
  }

  /** The server does not know the session: nothing ran. */
  sessionUnknown(status: number, delivery: Delivery = "not-sent"): HttpError {
    return this.#http(`does not know the session any more (status ${status})`, {
      code: "SESSION_LOST",
      status,
      delivery,
    });
  }

  /** No answer can come on this exchange. */
  noAnswer(what: string, status: number, mediaType: string | null, delivery: Delivery = "unknown"): HttpError {
    return this.#http(what, { status, mediaType, delivery });
  }

  /** A redirect that is not followed; where it leads is the server's text. */
  redirected(method: string, why: string, status: number): HttpError {
    return this.noAnswer(`did not take ${method}: ${excerpt(why, this.redactor, 300)}`, status, null, "answered");
  }

  /** A redirect in a browser, which nothing is known of. */
  hiddenRedirect(method: string): HttpError {
    return this.#http(
      `did not take ${method}: it was redirected, and a browser does not tell where to: give the connection the URL ` +
        "that the redirect leads to",
      { delivery: "answered" },
    );
  }

  /** 401, or 403. */
  rejected(refusal: Refusal, how: string): AuthRejectedError {
    const redactor = this.redactor;
    const challenge = parseChallenge(refusal.challenge, redactor);
    const said = challenge?.error ?? excerpt(refusal.body, redactor);
    const hint = refusal.filtered && !challenge ? exposeHint("sent a challenge", "WWW-Authenticate") : "";
    return new AuthRejectedError(
      `the server of connection "${this.connectionId}" rejected the credentials with status ${refusal.status}${how}` +
        (said ? `: ${said}` : "") + hint,
      {
        code: "AUTH_REJECTED",
        connectionId: this.connectionId,
        status: refusal.status,
        ...(challenge === undefined ? {} : { challenge }),
      },
    );
  }

  /** A message is longer than allowed. */
  tooLarge(direction: "request" | "answer", limit: number): McpRuntimeError {
    const [what, delivery] = direction === "request"
      ? ["a message to the server", "not-sent" as const]
      : ["an answer of the server", "answered" as const];
    return new McpRuntimeError(
      `${what} of connection "${this.connectionId}" is too large: the limit is ${limit} bytes`,
      {
        code: "MESSAGE_TOO_LARGE",
        delivery,
        connectionId: this.connectionId,
      },
    );
  }

  /** The exchange was ended by closing the transport. */
  closed(delivery: Delivery): McpRuntimeError {
    return new McpRuntimeError(`session of connection "${this.connectionId}" was closed`, {
      code: "SESSION_CLOSED",
      delivery,
      connectionId: this.connectionId,
    });
  }

  /** The server broke the protocol. */
  protocol(what: string, status: number | null, delivery: Delivery): HttpError {
    return this.#http(what, { code: "PROTOCOL_ERROR", status, delivery });
  }

  #http(what: string, init: Partial<HttpErrorInit>): HttpError {
    const message = `the server of connection "${this.connectionId}" (${this.#endpoint.shown}) ${what}`;
    const { code = "HTTP_ERROR", delivery = "unknown", status = null, mediaType = null, excerpt: said = "", cause } =
      init;
    return new HttpError(message, {
      code,
      delivery,
      connectionId: this.connectionId,
      status,
      mediaType: mediaType === null ? null : excerpt(mediaType, this.redactor, 100),
      excerpt: said,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  // Node tells the reason in `cause`, and of several addresses in `errors` of an AggregateError with its own code.
  for (let i = 0; i < 4 && typeof error === "object" && error !== null; i++) {
    const { code, cause } = error as { code?: unknown; cause?: unknown };
    if (typeof code === "string") codes.push(code);
    error = cause;
  }
  return codes;
}

/**
 * Deno tells a failed connect only in words; `client error (Connect)` covers name lookup, TCP and TLS, all of them
 * before the request is written. A request that failed later says `client error (SendRequest)`.
 */
function isNotConnected(error: unknown): boolean {
  for (let i = 0; i < 4 && typeof error === "object" && error !== null; i++) {
    const { code, syscall, message, cause } = error as Record<string, unknown>;
    // Node: an established connection may break with the same codes (`read EHOSTUNREACH`), after the request was written.
    const later = syscall !== undefined && syscall !== "connect" && syscall !== "getaddrinfo";
    if (NOT_CONNECTED.has(code as string) && !later) return true;
    if (/: client error \(Connect\)(?::|$)/.test(String(message))) return true;
    error = cause;
  }
  return false;
}

function deepestMessage(cause: unknown): string {
  let message = String(cause);
  for (let i = 0; i < 4 && cause instanceof Error; i++) {
    if (cause.message !== "") message = cause.message;
    cause = cause.cause;
  }
  return message;
}
