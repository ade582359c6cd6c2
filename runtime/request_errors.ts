/**
 * What a request of the client fails with.
 *
 * @module
 */
import { McpRuntimeError, McpTimeoutError, RpcError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import { excerpt, type Redactor } from "./secrets.ts";

/** A request, for the messages of its errors. */
export interface FailingRequest {
  /** Such as `call of tool "search"`. */
  readonly what: string;
  /** Whether bytes of it may have left. */
  readonly sent: boolean;
}

/** Makes the errors of one connection; text of the server is bounded and without secrets. */
export class RequestErrors {
  readonly #connectionId: string;
  readonly #redactor: Redactor;

  constructor(connectionId: string, redactor: Redactor) {
    this.#connectionId = connectionId;
    this.#redactor = redactor;
  }

  /** No answer within the limit. */
  timeout(request: FailingRequest, elapsedMs: number, limitMs: number, hint: string | undefined): McpTimeoutError {
    const message = `${this.#name(request)} timed out: no answer after ${elapsedMs} ms, the limit is ${limitMs} ms` +
      (hint ? `; ${hint}` : "");
    const connectionId = this.#connectionId;
    return new McpTimeoutError(message, {
      code: "CALL_TIMEOUT",
      delivery: deliveryOf(request),
      connectionId,
      elapsedMs,
      limitMs,
    });
  }

  /** The server answered with an error of JSON-RPC; its parts may be of any kind, whatever the protocol says. */
  rpc(request: FailingRequest, error: unknown): RpcError {
    const { code, message = "", data } = isPlainObject(error) ? error : { message: error };
    const shownCode = excerpt(textOf(code ?? "without a code"), this.#redactor, 40);
    const said = excerpt(textOf(message), this.#redactor, 500);
    return new RpcError(`${this.#name(request)} was answered with error ${shownCode}: ${said}`, {
      code: "PROTOCOL_ERROR",
      delivery: "answered",
      connectionId: this.#connectionId,
      rpcCode: typeof code === "number" ? code : 0,
      ...(data === undefined ? {} : { data: this.#redactor.redactJson(data) }),
    });
  }

  /** The transport did not take it. */
  send(request: FailingRequest, error: unknown): McpRuntimeError {
    if (error instanceof McpRuntimeError) return error;
    const said = excerpt(error instanceof Error ? error.message : String(error), this.#redactor);
    return new McpRuntimeError(`${this.#name(request)} could not be sent: ${said}`, {
      code: "SESSION_LOST",
      delivery: deliveryOf(request),
      connectionId: this.#connectionId,
    });
  }

  #name({ what }: FailingRequest): string {
    return `${what} of connection "${this.#connectionId}"`;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function deliveryOf({ sent }: FailingRequest): "unknown" | "not-sent" {
  return sent ? "unknown" : "not-sent";
}
