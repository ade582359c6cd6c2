/**
 * Session factories that are functions: they keep no limit and may ignore their signal.
 *
 * @module
 */
import type { AuthRecord } from "./auth.ts";
import type { McpSourceConnection } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import type { SessionContext } from "./factory.ts";
import { redactorFor, safeCause } from "./secrets.ts";
import type { PersistentMcpSession } from "./session.ts";
import { startTimer, type Timer } from "./timers.ts";

/** Opens a session for the pool. May be synchronous. The pool owns and closes what it returns. */
export type SessionFactory = (
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  context?: SessionContext,
) => PersistentMcpSession | Promise<PersistentMcpSession>;

const LIMIT_MS = 120_000;

/**
 * Opens a session with a function. One that comes too late is closed.
 *
 * @param factory the function
 * @param connection the connection
 * @param auth its auth record, or `null`
 * @param context what the session is opened for
 * @returns what the function gave
 * @throws {McpRuntimeError} its own, or `OPEN_FAILED`; the reason of the signal when that is aborted
 */
export async function openByFunction(
  factory: SessionFactory,
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  context: SessionContext & { signal: AbortSignal },
): Promise<PersistentMcpSession> {
  const { signal } = context;
  const work = (async () => await factory(connection, auth, context))();
  let onAbort!: () => void;
  let timer: Timer | undefined;
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    timer = startTimer(() => reject(new Error(`it took more than ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    return await Promise.race([work, ended]);
  } catch (error) {
    work.then((session) => session.close()).catch(() => {}); // Late, and nobody waits for it.
    if (signal.aborted) throw signal.reason;
    if (error instanceof McpRuntimeError) throw error;
    const cause = safeCause(error, redactorFor(connection, auth));
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new McpRuntimeError(
      `connection "${connection.id}" could not be opened: the session factory failed: ${said}`,
      { code: "OPEN_FAILED", connectionId: connection.id, cause },
    );
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
