/**
 * Telling a forgotten session from other refusals. Pure.
 *
 * MCP 2025-11-25, Session Management, item 3: a server answers 404 to a session id that it does not know. Several
 * servers say it otherwise; docs/http.md has the list.
 *
 * @module
 */

/** Codes with which servers refuse a request for its session with status 400. */
const REFUSAL_CODES = new Set([-32000, -32001, -32600]);

/** `Session not found`, `session expired`, `Unknown session id`, `No valid session ID provided` and their kind. */
const NAMES_SESSION = [
  /\bsession\b.{0,80}\b(?:not found|not exist|unknown|expired|invalid|terminated|closed|no longer|not initiali[sz]ed)/i,
  /\b(?:no valid|not a valid|invalid|unknown|missing|expired|no such)(?: or \w+)?\s+(?:mcp[- ]?)?session\b/i,
];

/** What a server that restarted and serves a single session says to a request of the session before. */
const NOT_INITIALIZED = /\bserver not initiali[sz]ed\b/i;

/** Further texts that a program knows of its servers. */
export type SessionUnknownTexts = readonly (string | RegExp)[];

/**
 * Whether an answer with an error status, to a request that carried a session id, says that the session is unknown.
 *
 * @param status the status
 * @param error the JSON-RPC error in the body, if it is one
 * @param body the start of the body
 * @param more further texts
 * @returns true for a forgotten session
 */
export function refusesSession(status: number, error: unknown, body: string, more: SessionUnknownTexts): boolean {
  if (status === 404) return true;
  if (status !== 400) return false;
  const { code, text } = parts(error);
  if (text === undefined) return namesSession(body) || matches(body, more);
  const known = REFUSAL_CODES.has(code as number) && (namesSession(text) || NOT_INITIALIZED.test(text));
  return known || matches(text, more);
}

/**
 * Whether a JSON-RPC error that came with status 200, to a request that carried a session id, says that the session is
 * unknown. Only −32001 counts, and only with a text that names the session: a tool's own "not found" is the tool's.
 *
 * @param error the `error` member of the response
 * @param more further texts
 * @returns true for a forgotten session
 */
export function errorSaysSessionUnknown(error: unknown, more: SessionUnknownTexts): boolean {
  const { code, text } = parts(error);
  if (text === undefined) return false;
  return code === -32001 && namesSession(text) || matches(text, more);
}

function parts(error: unknown): { code?: unknown; text?: string } {
  if (typeof error !== "object" || error === null) return {};
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof message === "string" ? { code, text: message.slice(0, 500) } : { code };
}

function namesSession(text: string): boolean {
  return NAMES_SESSION.some((pattern) => pattern.test(text));
}

function matches(text: string, more: SessionUnknownTexts): boolean {
  return more.some((known) => typeof known === "string" ? text.includes(known) : text.search(known) !== -1);
}
