/**
 * The opening of a session: start, `initialize`, `notifications/initialized` (MCP 2025-11-25, Lifecycle). All that
 * depends on the revision of MCP in the opening is here.
 *
 * @module
 */
import { type AuthRecord, parseAuthOrNull } from "./auth.ts";
import type { ClientInfo } from "./client.ts";
import { type McpSourceConnection, parseConnection } from "./connection.ts";
import { McpRuntimeError, McpTimeoutError } from "./errors.ts";
import { checkOpeningOptions } from "./input.ts";
import { isPlainObject } from "./json.ts";
import { limitOf } from "./limits.ts";
import { McpClient } from "./mcp_client.ts";
import { excerpt, type Redactor, redactorFor, safeCause } from "./secrets.ts";
import { type FollowedOpening, type FollowedOpenOptions, TELEMETRY } from "./telemetry_hooks.ts";
import { startTimer, type Timer } from "./timers.ts";
import type { McpTransport } from "./transport/message.ts";
import { createTransport } from "./transport/mod.ts";

/** The revisions this client speaks, newest first; the first is offered. */
export const PROTOCOL_VERSIONS: readonly string[] = Object.freeze([
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
]);

/** The default of `clientInfo`; the version is that of deno.json, held by a test. */
export const DEFAULT_CLIENT_INFO: Readonly<ClientInfo> = Object.freeze({ name: "@wf/sources-mcp", version: "0.1.0" });

/** Failures that are told as they are; anything else that happens during an opening is `OPEN_FAILED`. */
const OPENING_CODES = new Set([
  "CONNECTION_INVALID",
  "INPUT_INVALID",
  "NO_TRANSPORT",
  "OPEN_FAILED",
  "AUTH_REJECTED",
  "UNSUPPORTED",
]);

/**
 * Opens one session; see {@linkcode openMcpSession}, whose work this is.
 *
 * @param connection the connection
 * @param auth its auth record
 * @param options limits and hooks
 * @returns the client after its handshake
 */
export async function openClient(
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  options: FollowedOpenOptions,
): Promise<McpClient> {
  const checked = parseConnection(connection);
  const checkedAuth = parseAuthOrNull(auth);
  checkOpeningOptions(options, checked.id);
  const connectTimeoutMs = limitOf("connectTimeoutMs", options.connectTimeoutMs);
  if (!checked.transport) {
    throw new McpRuntimeError(`connection "${checked.id}" has no transport`, {
      code: "NO_TRANSPORT",
      connectionId: checked.id,
    });
  }
  if (options.signal?.aborted) throw options.signal.reason;
  const transport = (options.createTransport ?? createTransport)(checked, checkedAuth, options);
  const client = new McpClient(checked, checkedAuth, transport, options);
  try {
    const opening = new OpeningLimit(checked, transport, connectTimeoutMs, options.signal);
    const { clientInfo = DEFAULT_CLIENT_INFO, [TELEMETRY]: telemetry } = options;
    await opening.run(handshake(client, transport, checked, clientInfo, telemetry));
    return client;
  } catch (error) {
    await client.close();
    if (options.signal?.aborted) throw options.signal.reason;
    throw openingError(error, checked, redactorFor(checked, checkedAuth));
  }
}

async function handshake(
  client: McpClient,
  transport: McpTransport,
  connection: McpSourceConnection,
  clientInfo: ClientInfo,
  telemetry: FollowedOpening | null | undefined,
): Promise<void> {
  await transport.start();
  const offered = PROTOCOL_VERSIONS[0]!;
  // No capability is declared: the client refuses every request of the server but ping.
  const params = { protocolVersion: offered, capabilities: {}, clientInfo };
  const result = await client.request("initialize", params, telemetry);
  const version = isPlainObject(result) ? result.protocolVersion : undefined;
  if (typeof version !== "string" || !PROTOCOL_VERSIONS.includes(version)) {
    const seen = typeof version === "string" ? `"${excerpt(version, client.redactor, 40)}"` : "no revision";
    throw new McpRuntimeError(
      `the server of connection "${connection.id}" speaks ${seen}, this client ${PROTOCOL_VERSIONS.join(", ")}`,
      { code: "UNSUPPORTED", connectionId: connection.id },
    );
  }
  client.protocolVersion = version;
  transport.setProtocolVersion?.(version);
  await client.notify("notifications/initialized");
}

/** Ends the wait for a handshake: by time or by the caller's signal. */
class OpeningLimit {
  readonly #connection: McpSourceConnection;
  readonly #transport: McpTransport;
  readonly #limitMs: number;
  readonly #signal: AbortSignal | undefined;

  constructor(connection: McpSourceConnection, transport: McpTransport, limitMs: number, signal?: AbortSignal) {
    this.#connection = connection;
    this.#transport = transport;
    this.#limitMs = limitMs;
    this.#signal = signal;
  }

  async run(work: Promise<void>): Promise<void> {
    let timer: Timer | undefined;
    let onAbort: (() => void) | undefined;
    const given = new Promise<never>((_, reject) => {
      timer = startTimer(() => reject(this.#timeoutError()), this.#limitMs);
      onAbort = () => reject(this.#signal!.reason);
      if (this.#signal?.aborted) onAbort();
      this.#signal?.addEventListener("abort", onAbort, { once: true });
    });
    work.catch(() => {}); // When the limit wins, closing the transport rejects the handshake, which nobody awaits then.
    try {
      await Promise.race([work, given]);
    } finally {
      clearTimeout(timer);
      if (onAbort) this.#signal?.removeEventListener("abort", onAbort);
    }
  }

  #timeoutError(): McpTimeoutError {
    const hint = this.#transport.hint?.();
    return new McpTimeoutError(
      `connection "${this.#connection.id}" could not be opened: no handshake within ${this.#limitMs} ms` +
        (hint ? `; ${hint}` : ""),
      {
        code: "OPEN_FAILED",
        connectionId: this.#connection.id,
        elapsedMs: this.#limitMs,
        limitMs: this.#limitMs,
      },
    );
  }
}

/**
 * What a failed opening is told as.
 *
 * @param error what happened
 * @param connection the connection
 * @param redactor knows its secrets
 * @returns a failure of a code that openings have, not sent
 */
export function openingError(error: unknown, connection: McpSourceConnection, redactor: Redactor): McpRuntimeError {
  if (error instanceof McpRuntimeError) {
    // No tool call can have been sent on a session that never opened.
    if (OPENING_CODES.has(error.code)) return error.withDelivery("not-sent");
    const message = `connection "${connection.id}" could not be opened: ${error.message}`;
    return error.restate({ code: "OPEN_FAILED", delivery: "not-sent", message });
  }
  const cause = safeCause(error, redactor);
  const said = cause instanceof Error ? cause.message : String(cause);
  return new McpRuntimeError(`connection "${connection.id}" could not be opened: ${said}`, {
    code: "OPEN_FAILED",
    connectionId: connection.id,
    cause,
  });
}
