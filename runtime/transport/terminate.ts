/**
 * The one way in which a server's process tree is ended: end of stdin, wait, SIGTERM, wait, SIGKILL, reap (MCP
 * 2025-11-25, Lifecycle, Shutdown).
 *
 * @module
 */
import { settledWithin } from "../timers.ts";
import type { ServerProcess } from "./process.ts";

/** How long each step may take, in milliseconds; `Infinity` for no limit. */
export interface TerminateLimits {
  /** From the end of stdin to SIGTERM. Default: two fifths of `closeTimeoutMs`. */
  stdinMs: number;
  /** From SIGTERM to SIGKILL. Default: two fifths of `closeTimeoutMs`. */
  termMs: number;
  /** From SIGKILL until the process is given up. Default: one fifth of `closeTimeoutMs`. */
  killMs: number;
}

/** How often it is looked whether a group without its leader is gone: nothing reports that. */
const POLL_MS = 10;

/**
 * Ends a process and its group. A process that has ended already is not waited for; what it left in its group is.
 *
 * @param process the process
 * @param limits how long each step may take
 * @param stdinBlocked the pipe is full, so the end of stdin cannot reach the server
 * @returns true when the process was reaped
 */
export async function endProcessTree(
  process: ServerProcess,
  limits: TerminateLimits,
  stdinBlocked: boolean,
): Promise<boolean> {
  process.endStdin();
  let reaped = await settledWithin(process.exited, stdinBlocked ? 0 : limits.stdinMs);
  if (reaped && !process.groupAlive()) return true;
  process.signal("SIGTERM");
  reaped = await treeEnded(process, limits.termMs);
  if (reaped && !process.groupAlive()) return true;
  process.signal("SIGKILL");
  return await treeEnded(process, limits.killMs);
}

/** Waits for the process and then for its group; tells whether the process was reaped. */
async function treeEnded(process: ServerProcess, ms: number): Promise<boolean> {
  const started = performance.now();
  if (!(await settledWithin(process.exited, ms))) return false;
  while (process.groupAlive() && performance.now() - started < ms) {
    // This timer does keep the program alive: after the leader has ended nothing else would, and somebody waits.
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}
