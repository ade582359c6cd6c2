/**
 * The process of one contender: reads commands as lines of JSON and answers each with one line.
 *
 * It is started by launch.ts with the path of an adapter, whose import is the first thing that is timed.
 *
 * @module
 */
import type { Contender, Session, Target } from "./contender.ts";

/** What a worker is told. */
export type Command =
  | { do: "open"; key: string; target: Target }
  /** Calls one after another until `budgetMs` is over, at least one: µs per call. */
  | { do: "calls"; key: string; tool: string; args: Record<string, unknown>; length: number; budgetMs: number }
  /** The same on many sessions at once: calls per second. */
  | { do: "parallel"; keys: string[]; tool: string; args: Record<string, unknown>; length: number; budgetMs: number }
  /** From nothing to the first answer: ms. */
  | { do: "first"; target: Target; tool: string; args: Record<string, unknown>; length: number }
  /** Heap of each idle session: KB, or `undefined` when the contender keeps none. */
  | { do: "idle"; target: Target; count: number; tool: string; args: Record<string, unknown> }
  | { do: "close"; key: string };

/** What it answers; the first line is the time of the import, in ms. */
export type Answer = { value?: number } | { error: string };

const started = performance.now();
const { contender } = await import(Deno.args[0]) as { contender: Contender };
const importMs = performance.now() - started;
const sessions = new Map<string, Session>();

async function timed(command: { tool: string; args: Record<string, unknown>; length: number }, session: Session) {
  const text = await session.call(command.tool, command.args);
  if (text.length !== command.length) throw new Error(`${text.length} characters instead of ${command.length}`);
}

async function calls(command: Command & { do: "calls" }): Promise<number> {
  const session = sessions.get(command.key)!;
  const began = performance.now();
  let count = 0;
  let elapsed: number;
  do {
    await timed(command, session);
    count++;
    elapsed = performance.now() - began;
  } while (elapsed < command.budgetMs);
  return elapsed * 1_000 / count;
}

async function parallel(command: Command & { do: "parallel" }): Promise<number> {
  const began = performance.now();
  let count = 0;
  await Promise.all(command.keys.map(async (key) => {
    const session = sessions.get(key)!;
    do {
      await timed(command, session);
      count++;
    } while (performance.now() - began < command.budgetMs);
  }));
  return count * 1_000 / (performance.now() - began);
}

async function first(command: Command & { do: "first" }): Promise<number> {
  const began = performance.now();
  const session = await contender.open(command.target);
  await timed(command, session);
  const elapsed = performance.now() - began;
  await session.close();
  return elapsed;
}

async function usedHeap(): Promise<number> {
  const { gc } = globalThis as unknown as { gc(): void };
  // Several turns: what a finalizer or a closed stream lets go of is collected in a later one.
  for (let i = 0; i < 5; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

async function idle(command: Command & { do: "idle" }): Promise<number | undefined> {
  if (contender.keepsNothing) return undefined;
  const open = async () => {
    const session = await contender.open(command.target);
    await session.call(command.tool, command.args);
    return session;
  };
  // What the first sessions compile and cache belongs to the program, not to a session.
  const warm = [await open(), await open()];
  const before = await usedHeap();
  const opened: Session[] = [];
  for (let i = 0; i < command.count; i++) opened.push(await open());
  const after = await usedHeap();
  for (const session of [...warm, ...opened]) await session.close();
  return (after - before) / command.count / 1_000;
}

async function run(command: Command): Promise<number | undefined> {
  switch (command.do) {
    case "open":
      sessions.set(command.key, await contender.open(command.target));
      return undefined;
    case "close":
      await sessions.get(command.key)?.close();
      sessions.delete(command.key);
      return undefined;
    case "calls":
      return await calls(command);
    case "parallel":
      return await parallel(command);
    case "first":
      return await first(command);
    case "idle":
      return await idle(command);
  }
}

function reply(answer: Answer): void {
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(answer) + "\n"));
}

// A broken transport may tell nobody but the runtime; the driver's limit ends the wait.
globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
// What a library prints must not be taken for an answer.
console.log = console.info = console.debug = console.error;
reply({ value: importMs });
let rest = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    try {
      const value = await run(JSON.parse(line));
      reply(value === undefined ? {} : { value });
    } catch (error) {
      reply({ error: error instanceof Error ? error.message : String(error) });
    }
  }
}
for (const session of sessions.values()) await session.close().catch(() => {});
Deno.exit(0);
