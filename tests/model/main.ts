/**
 * `deno task model [sequences] [seed] [path]`: the model, for as long as is wanted. A failure prints how to repeat it.
 *
 * @module
 */
import { runModel } from "./run.ts";

const [runs = "20000", seed, path] = Deno.args;
const started = performance.now();
const report = await runModel({
  runs: Number(runs),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
  ...(path === undefined ? {} : { path }),
});
console.log(report.seen);
const seconds = ((performance.now() - started) / 1_000).toFixed(1);
console.log(`${report.runs} sequences, seed ${report.seed}, ${seconds} s: ${report.failure || "every rule held"}`);
if (report.failure) Deno.exitCode = 1;
