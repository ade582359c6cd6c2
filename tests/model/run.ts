/**
 * Runs the model: many sequences from one seed.
 *
 * @module
 */
import fc from "fast-check";
import { runSequence, sequence } from "./commands.ts";

/** How a run went. */
export interface ModelReport {
  runs: number;
  seed: number;
  /** Empty when every sequence held. */
  failure: string;
  seen: Record<string, number>;
}

/**
 * @param options number of sequences; seed and path of a run to repeat
 * @returns the report; `failure` says how to repeat what failed
 */
export async function runModel(options: { runs: number; seed?: number; path?: string }): Promise<ModelReport> {
  const { runs, seed = Math.floor(Math.random() * 2 ** 31), path } = options;
  const seen: Record<string, number> = {};
  const details = await fc.check(fc.asyncProperty(sequence, (input) => runSequence(input, seen)), {
    numRuns: runs,
    seed,
    ...(path ? { path } : {}),
  });
  const said = details.errorInstance instanceof Error ? details.errorInstance.stack : details.errorInstance;
  const failure = !details.failed ? "" : [
    `broken after ${details.numRuns} of ${runs} sequences (${details.numShrinks} times made smaller):`,
    said,
    JSON.stringify(details.counterexample?.[0]),
    `again: deno task model 1 ${seed} ${details.counterexamplePath}`,
  ].join("\n");
  return { runs: details.numRuns, seed, failure, seen };
}
