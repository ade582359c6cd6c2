/**
 * Rules for HTTP header fields (RFC 9110, section 5). Pure.
 *
 * @module
 */

/** Headers that the transport itself sets; a configured one would break the protocol or the framing. */
const FORBIDDEN = new Set([
  "mcp-session-id",
  "mcp-protocol-version",
  "accept",
  "content-type",
  "content-length",
  "host",
  "last-event-id",
]);

/**
 * Whether a header belongs to the protocol, so that neither configuration nor a hook may set it.
 *
 * @param name header name in any case
 * @returns true for the protocol's own headers
 */
export function isForbiddenHeader(name: string): boolean {
  return FORBIDDEN.has(name.toLowerCase());
}

/**
 * Whether text is a header name: a token of RFC 9110, section 5.6.2.
 *
 * @param name the text
 * @returns true for a token
 */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/**
 * Whether text can be a header value that `fetch` accepts: no CR, LF or NUL, nothing beyond U+00FF.
 *
 * @param value the text
 * @returns true when it can be sent
 */
export function isHeaderValue(value: string): boolean {
  // deno-lint-ignore no-control-regex -- NUL is one of the characters to refuse.
  return !/[\0\r\n]|[^\u0000-\u00ff]/.test(value);
}
