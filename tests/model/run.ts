/**
 * Runs the model: many sequences from one seed.
 *
 * @module
 */
import fc from "fast-check";
import { runSequence, type Sequence, sequence } from "./commands.ts";

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
 * @returns the report; `failure` says how to repeat what failed. Fewer sequences than wanted are a failure too
 */
export async function runModel(options: { runs: number; seed?: number; path?: string }): Promise<ModelReport> {
  const { runs, seed = Math.floor(Math.random() * 2 ** 31), path } = options;
  const seen: Record<string, number> = {};
  const problems: string[] = [];
  const details = await check({ numRuns: runs, seed, ...(path ? { path } : {}) }, seen, problems);
  const report = { runs: details.numRuns, seed, seen };
  if (!details.failed) {
    // Not `<`: a number that is none would run nothing.
    const enough = details.numRuns >= Math.max(1, runs);
    return { ...report, failure: enough ? "" : `only ${details.numRuns} of ${runs} sequences ran` };
  }
  const { errorInstance: error, counterexamplePath } = details;
  const again = await check({ numRuns: 1, seed, path: counterexamplePath! }, {});
  const failure = [
    `broken after ${details.numRuns} of ${runs} sequences (${details.numShrinks} times made smaller):`,
    error instanceof Error ? error.stack : error,
    `first seen as: ${problems[0]}`, // A smaller sequence may break another rule.
    JSON.stringify(details.counterexample?.[0]),
    `again: deno task model 1 ${seed} ${counterexamplePath}`,
    ...(again.failed ? [] : ["it did not fail again: it depends on more than the sequence"]),
  ].join("\n");
  return { ...report, failure };
}

function check(parameters: fc.Parameters<[Sequence]>, seen: Record<string, number>, problems: string[] = []) {
  const run = async (input: Sequence) => {
    try {
      await runSequence(input, seen);
    } catch (error) {
      problems.push(String(error));
      throw error;
    }
  };
  return fc.check(fc.asyncProperty(sequence, run), parameters);
}
