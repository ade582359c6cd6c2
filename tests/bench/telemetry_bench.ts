/**
 * What `openTelemetry()` adds to a stdio call when no SDK is registered. Run it with `deno task bench:telemetry`.
 *
 * The rounds of both pools are interleaved, in turns of who begins. A pair of server processes may differ for as long as
 * it lives, so both pools take turns on the same server program, and several pairs are opened.
 *
 * @module
 */
import { McpRuntimePool, parseConnection } from "../../mod.ts";
import { openTelemetry } from "../../runtime/telemetry.ts";

const LIMIT = 1.02;
const [PAIRS, ROUNDS, CALLS] = [12, 15, 200];
const connection = parseConnection({
  id: "bench.local",
  provider: "bench",
  account: "local",
  transport: {
    kind: "stdio",
    command: Deno.execPath(),
    args: ["run", "--no-config", "-A", new URL("./stdio_server.mjs", import.meta.url).pathname],
  },
});

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function round(pool: McpRuntimePool): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < CALLS; i++) await pool.callTool(connection, null, "echo", { text: "hello" });
  return (performance.now() - started) * 1000 / CALLS;
}

const times = { without: [] as number[], with: [] as number[] };
for (let i = 0; i < PAIRS; i++) {
  await using plain = new McpRuntimePool();
  await using followed = new McpRuntimePool(undefined, { telemetry: openTelemetry() });
  for (let j = 0; j < ROUNDS + 3; j++) {
    const order = (i + j) % 2 === 0 ? ["without", "with"] as const : ["with", "without"] as const;
    for (const who of order) {
      const time = await round(who === "with" ? followed : plain);
      if (j >= 3) times[who].push(time);
    }
  }
}
const [without, followed] = [median(times.without), median(times.with)];

// The hook by itself, where no process disturbs it.
const telemetry = openTelemetry();
const redact = (text: string) => text;
const hook = () => telemetry.call({ connection, toolName: "echo", payload: {}, redact });
for (let i = 0; i < 200_000; i++) hook();
const started = performance.now();
for (let i = 0; i < 200_000; i++) hook();
const alone = (performance.now() - started) * 1000 / 200_000;

const ratio = followed / without;
console.log(
  `no SDK: without ${without.toFixed(1)} µs  with ${followed.toFixed(1)} µs  ratio ${
    ratio.toFixed(3)
  }  limit ${LIMIT}\n` +
    `the hook alone ${alone.toFixed(2)} µs, ${(100 * alone / without).toFixed(2)} % of a call`,
);
console.log(ratio <= LIMIT ? "within the limit" : "NOT within the limit");
if (ratio > LIMIT) Deno.exitCode = 1;
