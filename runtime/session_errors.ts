/**
 * The errors a session makes itself.
 *
 * @module
 */
import { McpRuntimeError, McpTimeoutError } from "./errors.ts";
import { type Redactor, safeCause } from "./secrets.ts";

/**
 * @param connectionId the session's connection
 * @param code what kind of failure
 * @param what continues `session of connection "…"`
 * @param cause kept when there is one
 * @returns the error, not sent
 */
export function sessionError(
  connectionId: string,
  code: "SESSION_CLOSED" | "SESSION_LOST" | "QUEUE_FULL",
  what: string,
  cause?: unknown,
): McpRuntimeError {
  return new McpRuntimeError(`session of connection "${connectionId}" ${what}`, {
    code,
    connectionId,
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * The error of a wait that took too long before the call was sent.
 *
 * @param connectionId the connection
 * @param since when the wait began, as `Date.now()`
 * @param limitMs the limit
 * @returns code `QUEUE_TIMEOUT`, not sent
 */
export function queueTimeoutError(connectionId: string, since: number, limitMs: number): McpTimeoutError {
  const elapsedMs = Date.now() - since;
  return new McpTimeoutError(
    `a call of connection "${connectionId}" was not sent: it waited ${elapsedMs} ms, the limit is ${limitMs} ms`,
    { code: "QUEUE_TIMEOUT", connectionId, elapsedMs, limitMs },
  );
}

/**
 * A client or callback from elsewhere threw an error of its own: nothing is known of what ran.
 *
 * @param connectionId the connection
 * @param toolName the tool that was called
 * @param error what was thrown
 * @param redactor takes secrets out of its text
 * @returns code `PROTOCOL_ERROR`, unknown
 */
export function foreignError(
  connectionId: string,
  toolName: string,
  error: unknown,
  redactor: Redactor,
): McpRuntimeError {
  const cause = safeCause(error, redactor);
  const said = cause instanceof Error ? cause.message : String(cause);
  return new McpRuntimeError(`call of tool "${toolName}" of connection "${connectionId}" failed: ${said}`, {
    code: "PROTOCOL_ERROR",
    delivery: "unknown",
    connectionId,
    cause,
  });
}
