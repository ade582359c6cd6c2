/**
 * What a web page is not told: the server decides what a page of another origin may send to it and see of its answers
 * (Fetch, "CORS protocol"). The browser keeps the reason of a failure from the page, so the errors say what is needed.
 *
 * @module
 */
/** Headers of the protocol that a page may not send without leave. */
const PROTOCOL_HEADERS = ["content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"];

/** The origin of the page or worker that this runs in; `undefined` outside browsers. */
const ownOrigin = (): unknown => (globalThis as { origin?: unknown }).origin;

/**
 * What a server must allow before a page can use it. For a request that failed without a response.
 *
 * @param url the server
 * @param headerNames names of the headers that are sent beside those of the protocol, in lower case
 * @returns words to append to a message; empty outside browsers and for a server of the page's own origin
 */
export function allowHint(url: string, headerNames: readonly string[]): string {
  const origin = ownOrigin();
  if (typeof origin !== "string" || origin === new URL(url).origin) return "";
  const names = [...new Set([...headerNames, ...PROTOCOL_HEADERS])].join(", ");
  return ` (a browser tells a page no more). If the server can be reached and the page's Content-Security-Policy allows ` +
    `it, the server does not allow pages of ${origin}: its answers need "Access-Control-Allow-Origin: ${origin}", those ` +
    `to OPTIONS a status of 2xx, "Access-Control-Allow-Headers: ${names}" and "Access-Control-Allow-Methods: POST, GET, ` +
    'DELETE"';
}

/**
 * Which header a server must expose before a page can see it. For a response in which it was looked for in vain.
 *
 * @param what what the server does when it sends that header
 * @param header name of the header
 * @returns words to append to a message
 */
export function exposeHint(what: string, header: string): string {
  return `; if the server ${what}, this page cannot see it: the answer needs "Access-Control-Expose-Headers: ${header}"`;
}
