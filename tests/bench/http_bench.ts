/**
 * How much time does a call over HTTP take beside the exchange itself?
 *
 * Compares `pool.callTool` with a bare loop of `fetch` that sends the same body and headers to the same server, which
 * runs in a process of its own, and parses the whole answer. Rounds are interleaved; a ratio is the median of the
 * rounds' ratios, its spread the middle half of them. Run alone: `deno task bench:http`.
 *
 * @module
 */
import { McpRuntimePool, parseConnection } from "../../mod.ts";

/** One thing that is measured. */
interface Case {
  name: string;
  tool: string;
  calls: number;
  rounds: number;
  /** The ratio that must not be exceeded. */
  limit: number;
}

const CASES: Case[] = [
  { name: "small JSON answers, one after another", tool: "json", calls: 200, rounds: 101, limit: 1.15 },
  { name: "small event answers, one after another", tool: "events", calls: 200, rounds: 101, limit: 1.35 },
  { name: "10 MB JSON answers", tool: "json-large", calls: 2, rounds: 11, limit: 1.2 },
];
const PARALLEL = { connections: 32, calls: 50, rounds: 61, limit: 0.85 };

const path = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);
const child = new Deno.Command(Deno.execPath(), {
  args: ["run", "-A", path("../fixtures/http/bench_server.ts")],
  stdin: "piped",
  stdout: "piped",
}).spawn();
const output = child.stdout.getReader();
const port = Number(new TextDecoder().decode((await output.read()).value));
const url = `http://127.0.0.1:${port}/mcp`;

const headers = {
  "content-type": "application/json",
  "accept": "application/json, text/event-stream",
  "mcp-session-id": "bench-session",
  "mcp-protocol-version": "2025-11-25",
};
let id = 0;

async function bare(tool: string): Promise<unknown> {
  const params = { name: tool, arguments: {}, _meta: { progressToken: ++id } };
  const body = new Blob([JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })]);
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  return JSON.parse(tool === "events" ? text.slice(text.indexOf("data: ") + 6) : text);
}

const pool = new McpRuntimePool();
const connections = Array.from(
  { length: PARALLEL.connections },
  (_, i) =>
    parseConnection({ id: `bench.n${i}`, provider: "bench", account: `n${i}`, transport: { kind: "http", url } }),
);
const pooled = (tool: string, connection = connections[0]) => pool.callTool(connection, null, tool, {});

async function perCall(calls: number, once: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < calls; i++) await once();
  return (performance.now() - started) * 1_000 / calls;
}

function quantile(values: number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)];
}

function report(name: string, ratios: number[], rest: string, limit: string): void {
  const [low, median, high] = [0.25, 0.5, 0.75].map((q) => quantile(ratios, q).toFixed(3));
  console.log(`${name.padEnd(42)} ${median} x (${low} to ${high}, ${limit})  ${rest}`);
}

for (const { name, tool, calls, rounds, limit } of CASES) {
  // Small calls are compared once their code is compiled, which takes thousands of them.
  const warmUps = calls >= 100 ? Math.ceil(10_000 / calls) : 1;
  for (let i = 0; i < warmUps; i++) for (const once of [bare, pooled]) await perCall(calls, () => once(tool));
  const bareTimes: number[] = [];
  const poolTimes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // Who goes first alternates, so that neither always gets the warmer machine.
    const measureBare = async () => bareTimes.push(await perCall(calls, () => bare(tool)));
    const measurePool = async () => poolTimes.push(await perCall(calls, () => pooled(tool)));
    for (const measure of round % 2 === 0 ? [measureBare, measurePool] : [measurePool, measureBare]) await measure();
  }
  const [one, other] = [quantile(bareTimes, 0.5), quantile(poolTimes, 0.5)];
  const rest = `bare ${one.toFixed(0)} µs, pool ${other.toFixed(0)} µs, added ${(other - one).toFixed(0)} µs per call`;
  report(name, poolTimes.map((time, i) => time / bareTimes[i]), rest, `at most ${limit}`);
}

/** Calls per second with one call in flight on each of the connections. */
async function throughput(once: (index: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await Promise.all(connections.map(async (_, index) => {
    for (let i = 0; i < PARALLEL.calls; i++) await once(index);
  }));
  return connections.length * PARALLEL.calls * 1_000 / (performance.now() - started);
}

const runBare = () => throughput(() => bare("json"));
const runPool = () => throughput((index) => pooled("json", connections[index]));
await runBare();
await runPool();
const bareRates: number[] = [];
const poolRates: number[] = [];
for (let round = 0; round < PARALLEL.rounds; round++) {
  const measureBare = async () => bareRates.push(await runBare());
  const measurePool = async () => poolRates.push(await runPool());
  for (const measure of round % 2 === 0 ? [measureBare, measurePool] : [measurePool, measureBare]) await measure();
}
const rates = `bare ${quantile(bareRates, 0.5).toFixed(0)} calls/s, pool ${
  quantile(poolRates, 0.5).toFixed(0)
} calls/s`;
const name = `throughput, ${PARALLEL.connections} connections`;
report(name, poolRates.map((rate, i) => rate / bareRates[i]), rates, `at least ${PARALLEL.limit}`);

await pool.closeAll();
await output.cancel();
await child.stdin.close();
await child.status;
