/**
 * The shape of a transport and of the messages it carries: the SDK's `Transport`, typed by us, and what we need beyond
 * it. Types only.
 *
 * @module
 */
import type { McpRuntimeError } from "../errors.ts";

/** Id of a JSON-RPC request. `0` and `""` are legal. */
export type RequestId = string | number;

/** A JSON-RPC request. */
export interface JsonRpcRequest {
  /** Protocol mark. */
  jsonrpc: "2.0";
  /** Ties the response to it. */
  id: RequestId;
  /** Name of the method. */
  method: string;
  /** Parameters by name. */
  params?: { _meta?: { [key: string]: unknown }; [key: string]: unknown };
}

/** A JSON-RPC notification. */
export interface JsonRpcNotification {
  /** Protocol mark. */
  jsonrpc: "2.0";
  /** Name of the method. */
  method: string;
  /** Parameters by name. */
  params?: { _meta?: { [key: string]: unknown }; [key: string]: unknown };
}

/** A JSON-RPC response that carries a result. */
export interface JsonRpcResultResponse {
  /** Protocol mark. */
  jsonrpc: "2.0";
  /** Id of the request. */
  id: RequestId;
  /** The result. */
  result: { _meta?: { [key: string]: unknown }; [key: string]: unknown };
}

/** A JSON-RPC response that carries an error. */
export interface JsonRpcErrorResponse {
  /** Protocol mark. */
  jsonrpc: "2.0";
  /** Id of the request; absent when the server could not read it. */
  id?: RequestId;
  /** The error. */
  error: { code: number; message: string; data?: unknown };
}

/** Any JSON-RPC message. */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResultResponse | JsonRpcErrorResponse;

/** Options of {@linkcode McpTransport.send}. */
export interface TransportSendOptions {
  /**
   * Called just before the first byte of the message can leave this program. While it has not been called, the
   * message provably did not reach the server.
   */
  onsent?: () => void;
  /**
   * Called when the server refused the message before it did anything with it, and it may be sent again: `onsent` is
   * called once more then. In between, the message provably did not take effect.
   */
  onrefused?: () => void;
  /** Given by the SDK's clients; our transports need no such hint. */
  relatedRequestId?: RequestId;
}

/**
 * Carries JSON-RPC messages to one server and back. An SDK `Client` can be connected to it, and an SDK transport is
 * accepted in its place; the members after `setProtocolVersion` are ours and optional.
 *
 * Contract of our transports:
 * - `send` keeps order. Its promise resolves when the transport will do no more for the message: stdio, when it is
 *   written; HTTP, when the exchange is over, which for a request is after its response reached `onmessage`. It rejects
 *   with a `McpRuntimeError` whose `delivery` is right for that message; a request whose `send` rejects gets no response.
 * - `close` is idempotent, bounded, never rejects, and resolves when every process, socket and timer is gone.
 * - `onclose` is called once, after `close` or when the transport ended by itself; in the latter case `lost` tells why.
 * - No callback is called after `onclose`.
 */
export interface McpTransport {
  /** Starts the process or gets ready to dial. Rejects with `OPEN_FAILED` and leaves nothing behind. */
  start(): Promise<void>;
  /** Sends one message. */
  send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void>;
  /** Ends the transport and whatever it started. */
  close(): Promise<void>;
  /** Called once, when the transport has ended. */
  onclose?: (() => void) | undefined;
  /** Called for what went wrong without ending the transport. */
  onerror?: ((error: Error) => void) | undefined;
  /** Called for each message. */
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  /** The HTTP session's id, once known. */
  sessionId?: string | undefined;
  /** Tells the transport which revision was negotiated. */
  setProtocolVersion?: ((version: string) => void) | undefined;
  /** Why the transport ended by itself; code `SESSION_LOST`, or `OPEN_FAILED` before the handshake was over. */
  readonly lost?: McpRuntimeError | undefined;
  /** Grows with anything that comes from the server, messages or not. Two equal readings mean silence in between. */
  readonly received?: number;
  /** Process id of the server, when it is a child process. */
  readonly pid?: number | undefined;
  /** Called when the transport knows that a request will get no response, although `send` resolved. */
  onrequesterror?: ((id: RequestId | undefined, error: McpRuntimeError) => void) | undefined;
  /**
   * Stops working for a request that nobody waits for any more: drops it while unwritten, ends its exchange. A
   * transport without this member is taken to have sent a message as soon as `send` was called.
   */
  cancel?(id: RequestId): void;
  /** What else is known when the server stays silent: the end of stderr, a likely reason. Free of secrets, bounded. */
  hint?(): string | undefined;
  /** From now on the transport keeps the program alive (there are calls to be answered). */
  ref?(): void;
  /** From now on the transport does not keep the program alive (it is idle). */
  unref?(): void;
}
