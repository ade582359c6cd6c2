/**
 * What makes two configurations the same session.
 *
 * @module
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type AuthRecord, isParsedAuth, parseAuthOrNull } from "./auth.ts";
import { isParsedConnection, type McpSourceConnection, parseConnection, type SourceTransport } from "./connection.ts";
import { canonicalJson } from "./json.ts";

/** Remembered for frozen, parsed values only: nothing else is sure to stay as it was. */
const remembered = new WeakMap<McpSourceConnection, WeakMap<object, string>>();
const NO_AUTH = Object.freeze({});

/**
 * SHA-256 over what opens a session: id, provider, account, profile, authRef, transport (defaults filled in, header
 * names in lower case) and auth (scheme, payload). Not over `enabled` and `metadata`. The order of keys does not matter.
 * Two calls whose fingerprints differ never share a session.
 *
 * @param connection the connection, parsed or a literal
 * @param auth its auth record; default `null`
 * @returns 64 hexadecimal digits; no secret can be read from them
 * @throws {McpRuntimeError} `CONNECTION_INVALID` for a bad connection or record, or a payload that JSON cannot carry
 *
 * @example
 * ```ts
 * import { connectionRuntimeFingerprint } from "@wf/sources-mcp";
 *
 * const of = (url: string) =>
 *   connectionRuntimeFingerprint({ id: "docs.public", provider: "docs", account: "public", transport: { kind: "http", url } });
 * console.log(of("https://example.com/mcp") === of("https://example.com/mcp")); // true
 * console.log(of("https://example.com/mcp") === of("https://example.com/v2")); // false
 * ```
 */
export function connectionRuntimeFingerprint(connection: McpSourceConnection, auth: AuthRecord | null = null): string {
  if (!isParsedConnection(connection) || (auth !== null && !isParsedAuth(auth))) {
    return compute(parseConnection(connection), parseAuthOrNull(auth));
  }
  let byAuth = remembered.get(connection);
  if (!byAuth) remembered.set(connection, byAuth = new WeakMap());
  let fingerprint = byAuth.get(auth ?? NO_AUTH);
  if (fingerprint === undefined) byAuth.set(auth ?? NO_AUTH, fingerprint = compute(connection, auth));
  return fingerprint;
}

function compute(connection: McpSourceConnection, auth: AuthRecord | null): string {
  const identity = {
    id: connection.id,
    provider: connection.provider,
    account: connection.account,
    profile: connection.profile ?? null,
    authRef: connection.authRef ?? null,
    transport: withDefaults(connection.transport),
    auth: auth === null ? null : { scheme: auth.scheme, payload: auth.payload ?? {} },
  };
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(identity))));
}

function withDefaults(transport: SourceTransport | null | undefined): unknown {
  if (!transport) return null;
  if (transport.kind === "stdio") {
    const { kind, command, args = [], env = {}, cwd = null } = transport;
    return { kind, command, args, env, cwd };
  }
  const headers = Object.entries(transport.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return { kind: transport.kind, url: transport.url, headers: Object.fromEntries(headers) };
}
