/**
 * What a stdio transport says when something is wrong.
 *
 * @module
 */
import { type Delivery, McpRuntimeError, ProcessError } from "../errors.ts";
import { excerpt, type Redactor } from "../secrets.ts";
import type { ExitStatus } from "./process.ts";

const WHEN = { handshake: "before its handshake was over", idle: "while idle", call: "during a call" } as const;

/** Where in its life a server was when it ended. */
export type StdioPhase = keyof typeof WHEN;

/** Makes the errors of one connection; text of the server is bounded and without secrets. */
export class StdioErrors {
  readonly #connectionId: string;
  readonly #redactor: Redactor;

  constructor(connectionId: string, redactor: Redactor) {
    this.#connectionId = connectionId;
    this.#redactor = redactor;
  }

  /** There is no way to run a child process here. */
  unsupported(): McpRuntimeError {
    return this.#error("UNSUPPORTED", "a stdio server needs Deno, Node or Bun", "not-sent");
  }

  /** The transport does not take this message, or not any more. */
  closed(what: string, delivery: Delivery): McpRuntimeError {
    return this.#error("SESSION_CLOSED", `transport ${what}`, delivery);
  }

  /** A request was given up before it was written. */
  withdrawn(): McpRuntimeError {
    return this.#error("CALL_TIMEOUT", "request was withdrawn before it was written", "not-sent");
  }

  /** A message is over the limit. */
  tooLarge(what: string, size: string, maxBytes: number, delivery: Delivery): McpRuntimeError {
    return this.#error("MESSAGE_TOO_LARGE", `${what} is too large: ${size}, limit ${maxBytes} bytes`, delivery);
  }

  /** The server wrote something that is no message. */
  skipped(line: string): McpRuntimeError {
    const said = JSON.stringify(excerpt(line, this.#redactor));
    return this.#error("PROTOCOL_ERROR", `skipped a line of stdout that is no message: ${said}`, "not-sent");
  }

  /** The process has ended. */
  exited(status: ExitStatus, phase: StdioPhase, stderrTail: string): ProcessError {
    const how = status.signal === null ? `exited with code ${status.code}` : `was ended by ${status.signal}`;
    return this.lost(how, status, phase, stderrTail);
  }

  /** The server is gone, or cannot be reached any more. */
  lost(how: string, { code, signal }: ExitStatus, phase: StdioPhase, stderrTail: string): ProcessError {
    const said = stderrTail === "" ? "" : `: ${excerpt(stderrTail.slice(-200), this.#redactor)}`;
    const ready = phase !== "handshake";
    return new ProcessError(`connection "${this.#connectionId}": server ${how} ${WHEN[phase]}${said}`, {
      code: ready ? "SESSION_LOST" : "OPEN_FAILED",
      delivery: ready ? "unknown" : "not-sent",
      connectionId: this.#connectionId,
      phase,
      exitCode: code,
      signal,
      stderrTail,
    });
  }

  #error(
    code: "UNSUPPORTED" | "SESSION_CLOSED" | "CALL_TIMEOUT" | "MESSAGE_TOO_LARGE" | "PROTOCOL_ERROR",
    what: string,
    delivery: Delivery,
  ): McpRuntimeError {
    const connectionId = this.#connectionId;
    return new McpRuntimeError(`connection "${connectionId}": ${what}`, { code, delivery, connectionId });
  }
}
