/**
 * Clients that are not ours: an injected one, or a callback. They may ignore signal and limits, so both are kept here.
 *
 * @module
 */
import { CallClocks } from "./call_clock.ts";
import type { ToolClient } from "./client.ts";
import { McpTimeoutError } from "./errors.ts";
import { DEFAULT_LIMITS, limitOf } from "./limits.ts";
import { McpClient } from "./mcp_client.ts";
import type { RawCallToolResult } from "./result.ts";
import { type FollowedCallOptions, TELEMETRY } from "./telemetry_hooks.ts";

/** Limits of a call that says nothing itself, resolved. */
interface CallLimits {
  readonly timeoutMs: number;
  readonly maxTotalTimeoutMs: number;
}

/**
 * A client that keeps signal and limits: our own does so itself, any other is wrapped.
 *
 * @param connectionId named in messages
 * @param client the client
 * @param limits the limits of calls that say nothing themselves
 * @returns the client to use
 */
export function guarded(connectionId: string, client: ToolClient, limits: CallLimits = DEFAULT_LIMITS): ToolClient {
  return client instanceof McpClient ? client : new GuardedClient(connectionId, client, limits);
}

/** Wraps a client so that each call ends at its limit or with its signal, whatever the client does. */
class GuardedClient implements ToolClient {
  readonly closed?: Promise<unknown>;
  readonly #connectionId: string;
  readonly #client: ToolClient;
  readonly #limits: CallLimits;
  /** What each running call must give back; a client that has ended may leave its calls unsettled. */
  readonly #running = new Set<() => void>();

  constructor(connectionId: string, client: ToolClient, limits: CallLimits) {
    this.#connectionId = connectionId;
    this.#limits = limits;
    this.#client = client;
    if (client.closed) {
      this.closed = client.closed;
      const release = () => this.#releaseAll();
      client.closed.then(release, release);
    }
  }

  // Read through, since they change while the client lives.
  get received(): number | undefined {
    return this.#client.received;
  }

  get pid(): number | undefined {
    return this.#client.pid;
  }

  get sessionId(): string | undefined {
    return this.#client.sessionId;
  }

  get protocolVersion(): string | undefined {
    return this.#client.protocolVersion;
  }

  callTool(
    toolName: string,
    payload: Record<string, unknown>,
    { [TELEMETRY]: telemetry, ...options }: FollowedCallOptions = {},
  ): Promise<RawCallToolResult> {
    const timeoutMs = limitOf("timeoutMs", options.timeoutMs, this.#limits.timeoutMs);
    const totalMs = limitOf("maxTotalTimeoutMs", options.maxTotalTimeoutMs, this.#limits.maxTotalTimeoutMs);
    const { signal, onProgress } = options;
    return new Promise((resolve, reject) => {
      // Of its own for each call: nobody says when a client from elsewhere has ended.
      const clocks = new CallClocks();
      const clock = clocks.start(timeoutMs, totalMs, (elapsedMs, limitMs) => {
        release();
        reject(this.#timeoutError(toolName, elapsedMs, limitMs));
      });
      const onAbort = () => {
        release();
        reject(signal!.reason);
      };
      const release = () => {
        this.#running.delete(release);
        clocks.stop();
        signal?.removeEventListener("abort", onAbort);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#running.add(release);
      // `async` so that a synchronous throw is a rejection.
      const call = async () =>
        await this.#client.callTool(toolName, payload, {
          ...options,
          ...(telemetry ? { meta: { ...options.meta, ...telemetry.request(undefined) } } : {}),
          onProgress: (progress) => {
            if (!this.#running.has(release)) return; // It has settled: what comes late is nobody's.
            clock.progress();
            try {
              onProgress?.(progress);
            } catch {
              // The listener is the caller's; its failure must not become the client's.
            }
          },
        });
      call().then(resolve, reject).finally(release);
    });
  }

  /** Its owner has settled every call by now. */
  close(): Promise<void> {
    this.#releaseAll();
    return this.#client.close();
  }

  #releaseAll(): void {
    for (const release of this.#running) release();
  }

  #timeoutError(toolName: string, elapsedMs: number, limitMs: number): McpTimeoutError {
    return new McpTimeoutError(
      `call of tool "${toolName}" of connection "${this.#connectionId}" timed out: no answer after ${elapsedMs} ms, ` +
        `the limit is ${limitMs} ms`,
      { code: "CALL_TIMEOUT", delivery: "unknown", connectionId: this.#connectionId, elapsedMs, limitMs },
    );
  }
}
