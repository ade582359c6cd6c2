/**
 * What a kept session saves, as numbers.
 *
 * @module
 */
import { McpRuntimePool, type McpSourceConnection, type PersistentSessionFactory } from "@wf/sources-mcp";

const NEXT_CALLS = 200;
const SINGLE_SESSIONS = 5;

/** Times of one connection, in milliseconds. */
export interface Times {
  /** Id of the connection. */
  id: string;
  /** The call that opens the session. */
  first: number;
  /** Median of the calls after it. */
  next: number;
  /** Median of calls that open and close a session of their own. */
  single: number;
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function medianOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) times.push(await time(work));
  return times.sort((a, b) => a - b)[count >> 1];
}

/** Calls `echo` on one connection in three ways. */
export async function measure(factory: PersistentSessionFactory, connection: McpSourceConnection): Promise<Times> {
  const payload = { message: "hello" };
  await using pool = new McpRuntimePool(factory);
  const call = () => pool.callTool(connection, null, "echo", payload);
  const first = await time(call);
  const next = await medianOf(NEXT_CALLS, call);
  const single = await medianOf(SINGLE_SESSIONS, async () => {
    await using session = await factory.create(connection, null);
    await session.callTool("echo", payload);
  });
  return { id: connection.id, first, next, single };
}

/** The times as a table for a terminal. */
export function table(rows: Times[]): string {
  const head = ["connection", "first call", "next calls", "a session for each call"];
  const ms = (value: number) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
  const cells = [head, ...rows.map((row) => [row.id, ms(row.first), ms(row.next), ms(row.single)])];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column])).join(" | ").trimEnd();
  return [line(cells[0]), widths.map((width) => "-".repeat(width)).join("-|-"), ...cells.slice(1).map(line)].join("\n");
}
