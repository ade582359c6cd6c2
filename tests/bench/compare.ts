/**
 * `deno task bench`: this library beside the ways of calling MCP tools that there are, in one run.
 *
 * Writes docs/benchmarks.md and docs/benchmarks.svg. The peers have a configuration and a lock file of their own in
 * peers/; this package does not depend on them. Their packages are fetched at the first run.
 *
 * @module
 */
import os from "node:os";
import { bundleSizes } from "./compare/bundle.ts";
import { chart } from "./compare/chart.ts";
import { startHttpServer } from "./compare/launch.ts";
import { report } from "./compare/report.ts";
import { Comparison, type Entrant, FULL_EFFORT } from "./compare/rows.ts";
import { timesWorse } from "./compare/stats.ts";
import config from "../../deno.json" with { type: "json" };
import peers from "./peers/deno.json" with { type: "json" };

const OURS = "this library";
const LIMIT = "bare loop";
const CLIENT_ALONE = "SDK v1 Client alone";
const PER_CALL = "session per call";
const ENTRANTS: Entrant[] = [
  { name: OURS, adapter: "./pool.ts" },
  { name: LIMIT, adapter: "./bare.ts" },
  { name: PER_CALL, adapter: "./per_call.ts" },
  { name: "SDK v1", adapter: "../peers/sdk_v1.ts" },
  { name: "SDK v2", adapter: "../peers/sdk_v2.ts" },
  { name: "mcporter", adapter: "../peers/mcporter.ts" },
  { name: "AI SDK", adapter: "../peers/ai_sdk.ts" },
];
const IMPORT_ONLY: Entrant[] = [{ name: CLIENT_ALONE, adapter: "../peers/sdk_v1_client.ts" }];

const version = (specifier: string) => specifier.replace("npm:", "").replace(/@(?=[^@]*$)/, " ");
const { imports } = peers;

function machine(): string[] {
  const cpus = os.cpus();
  return [
    `${cpus.length} × ${cpus[0]?.model.trim()}, ${Math.round(os.totalmem() / 2 ** 30)} GiB of memory`,
    `${os.type()} ${os.release().split("-")[0]} (${os.arch()}), Deno ${Deno.version.deno}, V8 ${Deno.version.v8}`,
    `Load average when it began: ${Deno.loadavg()[0].toFixed(2)}`,
    `Day of the run: ${new Date().toISOString().slice(0, 10)}`,
  ];
}

function contenders(): string[] {
  return [
    `**${OURS}**: ${config.name} ${config.version}, \`McpRuntimePool\` with default options`,
    `${LIMIT}: no library, but the limit: the same messages, read as fast as the runtime allows, \`JSON.parse\`, no checks`,
    "session per call: this library's `openMcpSession`, opened and closed for each call",
    `SDK v1: ${version(imports["@modelcontextprotocol/sdk"])}, \`Client\` with its own transports`,
    `SDK v2: ${version(imports["@modelcontextprotocol/client"])}, \`Client\` with its own transports`,
    `mcporter: ${version(imports.mcporter)}, \`createRuntime\``,
    `AI SDK: ${version(imports["@ai-sdk/mcp"])}, \`createMCPClient\` with its own transports`,
    "Each runs on Deno in a process of its own, with the same servers. Where a contender has a limit for large messages " +
    "as an option, it is raised.",
  ];
}

const before = machine();
await using server = await startHttpServer();
const started = performance.now();
const comparison = new Comparison(
  ENTRANTS,
  server.url,
  FULL_EFFORT,
  (line) => console.log(`${((performance.now() - started) / 1_000).toFixed(0).padStart(4)} s  ${line}`),
);
await comparison.sequential();
await comparison.heavy();
await comparison.fresh(IMPORT_ONLY);
await comparison.idle();
const bundles = await bundleSizes([...ENTRANTS, ...IMPORT_ONLY]);
const rows = [...comparison.rows, bundles];

const imported = rows.find((row) => row.name === "import")!;
const ratio = timesWorse(imported, OURS, CLIENT_ALONE)!;
const importRemark =
  `Importing ${config.name} takes ${ratio.toFixed(2)} of the time of importing the \`Client\` of SDK v1 ` +
  "alone, without any transport; the aim is 0.75 at most.";
const docs = (name: string) => new URL(`../../docs/${name}`, import.meta.url);
await Deno.writeTextFile(docs("benchmarks.svg"), chart(rows, OURS, LIMIT));
await Deno.writeTextFile(
  docs("benchmarks.md"),
  report({
    rows,
    ours: OURS,
    limit: LIMIT,
    asides: [CLIENT_ALONE, PER_CALL],
    contenders: contenders(),
    machine: before,
    remarks: [importRemark],
  }),
);
console.log(importRemark);
console.log(`${((performance.now() - started) / 1_000).toFixed(0)} s: docs/benchmarks.md, docs/benchmarks.svg`);
if (ratio > 0.75) Deno.exitCode = 1;
