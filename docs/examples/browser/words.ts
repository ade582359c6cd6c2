/**
 * What the page says of failures, events and sessions. Pure.
 *
 * @module
 */
import {
  type Delivery,
  type McpErrorCode,
  McpRuntimeError,
  type RuntimeEvent,
  type SessionInfo,
  type ToolCallResult,
} from "@wf/sources-mcp";

/** A failure for a person: what happened, whether the tool may have run, and what the library itself says. */
export interface Failure {
  title: string;
  ran: string;
  detail: string;
}

const TITLES: Record<McpErrorCode, string> = {
  CONNECTION_INVALID: "The server's address cannot be used.",
  INPUT_INVALID: "The call cannot be made as it is.",
  NO_TRANSPORT: "There is no server to call.",
  OPEN_FAILED: "No session could be opened with the server.",
  SESSION_CLOSED: "The session was closed before the answer came.",
  SESSION_LOST: "The session was lost.",
  CALL_TIMEOUT: "The tool did not answer in time.",
  QUEUE_TIMEOUT: "The call waited too long for its turn.",
  QUEUE_FULL: "Too many calls are waiting.",
  POOL_CLOSED: "This page has ended its sessions. Load it again.",
  AUTH_REJECTED: "The server does not accept the token.",
  HTTP_ERROR: "The exchange with the server failed.",
  PROTOCOL_ERROR: "The server answered with an error.",
  MESSAGE_TOO_LARGE: "The message is too large.",
  UNSUPPORTED: "A page cannot use this server.",
};

const RAN: Record<Delivery, string> = {
  "not-sent": "The tool has not run. It is safe to call again.",
  "unknown": "The tool may have run, perhaps more than once. Look before you call again.",
  "answered": "The call reached the server; its answer says what came of it.",
};

/** Words for what a call rejected with. */
export function failureWords(error: unknown): Failure {
  if (error instanceof McpRuntimeError) {
    return { title: TITLES[error.code], ran: RAN[error.delivery], detail: `${error.code}: ${error.message}` };
  }
  return { title: "This page has a fault.", ran: RAN.unknown, detail: String(error) };
}

/**
 * Words for a call that was aborted: it rejects with the caller's own reason, and the event of its end says more.
 *
 * @param delivery as told by the event; without one the call was not started
 */
export function abortWords(delivery: Delivery = "not-sent"): Failure {
  return { title: "You aborted the call.", ran: RAN[delivery], detail: `The server is told. Delivery: ${delivery}.` };
}

/** Words for one event, as a line of the list. */
export function eventWords(event: RuntimeEvent): string {
  const session = `session ${event.generation}`;
  switch (event.type) {
    case "session-opening":
      return `${session}: opening`;
    case "session-opened":
      return `${session}: ready after ${ms(event.durationMs)}`;
    case "session-open-failed":
      return `${session}: could not be opened`;
    case "session-lost":
      return `${session}: lost`;
    case "session-replaced":
      return `${session}: replaced, because server or token changed`;
    case "session-evicted":
      return `${session}: ended by policy (${event.reason})`;
    case "session-closed":
      return `${session}: closed`;
    case "call-started":
      return `${session}: ${event.toolName} called`;
    case "call-settled":
      return `${session}: ${event.toolName} ${OUTCOMES[event.outcome]} after ${ms(event.durationMs)}` +
        (event.code === undefined ? "" : ` (${event.code})`);
  }
}

const OUTCOMES = { ok: "answered", error: "answered with an error", failed: "failed" };

/** Rounded milliseconds. */
const ms = (value: number) => `${Math.round(value)} ms`;

/** Words for the state of a session. */
export function stateWords(info: SessionInfo | undefined): string {
  if (info === undefined) return "None";
  if (info.state !== "ready") return info.state[0].toUpperCase() + info.state.slice(1);
  return info.inFlight > 0 ? "Ready, one call is running" : "Ready";
}

/** What a tool answered, as titled texts. */
export function resultParts({ content, structuredContent }: ToolCallResult): { title: string; text: string }[] {
  const parts = content.map((block) =>
    block.type === "text"
      ? { title: "Text", text: String(block.text) }
      : { title: `Content: ${block.type}`, text: JSON.stringify(block, null, 2) }
  );
  if (structuredContent === undefined) return parts;
  return [...parts, { title: "Structured content", text: JSON.stringify(structuredContent, null, 2) }];
}

/** One line about an answer. */
export function outcomeWords({ outcome, session }: ToolCallResult, elapsedMs: number): string {
  const said = outcome === "ok" ? "The tool answered" : "The tool answered with an error of its own";
  return `${said} after ${ms(elapsedMs)}, in session ${session?.generation}.`;
}

/** Words for a report of progress. */
export function progressWords(report: { progress: number; total?: number; message?: string }): string {
  const { progress, total, message } = report;
  return `Progress: ${progress}${total === undefined ? "" : ` of ${total}`}${message ? ` (${message})` : ""}`;
}

/**
 * Reads the arguments of a call.
 *
 * @param text what the person wrote; nothing is the same as `{}`
 * @returns the arguments, or what is wrong
 */
export function readArguments(text: string): { payload: Record<string, unknown> } | { problem: string } {
  try {
    const payload: unknown = JSON.parse(text.trim() || "{}");
    if (typeof payload === "object" && payload !== null && !Array.isArray(payload)) {
      return { payload: payload as Record<string, unknown> };
    }
    return { problem: 'The arguments must be a JSON object, such as {"message": "hello"}.' };
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}.` };
  }
}
