/**
 * What is checked of arguments and options before any I/O: a value of the wrong kind would otherwise fail somewhere in
 * the middle of a call, or be ignored. Pure.
 *
 * @module
 */
import { McpRuntimeError } from "./errors.ts";

type Check = readonly [fits: (value: unknown) => boolean, what: string];

/** Kinds of values that options have, and how a message calls them. */
const KINDS = {
  boolean: [(value) => typeof value === "boolean", "a boolean"],
  string: [isString, "a string"],
  name: [(value) => isString(value) && value !== "", "a non-empty string"],
  function: [isFunction, "a function"],
  object: [isObject, "an object"],
  // Zero and infinity turn a limit off; see `limitOf`.
  limit: [(value) => typeof value === "number" && value >= 0, "a number of at least 0"],
  // By its shape: the signal may come from another realm or a polyfill. A controller in its place has none of this.
  signal: [
    (value) => isObject(value) && typeof value.aborted === "boolean" && isFunction(value.addEventListener),
    "an AbortSignal",
  ],
  client: [
    (value) => isObject(value) && isFunction(value.callTool) && isFunction(value.close),
    "an object with callTool and close",
  ],
  pool: [
    (value) => isObject(value) && isFunction(value.closeAll) && isFunction(value.abort),
    "an object with closeAll and abort",
  ],
  oauthProvider: [(value) => isObject(value) && isFunction(value.tokens), "an object with tokens"],
  clientInfo: [
    (value) => isObject(value) && isString(value.name) && isString(value.version),
    "an object with name and version",
  ],
  credentials: [
    (value) => isFunction(value) || isObject(value) && isFunction(value.headers) && isFunction(value.renew),
    "a function or a credentials source",
  ],
  telemetry: [
    (value) => isObject(value) && isFunction(value.opening) && isFunction(value.call),
    "an object with opening and call",
  ],
  inheritEnv: [
    (value) => ["default", "all", "none"].includes(value as string) || isListOf(value, isString),
    '"default", "all", "none" or an array of names',
  ],
  stderr: [
    (value) => value === "tail" || value === "inherit" || isFunction(value),
    '"tail", "inherit" or a function',
  ],
  names: [(value) => isListOf(value, isString), "an array of names"],
  texts: [
    (value) => isListOf(value, (text) => isString(text) || text instanceof RegExp),
    "an array of strings and regular expressions",
  ],
  backoff: [(value) => value === false || isObject(value), "an object or false"],
} as const satisfies Record<string, Check>;

/** The options of an object by name, and the kind of each. */
export type OptionKinds = Readonly<Record<string, keyof typeof KINDS>>;

/** Options that are read where a transport is made or a session is opened. */
const OPENING_OPTIONS: OptionKinds = Object.freeze({
  clientInfo: "clientInfo",
  createTransport: "function",
  signal: "signal",
  scope: "string",
  connectTimeoutMs: "limit",
  timeoutMs: "limit",
  maxTotalTimeoutMs: "limit",
  closeTimeoutMs: "limit",
  credentialsTimeoutMs: "limit",
  maxMessageBytes: "limit",
  terminate: "object",
  inheritEnv: "inheritEnv",
  stderr: "stderr",
  credentials: "credentials",
  fetch: "function",
  sessionUnknownTexts: "texts",
});

const TERMINATE_OPTIONS: OptionKinds = Object.freeze({ stdinMs: "limit", termMs: "limit", killMs: "limit" });

/**
 * Refuses options of an opening of a wrong kind.
 *
 * @param options what was given
 * @param connectionId named by the error, when there is one
 * @throws {McpRuntimeError} as {@linkcode checkOptions}
 */
export function checkOpeningOptions(options: { terminate?: unknown }, connectionId?: string): void {
  checkOptions(options, OPENING_OPTIONS, connectionId);
  if (options.terminate !== undefined) checkOptions(options.terminate, TERMINATE_OPTIONS, connectionId, "terminate");
}

/**
 * Refuses options of a wrong kind. Those that are absent or `undefined` are fine, and so are those that are not known.
 *
 * @param options what was given
 * @param kinds the options to look at
 * @param connectionId named by the error, when there is one
 * @param what how the message calls `options`
 * @throws {McpRuntimeError} `INPUT_INVALID` naming the option; its value is not shown
 */
export function checkOptions(options: unknown, kinds: OptionKinds, connectionId?: string, what = "options"): void {
  checkValue(what, options, "object", connectionId);
  for (const name in kinds) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) {
      checkValue(what === "options" ? name : `${what}.${name}`, value, kinds[name], connectionId);
    }
  }
}

/**
 * Refuses a value of a wrong kind.
 *
 * @param name how the message calls it
 * @param value what was given
 * @param kind what it must be
 * @param connectionId named by the error, when there is one
 * @throws {McpRuntimeError} `INPUT_INVALID`
 */
export function checkValue(name: string, value: unknown, kind: keyof typeof KINDS, connectionId?: string): void {
  const [fits, what] = KINDS[kind];
  if (fits(value)) return;
  const seen = value === null || kind === "limit" && typeof value === "number" ? String(value) : typeof value;
  throw new McpRuntimeError(`${name} must be ${what}: ${seen}`, {
    code: "INPUT_INVALID",
    ...(connectionId === undefined ? {} : { connectionId }),
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isString(value: unknown): boolean {
  return typeof value === "string";
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}
