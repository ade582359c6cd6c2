/**
 * How large each contender is when it is bundled into one file.
 *
 * @module
 */
import { add, type Entrant, reasonOf, refuse } from "./rows.ts";
import type { Row } from "./stats.ts";

const path = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);

/**
 * Bundles every adapter with `deno bundle --minify` and weighs the results after gzip.
 *
 * @param entrants who takes part
 * @returns the row
 */
export async function bundleSizes(entrants: readonly Entrant[]): Promise<Row> {
  const how = "One minified file with everything but the runtime's own modules (deno bundle --minify), after gzip.";
  const row: Row = { name: "bundle size", unit: "KB", how, outcomes: new Map() };
  const folder = await Deno.makeTempDir();
  try {
    for (const { name, adapter } of entrants) {
      const output = `${folder}/bundle.js`;
      const config = adapter.startsWith("../peers/") ? "../peers/deno.json" : "../../../deno.json";
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["bundle", "--minify", "--platform", "deno", "--config", path(config), "-o", output, path(adapter)],
        env: { NO_COLOR: "1" },
      }).output();
      if (success) add(row, name, await gzipped(output) / 1_000);
      else refuse(row, name, reasonOf(firstError(new TextDecoder().decode(stderr))));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return row;
}

async function gzipped(file: string): Promise<number> {
  const { readable } = await Deno.open(file);
  let size = 0;
  for await (const chunk of readable.pipeThrough(new CompressionStream("gzip"))) size += chunk.length;
  return size;
}

/** A bundler says a lot; the first line that names an error is what a reader needs. */
function firstError(text: string): string {
  return text.split("\n").find((line) => /error/i.test(line)) ?? "the bundler failed";
}
