/**
 * The MCP endpoint of a connection: where requests go and the headers that all of them carry. Pure.
 *
 * @module
 */
import { type AuthRecord, mcpAuthHeaders } from "../auth.ts";
import type { HttpSourceTransport } from "../connection.ts";
import { basicCredentials, showUrl } from "../secrets.ts";

/** What is derived once from a connection and its auth record. */
export interface Endpoint {
  /** The URL to fetch, without user info and fragment. */
  readonly url: string;
  /** The URL as it may be shown. */
  readonly shown: string;
  /** Configured headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Reads a connection's HTTP transport. The auth record's headers are laid over those of the transport. User info in
 * the URL becomes Basic authorization (RFC 7617) unless an authorization header is configured; `fetch` refuses URLs
 * that carry it.
 *
 * @param transport the configured transport, already checked
 * @param auth the auth record, or `null`
 * @returns URL and headers
 */
export function endpointOf(transport: HttpSourceTransport, auth: AuthRecord | null): Endpoint {
  const url = new URL(transport.url);
  const headers = new Map<string, string>();
  if (url.username !== "" || url.password !== "") {
    headers.set("authorization", `Basic ${basicCredentials(url.username, url.password)}`);
  }
  for (const [name, value] of Object.entries(transport.headers ?? {})) headers.set(name.toLowerCase(), value);
  for (const [name, value] of Object.entries(mcpAuthHeaders(auth))) headers.set(name, value);
  url.username = url.password = url.hash = "";
  return { url: url.href, shown: showUrl(url.href), headers: Object.fromEntries(headers) };
}
