/**
 * The connection: one configured MCP server and the account it is used with.
 *
 * @module
 */
import * as z from "zod/mini";
import { McpRuntimeError } from "./errors.ts";
import { isForbiddenHeader, isHeaderName, isHeaderValue } from "./headers.ts";
import { frozenCopy, isPlainObject } from "./json.ts";

/** A server that is a child process and speaks over its stdin and stdout (MCP 2025-11-25, Transports, stdio). */
export interface StdioSourceTransport {
  /** Marks the transport. */
  kind: "stdio";
  /** Program to start: a name looked up in `PATH`, or a path. Never run through a shell. */
  command: string;
  /** Arguments, each passed whole. Default none. */
  args?: readonly string[];
  /** Environment over the inherited list; the auth record's `env` is laid over it. Default none. */
  env?: Readonly<Record<string, string>>;
  /** Working directory. Default: that of this program. */
  cwd?: string | null;
}

/** A server that is reached over HTTP (MCP 2025-11-25, Transports, Streamable HTTP). */
export interface HttpSourceTransport {
  /** Marks the transport. */
  kind: "http";
  /** The MCP endpoint, `http:` or `https:`. */
  url: string;
  /** Headers sent with each request; the auth record's headers are laid over them. Default none. */
  headers?: Readonly<Record<string, string>>;
}

/** How a server is reached. */
export type SourceTransport = StdioSourceTransport | HttpSourceTransport;

/** One configured source. A plain object of this shape is accepted wherever a connection is. */
export interface McpSourceConnection {
  /** `<provider>.<account>`, see {@linkcode parseConnectionId}. */
  id: string;
  /** The part of `id` before its first dot. */
  provider: string;
  /** The part of `id` after its first dot. */
  account: string;
  /** How the server is reached; a session cannot be opened without it. */
  transport?: SourceTransport | null;
  /** A catalog matter, ignored by the runtime. */
  enabled?: boolean;
  /** Name of a profile, part of what identifies the session. */
  profile?: string | null;
  /** Name of the auth record, part of what identifies the session. */
  authRef?: string | null;
  /** A catalog matter, ignored by the runtime. */
  metadata?: Readonly<Record<string, unknown>>;
}

const ID_PATTERN = /^([A-Za-z0-9_][A-Za-z0-9_-]*)\.([A-Za-z0-9_][A-Za-z0-9_.-]*)$/;

const noNul = z.refine<string>((text) => !text.includes("\0"), "must not contain a NUL character");
const plainText = z.string().check(noNul);
const nonEmptyText = z.string().check(z.refine<string>((text) => text.trim() !== "", "must not be empty"), noNul);
const plainObject = z.custom<Record<string, unknown>>(isPlainObject, "must be an object");

const envMap = plainObject.check((context) => {
  for (const [name, value] of Object.entries(context.value)) {
    const why = typeof value !== "string"
      ? "must be a string"
      : value.includes("\0")
      ? "must not contain a NUL character"
      : name === "" || /[=\0]/.test(name)
      ? "is not the name of an environment variable"
      : undefined;
    if (why) context.issues.push({ code: "custom", message: why, path: [shownKey(name)], input: undefined });
  }
});

const headerMap = plainObject.check((context) => {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(context.value)) {
    const why = headerProblem(name, value) ?? (seen.has(name.toLowerCase()) ? "is given twice" : undefined);
    seen.add(name.toLowerCase());
    if (why) context.issues.push({ code: "custom", message: why, path: [shownKey(name)], input: undefined });
  }
});

const webUrl = z.string().check(z.refine<string>((text) => {
  try {
    return ["http:", "https:"].includes(new URL(text).protocol);
  } catch {
    return false; // Not a URL at all: the message says what is wanted, and never repeats the text.
  }
}, "must be an absolute http: or https: URL"));

const transportSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("stdio"),
    command: nonEmptyText,
    args: z.optional(z.array(plainText)),
    env: z.optional(envMap),
    cwd: z.nullish(nonEmptyText),
  }),
  z.strictObject({ kind: z.literal("http"), url: webUrl, headers: z.optional(headerMap) }),
]);

const connectionSchema = z.object({
  id: z.string(),
  provider: z.string(),
  account: z.string(),
  transport: z.nullish(transportSchema),
  enabled: z.optional(z.boolean()),
  profile: z.nullish(z.string()),
  authRef: z.nullish(z.string()),
  metadata: z.optional(plainObject),
});

const parsed = new WeakSet<object>();

/**
 * Why a configured header is refused.
 *
 * @param name the header's name
 * @param value its value
 * @returns the reason without the value, or `undefined` when the header is fine
 */
export function headerProblem(name: string, value: unknown): string | undefined {
  if (!isHeaderName(name)) return "is not a header name";
  if (isForbiddenHeader(name)) return "belongs to the protocol and cannot be set";
  if (typeof value !== "string") return "must be a string";
  if (!isHeaderValue(value)) return "must be a header value: no line break, NUL or character beyond U+00FF";
  return undefined;
}

/**
 * The name of a header or variable as a message may show it. A name with other characters than names have is usually a
 * whole `NAME=value` or `Name: value` put in its place, so only what comes before them is shown.
 *
 * @param key the name as it was given
 * @returns the name, or its beginning and `…`
 */
export function shownKey(key: string): string {
  const name = /^[\w.()-]{0,100}/.exec(key)![0];
  return name === key ? key : `${name}…`;
}

/**
 * Splits a connection id at its first dot. Provider and account each begin with a letter, a digit or `_` and go on with
 * those, `-` and (the account) `.`.
 *
 * @param id `<provider>.<account>`
 * @returns its two parts
 * @throws {McpRuntimeError} `CONNECTION_INVALID` when the id is not of that form
 *
 * @example
 * ```ts
 * import { parseConnectionId } from "@wf/sources-mcp";
 *
 * console.log(parseConnectionId("github.work")); // { provider: "github", account: "work" }
 * ```
 */
export function parseConnectionId(id: string): { provider: string; account: string } {
  const match = typeof id === "string" ? ID_PATTERN.exec(id) : null;
  if (!match) {
    throw new McpRuntimeError(
      `connection id must be "<provider>.<account>", each beginning with a letter, digit or "_": ${quote(id)}`,
      { code: "CONNECTION_INVALID" },
    );
  }
  return { provider: match[1]!, account: match[2]! };
}

/**
 * Checks a connection and returns a deep-frozen copy of it. Fields of the connection that the runtime does not know are
 * dropped; unknown fields of its transport are refused, since a misspelt `header` would otherwise be lost in silence.
 *
 * @param input anything, usually parsed JSON
 * @returns the connection, frozen; a value that came from here before is returned as it is
 * @throws {McpRuntimeError} `CONNECTION_INVALID` naming the field; values are not shown
 *
 * @example
 * ```ts
 * import { parseConnection } from "@wf/sources-mcp";
 *
 * const memory = parseConnection({
 *   id: "memory.local",
 *   provider: "memory",
 *   account: "local",
 *   transport: { kind: "stdio", command: "deno", args: ["run", "-A", "npm:@modelcontextprotocol/server-memory"] },
 * });
 * console.log(Object.isFrozen(memory.transport)); // true
 * ```
 */
export function parseConnection(input: unknown): McpSourceConnection {
  if (isParsedConnection(input)) return input;
  const result = connectionSchema.safeParse(input);
  if (!result.success) throw invalid(idOf(input), result.error.issues[0]!);
  const connection = result.data as McpSourceConnection;
  const { provider, account } = parseConnectionId(connection.id);
  for (const [field, expected] of Object.entries({ provider, account })) {
    if (connection[field as "provider" | "account"] !== expected) {
      throw new McpRuntimeError(`connection ${quote(connection.id)}: ${field} does not match the id`, {
        code: "CONNECTION_INVALID",
        connectionId: connection.id,
      });
    }
  }
  let frozen: McpSourceConnection;
  try {
    frozen = frozenCopy(connection);
  } catch {
    // Only endless recursion can get here: everything but metadata is flat and checked above.
    throw new McpRuntimeError(`connection ${quote(connection.id)}: metadata contains itself or is nested too deep`, {
      code: "CONNECTION_INVALID",
      connectionId: connection.id,
    });
  }
  parsed.add(frozen);
  return frozen;
}

/**
 * Whether a value came out of {@linkcode parseConnection}, and so is checked and can never change.
 *
 * @param value anything
 * @returns true for a parsed connection
 */
export function isParsedConnection(value: unknown): value is McpSourceConnection {
  return typeof value === "object" && value !== null && parsed.has(value);
}

function invalid(id: string | undefined, issue: z.core.$ZodIssue): McpRuntimeError {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") path.push(shownKey(String(issue.keys[0])));
  const about = id === undefined ? "connection" : `connection ${quote(id)}`;
  const message = `${path.length === 0 ? about : `${about}: ${path.join(".")}`} ${reason(issue)}`;
  return new McpRuntimeError(message, {
    code: "CONNECTION_INVALID",
    ...(id === undefined ? {} : { connectionId: id }),
  });
}

function reason(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "custom":
      return issue.message;
    case "invalid_type":
      return `must be ${/^[ao]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "invalid_union":
      return 'must be "stdio" or "http"';
    case "unrecognized_keys":
      return "is not a field of this transport";
    default:
      return "is not valid";
  }
}

function idOf(input: unknown): string | undefined {
  const id = isPlainObject(input) ? input.id : undefined;
  return typeof id === "string" && ID_PATTERN.test(id) ? id : undefined;
}

function quote(id: unknown): string {
  return typeof id === "string" ? JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}…` : id) : `(${typeof id})`;
}
