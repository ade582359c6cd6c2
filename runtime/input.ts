/**
 * What is checked of arguments and options before any I/O: a value of the wrong kind would otherwise fail somewhere in
 * the middle of a call, or be ignored. Pure.
 *
 * @module
 */
import { McpRuntimeError } from "./errors.ts";

type Check = readonly [fits: (value: unknown) => boolean, what: string];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Kinds of values that options have, and how a message calls them. */
const KINDS = {
  boolean: [(value) => typeof value === "boolean", "a boolean"],
  string: [(value) => typeof value === "string", "a string"],
  duration: [(value) => typeof value === "number" && value >= 0, "a number of at least 0"],
  function: [(value) => typeof value === "function", "a function"],
  object: [isObject, "an object"],
  // By its shape: the signal may come from another realm or a polyfill. A controller in its place has none of this.
  signal: [
    (value) => isObject(value) && typeof value.aborted === "boolean" && typeof value.addEventListener === "function",
    "an AbortSignal",
  ],
  inheritEnv: [
    (value) => ["default", "all", "none"].includes(value as string) || isListOf(value, isString),
    '"default", "all", "none" or an array of names',
  ],
  stderr: [
    (value) => value === "tail" || value === "inherit" || typeof value === "function",
    '"tail", "inherit" or a function',
  ],
  texts: [
    (value) => isListOf(value, (text) => isString(text) || text instanceof RegExp),
    "an array of strings and regular expressions",
  ],
  credentials: [
    (value) => typeof value === "function" || isObject(value) && typeof value.headers === "function",
    "a function or a credentials source",
  ],
  backoff: [(value) => value === false || isObject(value), "an object or false"],
  retry: [
    (value) => ["if-unsent", "never", "idempotent"].includes(value as string),
    '"if-unsent", "never" or "idempotent"',
  ],
  integer: [Number.isInteger, "an integer"],
} as const satisfies Record<string, Check>;

function isString(value: unknown): boolean {
  return typeof value === "string";
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

/** The options of an object by name, and the kind of each. */
export type OptionKinds = Readonly<Record<string, keyof typeof KINDS>>;

/** Options that are read wherever a transport is made. */
export const TRANSPORT_OPTIONS: OptionKinds = Object.freeze({
  terminate: "object",
  inheritEnv: "inheritEnv",
  stderr: "stderr",
  credentials: "credentials",
  scope: "string",
  fetch: "function",
  sessionUnknownTexts: "texts",
});

/** Options that are read wherever a session is opened. */
export const OPENING_OPTIONS: OptionKinds = Object.freeze({
  ...TRANSPORT_OPTIONS,
  clientInfo: "object",
  createTransport: "function",
  signal: "signal",
});

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
  throw new McpRuntimeError(`${name} must be ${what}: ${value === null ? "null" : typeof value}`, {
    code: "INPUT_INVALID",
    ...(connectionId === undefined ? {} : { connectionId }),
  });
}
