/**
 * Keeping secrets out of everything a person may read: messages, causes, stderr tails, events. Pure.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { McpSourceConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";

const MASK = "[redacted]";

/** Shorter values are not looked for: removing `true` or `8080` from a message hides nothing and spoils the text. */
const MIN_SECRET_LENGTH = 6;

/** Removes known secret values from text that others wrote: server messages, stderr, bodies. */
export class Redactor {
  readonly #pattern: RegExp | null;
  /** Length of the longest value looked for, in UTF-16 units; whoever cuts text must keep this much more of it. */
  readonly longest: number;

  /** @param values secret values; those shorter than six characters are not looked for */
  constructor(values: Iterable<string>) {
    const forms = new Set<string>();
    for (const value of values) {
      for (const form of [value, encodeURIComponentSafe(value), JSON.stringify(value).slice(1, -1)]) {
        if (form.length >= MIN_SECRET_LENGTH) forms.add(form);
      }
    }
    // Longest first, so that a secret that contains another one goes whole.
    const sorted = [...forms].sort((a, b) => b.length - a.length);
    this.longest = sorted[0]?.length ?? 0;
    this.#pattern = sorted.length === 0 ? null : new RegExp(sorted.map(escapeRegExp).join("|"), "g");
  }

  /**
   * The text without the known secrets.
   *
   * @param text any text
   * @returns the text with each secret replaced by a mask
   */
  redact(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, MASK);
  }

  /**
   * The same for every string inside a JSON value, keys included.
   *
   * @param value a JSON value
   * @returns a copy without the known secrets
   */
  redactJson(value: unknown): unknown {
    if (typeof value === "string") return this.redact(value);
    if (Array.isArray(value)) return value.map((item) => this.redactJson(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.redact(key), this.redactJson(item)]),
    );
  }
}

/**
 * The redactor for one connection and its auth record: env values, header values, every string of the auth payload,
 * user info and query of the URL.
 *
 * @param connection the connection
 * @param auth its auth record
 * @param more further secret values, such as headers from a credentials hook
 * @returns a redactor that knows them all
 */
export function redactorFor(
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  more: Iterable<string> = [],
): Redactor {
  const values = new Set<string>(more);
  const transport = connection.transport;
  if (transport?.kind === "stdio") addStrings(values, transport.env);
  if (transport?.kind === "http") {
    addStrings(values, transport.headers);
    addUrlSecrets(values, transport.url);
  }
  addStrings(values, auth?.payload);
  for (const value of [...values]) {
    addHeaderParts(values, value);
    addLines(values, value);
  }
  return new Redactor(values);
}

/** Of a key or certificate in several lines each is secret: stderr is handed on line by line, and line ends change. */
function addLines(values: Set<string>, value: string): void {
  // Variables often hold them in one line, with `\n` written out.
  const lines = value.split(/[\r\n]+|\\n/);
  if (lines.length > 1) { for (const line of lines) values.add(line.trim()); }
}

/** Of `Bearer abc` and `Basic abc` the credentials alone are secret too. */
function addHeaderParts(values: Set<string>, value: string): void {
  const match = /^[A-Za-z][\w-]*[ ]+(\S.*)$/.exec(value);
  if (match) values.add(match[1]!);
}

function addStrings(values: Set<string>, value: unknown): void {
  if (typeof value === "string") values.add(value);
  else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) addStrings(values, item);
  }
}

function addUrlSecrets(values: Set<string>, text: string): void {
  const url = tryUrl(text);
  if (!url) return;
  for (const part of [url.username, url.password]) {
    values.add(part);
    values.add(decodeURIComponentSafe(part));
  }
  if (url.username || url.password) {
    values.add(`${url.username}:${url.password}`);
    values.add(basicCredentials(url.username, url.password));
  }
  values.add(url.search.slice(1));
  for (const value of url.searchParams.values()) values.add(value);
}

/**
 * The credentials part of HTTP Basic (RFC 7617) for a URL's user info.
 *
 * @param username user name as it stands in the URL, percent-encoded
 * @param password password as it stands in the URL, percent-encoded
 * @returns base64 of `user:password` in UTF-8
 */
export function basicCredentials(username: string, password: string): string {
  const bytes = new TextEncoder().encode(`${decodeURIComponentSafe(username)}:${decodeURIComponentSafe(password)}`);
  return btoa(String.fromCharCode(...bytes));
}

/**
 * A URL as it may be shown: origin and path, without user info, query and fragment.
 *
 * @param text a URL
 * @returns its showable part, or `(invalid URL)`
 */
export function showUrl(text: string): string {
  const url = tryUrl(text);
  return url ? `${url.protocol}//${url.host}${url.pathname}` : "(invalid URL)";
}

/**
 * Text from a server or a process as it may be quoted: known secrets removed, control characters and runs of white
 * space made one space, bounded.
 *
 * @param text the untrusted text
 * @param redactor knows the secrets
 * @param maxLength most characters to keep; default 200
 * @returns the text, with `…` where it was cut
 */
export function excerpt(text: string, redactor: Redactor, maxLength = 200): string {
  // Redacting comes before the cut, on somewhat more than is kept, so that a secret across the cut goes too.
  const bound = 4 * maxLength + redactor.longest;
  const redacted = redactor.redact(text.slice(0, bound));
  // Beyond the bound nothing was looked at, so what was cut off there may be the start of a secret.
  const clean = (text.length > bound ? redacted.slice(0, redacted.length - redactor.longest) : redacted)
    // deno-lint-ignore no-control-regex -- control characters are exactly what must not reach a log.
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\s]+/g, " ").trim();
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}…` : clean;
}

/**
 * An error of a runtime or of foreign code as a cause that may be shown: same name, cleaned message, its `code` when it
 * has one (`ECONNREFUSED`), its own cause likewise. A {@linkcode McpRuntimeError} is safe as it is and stays.
 *
 * @param error what was thrown
 * @param redactor knows the secrets
 * @returns an error without secrets
 */
export function safeCause(error: unknown, redactor: Redactor): unknown {
  return rebuild(error, redactor, 3);
}

function rebuild(error: unknown, redactor: Redactor, depth: number): unknown {
  if (!(error instanceof Error)) return typeof error === "string" ? excerpt(error, redactor, 500) : typeof error;

  if (error instanceof McpRuntimeError) return error;
  const cause = error.cause === undefined || depth === 0 ? undefined : rebuild(error.cause, redactor, depth - 1);
  const message = excerpt(error.message.replace(/\bhttps?:\/\/[^\s()"'<>]+/g, showUrl), redactor, 500);
  const safe = new Error(message, cause === undefined ? undefined : { cause });
  safe.name = error.name;
  safe.stack = `${safe.name}: ${message}`;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") Object.assign(safe, { code });
  return safe;
}

/**
 * A session id as it may be shown in logs and `sessions()`.
 *
 * @param id the session id
 * @returns its first eight characters and `…`
 */
export function shortId(id: string): string {
  return id.length > 8 ? `${id.slice(0, 8)}…` : `${id.slice(0, 2)}…`;
}

function tryUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined; // The caller shows a fixed word: the text itself may hold a secret.
  }
}

function decodeURIComponentSafe(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A stray percent sign: the value is looked for as it stands.
  }
}

function encodeURIComponentSafe(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text; // A lone surrogate cannot be encoded, so no URL can hold it either.
  }
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}
