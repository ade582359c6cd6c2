/**
 * The auth record: credentials of one connection, kept apart from it.
 *
 * @module
 */
import * as z from "zod/mini";
import { headerProblem, shownKey } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import { isHeaderValue } from "./headers.ts";
import { assertJson, frozenCopy, isPlainObject } from "./json.ts";

/**
 * Credentials of a connection. They are part of the session's identity: a changed record replaces the session. Tokens
 * that rotate belong in the `credentials` hook instead.
 *
 * The payload's fields that the runtime reads: `headers` (HTTP), `token` (HTTP, sent as `Bearer`), `env` (stdio).
 */
export interface AuthRecord {
  /** Id of the connection it was made for. */
  connectionId: string;
  /** Name of the scheme, such as `bearer`; not interpreted. */
  scheme: string;
  /** JSON values only. */
  payload?: Readonly<Record<string, unknown>>;
}

const authSchema = z.object({
  connectionId: z.string(),
  scheme: z.string(),
  payload: z.optional(z.custom<Record<string, unknown>>(isPlainObject)),
});

const parsed = new WeakSet<object>();

/**
 * Checks an auth record and returns a deep-frozen copy of it.
 *
 * @param input anything, usually parsed JSON
 * @returns the record, frozen; a value that came from here before is returned as it is
 * @throws {McpRuntimeError} `CONNECTION_INVALID` naming the field; values are not shown
 */
export function parseAuth(input: unknown): AuthRecord {
  if (isParsedAuth(input)) return input;
  const result = authSchema.safeParse(input);
  if (!result.success) {
    const field = result.error.issues[0]!.path.map(String).join(".");
    const what = field === "payload" ? "an object" : "a string";
    throw invalid(field === "" ? "must be an object" : `${field} must be ${what}`, connectionIdOf(input));
  }
  const auth = result.data as AuthRecord;
  assertJson(auth.payload ?? {}, "auth record: payload", "CONNECTION_INVALID");
  mcpAuthHeaders(auth);
  mcpAuthEnv(auth);
  const frozen = frozenCopy(auth);
  parsed.add(frozen);
  return frozen;
}

/**
 * Checks the auth record of a connection that may have none.
 *
 * @param input an auth record, or `null`
 * @returns the record, frozen, or `null`
 * @throws {McpRuntimeError} as {@linkcode parseAuth}
 */
export function parseAuthOrNull(input: unknown): AuthRecord | null {
  if (input === null) return null;
  if (!isPlainObject(input)) throw invalid("must be an object or null", undefined);
  return parseAuth(input);
}

/**
 * Whether a value came out of {@linkcode parseAuth}, and so is checked and can never change.
 *
 * @param value anything
 * @returns true for a parsed record
 */
export function isParsedAuth(value: unknown): value is AuthRecord {
  return typeof value === "object" && value !== null && parsed.has(value);
}

/**
 * The HTTP headers an auth record stands for: `payload.headers`, and `payload.token` as `Bearer` (RFC 6750, section
 * 2.1) unless an authorization header is among them.
 *
 * @param auth the record, or `null`
 * @returns headers with lower-case names; values that are not strings are left out
 * @throws {McpRuntimeError} `CONNECTION_INVALID` for a header that cannot be sent or belongs to the protocol
 */
export function mcpAuthHeaders(auth: AuthRecord | null): Record<string, string> {
  const headers = new Map<string, string>();
  const given = auth?.payload?.headers;
  for (const [name, value] of Object.entries(isPlainObject(given) ? given : {})) {
    if (typeof value !== "string") continue;
    const problem = headerProblem(name, value);
    if (problem) throw invalid(`payload.headers.${shownKey(name)} ${problem}`, auth?.connectionId);
    headers.set(name.toLowerCase(), value);
  }
  const token = auth?.payload?.token;
  if (typeof token === "string" && token !== "" && !headers.has("authorization")) {
    if (!isHeaderValue(token)) throw invalid("payload.token cannot be sent in a header", auth?.connectionId);
    headers.set("authorization", `Bearer ${token}`);
  }
  return Object.fromEntries(headers);
}

/**
 * The environment variables an auth record stands for: `payload.env`.
 *
 * @param auth the record, or `null`
 * @returns its variables; values that are not strings are left out
 * @throws {McpRuntimeError} `CONNECTION_INVALID` for a variable that no process can be given
 */
export function mcpAuthEnv(auth: AuthRecord | null): Record<string, string> {
  const given = auth?.payload?.env;
  if (!isPlainObject(given)) return {};
  const env = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  for (const [name, value] of env) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw invalid("payload.env has a name or value that no process can be given", auth?.connectionId);
    }
  }
  return Object.fromEntries(env);
}

function invalid(what: string, connectionId: string | undefined): McpRuntimeError {
  return new McpRuntimeError(`auth record: ${what}`, {
    code: "CONNECTION_INVALID",
    ...(connectionId === undefined ? {} : { connectionId }),
  });
}

function connectionIdOf(input: unknown): string | undefined {
  return isPlainObject(input) && typeof input.connectionId === "string" ? input.connectionId : undefined;
}
