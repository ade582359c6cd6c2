/**
 * Opens, uses and kills stdio sessions at random moments, and counts what is left. Run it with `deno task soak:stdio`;
 * `deno task soak:stdio <sessions> <seed>` repeats a run.
 *
 * @module
 */
import {
  createTransport,
  McpRuntimeError,
  McpRuntimePool,
  type McpTransport,
  parseConnection,
  PersistentSessionFactory,
} from "../../mod.ts";
import { openDescriptors, serverArgs } from "../transport/stdio_harness.ts";
import { kill, leftProcesses, random } from "./harness.ts";

const sessions = Number(Deno.args[0] ?? 2_000);
const seed = Number(Deno.args[1] ?? Math.floor(Math.random() * 2 ** 31));
const WORKERS = 6;
const LIMIT_MS = 170_000;
const MARK = `soak=${Deno.pid}`;

const count = { calls: 0, settled: 0, answered: 0, foreignErrors: 0, unhandled: 0, sessions: 0 };
const codes: Record<string, number> = {};
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  count.unhandled++;
  console.error("unhandled:", event.reason);
});

const transports = new Map<string, McpTransport>();
const pool = new McpRuntimePool(
  new PersistentSessionFactory({
    connectTimeoutMs: 20_000,
    closeTimeoutMs: 5_000,
    createTransport: (connection, auth, options) => {
      const transport = createTransport(connection, auth, options);
      transports.set(connection.id, transport);
      return transport;
    },
  }),
);

/** One session: a few calls, and something that happens to it meanwhile. */
async function oneSession(number: number, next: () => number): Promise<void> {
  const wrapped = next() < 0.2;
  const args = [...serverArgs({ stdin: next() < 0.1 ? "ignore" : "heed" }), MARK];
  const connection = parseConnection({
    id: `soak.s${number}`,
    provider: "soak",
    account: `s${number}`,
    transport: wrapped
      ? { kind: "stdio", command: "/bin/sh", args: ["-c", '"$@"; exit $?', "wrapper", Deno.execPath(), ...args] }
      : { kind: "stdio", command: Deno.execPath(), args },
  });
  const calls: Promise<void>[] = [];
  const call = (tool: string, toolArgs: Record<string, unknown>) => {
    count.calls++;
    calls.push(
      pool.callTool(connection, null, tool, toolArgs, { timeoutMs: 20_000, retry: "never" }).then(() => {
        count.settled++;
        count.answered++;
      }, (error) => {
        count.settled++;
        const code = error instanceof McpRuntimeError ? error.code : "foreign";
        codes[code] = (codes[code] ?? 0) + 1;
        if (code === "foreign") count.foreignErrors++;
      }),
    );
  };
  for (let i = Math.floor(next() * 4); i >= 0; i--) call("echo", { text: "x".repeat(next() < 0.1 ? 300_000 : 10) });
  if (next() < 0.1) call("answer-and-exit", {});
  if (next() < 0.1) call("stderr", { bytes: 200_000 });
  // From before the first byte to well after the answers: a session of an idle machine takes about 60 ms.
  await new Promise((resolve) => setTimeout(resolve, next() * 150));
  const what = next();
  if (what < 0.6) kill(transports.get(connection.id)?.pid, what < 0.4 ? "SIGKILL" : "SIGTERM");
  else if (what < 0.8) await pool.closeConnection(connection.id);
  await Promise.all(calls);
  await pool.closeConnection(connection.id);
  transports.delete(connection.id);
  count.sessions++;
}

console.log(`${sessions} sessions, seed ${seed}`);
const started = performance.now();
const next = random(seed);
let number = 0;
const work = (until: number) =>
  Promise.all(Array.from({ length: WORKERS }, async () => {
    while (number < until && performance.now() - started < LIMIT_MS) await oneSession(number++, next);
  }));
// The runtime opens some descriptors for good, the last of them (a pair of sockets) only among many children.
await work(Math.min(100, sessions / 2));
const descriptors = openDescriptors();
await work(sessions);
await pool.closeAll();
const leftDescriptors = (openDescriptors() ?? 0) - (descriptors ?? 0);
const left = await leftProcesses(MARK);
console.log({ ...count, codes, seconds: Math.round((performance.now() - started) / 1000), leftDescriptors, left });
const good = count.sessions >= sessions && count.calls === count.settled && count.foreignErrors === 0 &&
  count.unhandled === 0 && left.length === 0 && leftDescriptors <= 0;
console.log(good ? "nothing left, every call settled once" : "NOT clean");
if (!good) Deno.exitCode = 1;
