/**
 * What the library adds to a call of a stdio server, as ratios to the least that a client must do.
 * Run it with `deno task bench:stdio`; the limits are those of docs/stdio.md.
 *
 * Rounds of all clients are interleaved, in turns of who begins, so that a slow moment of the machine hits all. Each
 * client has its server in a process of its own, and one process is up to a tenth slower than another of the same
 * program for as long as it lives; therefore the rounds are spread over several pairs of servers.
 *
 * The bare loop starts its server as the library does, in a process group of its own. Deno makes one with a session
 * (setsid), and Linux schedules each session as a group of its own (autogroup): a server that has just gone to sleep
 * wakes later. What that costs is printed too, by a bare loop whose server is in this program's session.
 *
 * @module
 */
import { McpRuntimePool, type McpSourceConnection, parseConnection, PersistentSessionFactory } from "../../mod.ts";
import { collectedMemory, type Memory } from "./memory.ts";
import { BareClient } from "./stdio_bare.ts";

const SERVER = ["run", "--no-config", "-A", new URL("./stdio_server.mjs", import.meta.url).pathname];
const LARGEST = 64_000_000;
const connection: McpSourceConnection = parseConnection({
  id: "bench.local",
  provider: "bench",
  account: "local",
  transport: { kind: "stdio", command: Deno.execPath(), args: SERVER },
});

type Call = (tool: string, args: Record<string, unknown>) => Promise<unknown>;

interface Case {
  name: string;
  tool: string;
  args: Record<string, unknown>;
  calls: number;
  rounds: number;
  pairs: number;
  limit: number;
}

const CASES: readonly Case[] = [
  { name: "small calls", tool: "echo", args: { text: "hello" }, calls: 300, rounds: 9, pairs: 9, limit: 1.1 },
  { name: "10 MB answer", tool: "large", args: { length: 10_000_000 }, calls: 1, rounds: 7, pairs: 3, limit: 1.25 },
  { name: "64 MB answer", tool: "large", args: { length: LARGEST }, calls: 1, rounds: 5, pairs: 1, limit: 1.5 },
];

function quantile(values: number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

async function round(call: Call, { tool, args, calls }: Case): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < calls; i++) await call(tool, args);
  return (performance.now() - started) * 1000 / calls;
}

const CLIENTS = ["bare", "ours", "shared"] as const;
type Client = typeof CLIENTS[number];

/** All clients, each with a server of its own; `shared` is the bare loop with its server in this program's session. */
async function openClients() {
  const pool = new McpRuntimePool(new PersistentSessionFactory({ maxMessageBytes: 2 * LARGEST }));
  const [bare, shared] = [new BareClient(SERVER, true), new BareClient(SERVER)];
  for (const client of [bare, shared]) await client.initialize();
  const calls: Record<Client, Call> = {
    bare: (tool, args) => bare.callTool(tool, args),
    ours: (tool, args) => pool.callTool(connection, null, tool, args),
    shared: (tool, args) => shared.callTool(tool, args),
  };
  return {
    ...calls,
    async [Symbol.asyncDispose]() {
      for (const client of [bare, shared]) await client.close();
      await pool.closeAll();
    },
  };
}

async function compare(test: Case): Promise<boolean> {
  const times: Record<Client, number[]> = { bare: [], ours: [], shared: [] };
  for (let i = 0; i < test.pairs; i++) {
    await using clients = await openClients();
    // The first pair compiles the code, in thousands of calls; the others have only new processes to warm up.
    const warmUps = i === 0 && test.calls > 1 ? 50 : 3;
    for (let j = 0; j < warmUps; j++) for (const who of CLIENTS) await round(clients[who], test);
    for (let j = 0; j < test.rounds; j++) {
      for (let k = 0; k < CLIENTS.length; k++) {
        const who = CLIENTS[(j + k) % CLIENTS.length];
        times[who].push(await round(clients[who], test));
      }
    }
  }
  const ratios = times.ours.map((time, i) => time / times.bare[i]);
  const [b, o, s, r] = [times.bare, times.ours, times.shared, ratios].map((values) => quantile(values, 0.5));
  const spread = `${quantile(ratios, 0.1).toFixed(2)}–${quantile(ratios, 0.9).toFixed(2)}`;
  console.log(
    `${test.name.padEnd(14)} bare ${b.toFixed(1)} µs  ours ${o.toFixed(1)} µs  added ${(o - b).toFixed(1)} µs  ` +
      `ratio of medians ${(o / b).toFixed(3)}  (rounds, 10–90 %: ${spread}, median ${r.toFixed(3)})  ` +
      `limit ${test.limit}  | bare in this session ${s.toFixed(1)} µs, ratio ${(o / s).toFixed(3)}`,
  );
  return o / b <= test.limit;
}

const total = ({ heap, external }: Memory) => heap + external;

/** Peak growth while a 64 MB answer is received, and what is left after it was dropped. */
async function memory(call: Call): Promise<boolean> {
  const before = total(await collectedMemory());
  let peak = before;
  const look = () => {
    const { heapUsed, external } = Deno.memoryUsage();
    peak = Math.max(peak, heapUsed + external);
  };
  const sampling = setInterval(look, 5);
  await call("large", { length: LARGEST });
  look();
  clearInterval(sampling);
  const left = (total(await collectedMemory()) - before) / 1e6;
  const growth = (peak - before) / LARGEST;
  console.log(
    `64 MB memory   peak growth ${growth.toFixed(2)} × its size, limit 4  left ${left.toFixed(1)} MB, limit 16`,
  );
  return growth <= 4 && left <= 16;
}

if (import.meta.main) {
  const wanted = Deno.args[0];
  let good = true;
  for (const test of CASES) {
    if (wanted === undefined || test.name.startsWith(wanted)) good = await compare(test) && good;
  }
  if (wanted === undefined || wanted === "memory") {
    await using clients = await openClients();
    good = await memory(clients.ours) && good;
  }
  console.log(good ? "all within their limits" : "NOT within the limits");
  if (!good) Deno.exitCode = 1;
}
