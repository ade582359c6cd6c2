/**
 * The limits of the runtime: one table of defaults, and the rule that reads an option. Pure.
 *
 * @module
 */
import { checkValue } from "./input.ts";

/** Timers fire at once beyond this many milliseconds (HTML, "timer initialization steps": a signed 32-bit long). */
export const MAX_TIMER_MS = 2 ** 31 - 1;

// A test pins the numbers. Red? A default is public: change docs/lifecycle.md and CHANGELOG.md with it.
/** Every default, in one place: milliseconds, bytes and counts; `Infinity` is no limit. docs/lifecycle.md explains each. */
export const DEFAULT_LIMITS: Readonly<Record<LimitName, number>> = Object.freeze({
  connectTimeoutMs: 30_000,
  timeoutMs: 60_000,
  maxTotalTimeoutMs: 3_600_000,
  queueTimeoutMs: Infinity,
  drainTimeoutMs: 30_000,
  closeTimeoutMs: 5_000,
  credentialsTimeoutMs: 30_000,
  maxQueuedCalls: 1_000,
  maxMessageBytes: 64 * 1024 * 1024,
  concurrency: 1,
  maxRedirects: 5,
  maxResumptions: 5,
  stderrTailBytes: 8 * 1024,
  idleTimeoutMs: Infinity,
  maxSessions: Infinity,
  maxLifetimeMs: Infinity,
  backoffInitialMs: 200,
  backoffMaxMs: 30_000,
});

/** Name of a limit. */
export type LimitName =
  | "connectTimeoutMs"
  | "timeoutMs"
  | "maxTotalTimeoutMs"
  | "queueTimeoutMs"
  | "drainTimeoutMs"
  | "closeTimeoutMs"
  | "credentialsTimeoutMs"
  | "maxQueuedCalls"
  | "maxMessageBytes"
  | "concurrency"
  | "maxRedirects"
  | "maxResumptions"
  | "stderrTailBytes"
  | "idleTimeoutMs"
  | "maxSessions"
  | "maxLifetimeMs"
  | "backoffInitialMs"
  | "backoffMaxMs";

/**
 * Reads one limit: the default when absent, `Infinity` for `0` and `Infinity`, durations clamped to what a timer can
 * hold.
 *
 * @param name the option's name; decides the default and, by its ending `Ms`, whether it is a duration
 * @param value what the caller gave
 * @param fallback used instead of the table's default when `value` is `undefined`
 * @returns the limit, `Infinity` when it is off
 * @throws {McpRuntimeError} `INPUT_INVALID` for NaN, negative numbers and anything that is not a number
 */
export function limitOf(name: LimitName, value: unknown, fallback: number = DEFAULT_LIMITS[name]): number {
  if (value === undefined) return fallback;
  checkValue(name, value, "limit");
  const limit = value as number;
  if (limit === 0 || limit === Infinity) return Infinity;
  return name.endsWith("Ms") ? Math.min(limit, MAX_TIMER_MS) : Math.max(1, Math.floor(limit));
}
