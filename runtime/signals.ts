/**
 * Ending a pool when the program is asked to end. Nothing is hooked unless the program calls this.
 *
 * @module
 */
import { checkOptions, checkValue } from "./input.ts";

/** What can be closed on a signal; a `McpRuntimePool` is one. */
export interface Closable {
  /** Closes gracefully. */
  closeAll(): Promise<void>;
  /** Closes at once. */
  abort(reason?: unknown): Promise<void>;
}

/** Options of {@linkcode closeOnSignals}. */
export interface CloseOnSignalsOptions {
  /** The signals. Default `SIGINT` and `SIGTERM` (on Windows `SIGINT` alone). */
  signals?: readonly string[];
  /** Whether the program exits afterwards, with 128 plus the signal's number. Default true. */
  exit?: boolean;
}

interface NodeProcess {
  platform: string;
  on(signal: string, listener: () => void): void;
  off(signal: string, listener: () => void): void;
  exit(code: number): never;
}

const NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15 };

/**
 * Closes a pool when the program gets a signal: the first one drains, a second one aborts. Then the program exits.
 * Works in Deno (needs no permission), Node and Bun; elsewhere there are no signals and nothing happens.
 *
 * @param pool the pool
 * @param options which signals, and whether to exit
 * @returns takes the listeners away again
 * @throws {McpRuntimeError} `INPUT_INVALID` for a pool or an option of a wrong kind
 *
 * @example
 * ```ts
 * import { closeOnSignals, McpRuntimePool } from "@wf/sources-mcp";
 *
 * await using pool = new McpRuntimePool();
 * const forget = closeOnSignals(pool);
 * // … the service runs; where it ends by itself, it takes the listeners away:
 * forget();
 * ```
 */
export function closeOnSignals(pool: Closable, options: CloseOnSignalsOptions = {}): () => void {
  checkValue("pool", pool, "pool");
  checkOptions(options, { signals: "names", exit: "boolean" });
  const process = (globalThis as { process?: NodeProcess }).process;
  if (typeof process?.on !== "function") return () => {};
  const signals = options.signals ?? (process.platform === "win32" ? ["SIGINT"] : ["SIGINT", "SIGTERM"]);
  let received = 0;
  const listeners = signals.map((signal) => {
    const listener = () => {
      received++;
      const ended = received === 1 ? pool.closeAll() : pool.abort(new Error(`got ${signal}`));
      // What close callbacks threw is theirs to report; the program was asked to end and ends.
      ended.catch(() => {}).finally(() => {
        if (options.exit ?? true) process.exit(128 + (NUMBERS[signal] ?? 0));
      });
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => listeners.forEach((remove) => remove());
}
