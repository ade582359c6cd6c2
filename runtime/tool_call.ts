/**
 * What is checked of a tool call before any I/O. Pure.
 *
 * @module
 */
import type { CallToolOptions } from "./client.ts";
import { McpRuntimeError } from "./errors.ts";
import { checkOptions, type OptionKinds } from "./input.ts";
import { assertJson, isPlainObject } from "./json.ts";

const CALL_OPTIONS: OptionKinds = Object.freeze({
  signal: "signal",
  timeoutMs: "limit",
  maxTotalTimeoutMs: "limit",
  queueTimeoutMs: "limit",
  onProgress: "function",
});

/**
 * Refuses a call that cannot be made, before any I/O.
 *
 * @param connectionId named in the message
 * @param toolName the tool's name
 * @param payload its arguments
 * @param options the call's options
 * @throws {McpRuntimeError} `INPUT_INVALID` naming the field
 */
export function checkToolCall(
  connectionId: string,
  toolName: unknown,
  payload: unknown,
  options: CallToolOptions,
): void {
  const refuse = (what: string) => new McpRuntimeError(what, { code: "INPUT_INVALID", connectionId });
  if (typeof toolName !== "string" || toolName === "") throw refuse("toolName must be a non-empty string");
  if (!isPlainObject(payload)) throw refuse("payload must be an object");
  assertJson(payload, "payload", "INPUT_INVALID");
  checkOptions(options, CALL_OPTIONS, connectionId);
  if (options.meta !== undefined) {
    if (!isPlainObject(options.meta)) throw refuse("options.meta must be an object");
    assertJson(options.meta, "options.meta", "INPUT_INVALID");
  }
}
