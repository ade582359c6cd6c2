/**
 * What the library adds to a call of a stdio server, as ratios to the least that a client must do.
 * Run it with `deno task bench:stdio`; the limits are those of docs/stdio.md.
 *
 * Rounds of both clients are interleaved, in turns of who begins, so that a slow moment of the machine hits both. Each
 * client has its server in a process of its own, and one process is up to a tenth slower than another of the same
 * program for as long as it lives; therefore the rounds are spread over several pairs of servers.
 *
 * @module
 */
import { McpRuntimePool, type McpSourceConnection, parseConnection, PersistentSessionFactory } from "../../mod.ts";
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

/** Both clients, each with a server of its own. */
async function openPair() {
  const pool = new McpRuntimePool(new PersistentSessionFactory({ maxMessageBytes: 2 * LARGEST }));
  const bareClient = new BareClient(SERVER);
  await bareClient.initialize();
  const bare: Call = (tool, args) => bareClient.callTool(tool, args);
  const ours: Call = (tool, args) => pool.callTool(connection, null, tool, args);
  return {
    bare,
    ours,
    async [Symbol.asyncDispose]() {
      await bareClient.close();
      await pool.closeAll();
    },
  };
}

async function compare(test: Case): Promise<boolean> {
  const times: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
  for (let i = 0; i < test.pairs; i++) {
    await using pair = await openPair();
    for (const call of [pair.bare, pair.ours]) for (let j = 0; j < 3; j++) await round(call, test);
    for (let j = 0; j < test.rounds; j++) {
      for (const who of j % 2 === 0 ? ["bare", "ours"] as const : ["ours", "bare"] as const) {
        times[who].push(await round(pair[who], test));
      }
    }
  }
  const ratios = times.ours.map((time, i) => time / times.bare[i]);
  const [b, o, r] = [times.bare, times.ours, ratios].map((values) => quantile(values, 0.5));
  const spread = `${quantile(ratios, 0.1).toFixed(2)}–${quantile(ratios, 0.9).toFixed(2)}`;
  console.log(
    `${test.name.padEnd(14)} bare ${b.toFixed(1)} µs  ours ${o.toFixed(1)} µs  added ${(o - b).toFixed(1)} µs  ` +
      `ratio of medians ${(o / b).toFixed(3)}  (rounds, 10–90 %: ${spread}, median ${
        r.toFixed(3)
      })  limit ${test.limit}`,
  );
  return o / b <= test.limit;
}

/** Peak growth while a 64 MB answer is received, and what is left after it was dropped. */
async function memory(call: Call): Promise<boolean> {
  const gc = (globalThis as { gc?: () => void }).gc;
  if (gc === undefined) {
    console.log("memory         not measured: run with --v8-flags=--expose-gc");
    return true;
  }
  const used = () => {
    const { heapUsed, external } = Deno.memoryUsage();
    return heapUsed + external;
  };
  gc();
  const before = used();
  let peak = before;
  const sampling = setInterval(() => peak = Math.max(peak, used()), 5);
  await call("large", { length: LARGEST });
  peak = Math.max(peak, used());
  clearInterval(sampling);
  await new Promise((resolve) => setTimeout(resolve, 50));
  gc();
  const left = (used() - before) / 1e6;
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
    await using pair = await openPair();
    good = await memory(pair.ours) && good;
  }
  console.log(good ? "all within their limits" : "NOT within the limits");
  if (!good) Deno.exitCode = 1;
}
