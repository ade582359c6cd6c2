/**
 * The page: docs/benchmarks.md as text. Pure.
 *
 * @module
 */
import { medianOf, type Outcome, quantile, ranking, type Row, shown, timesWorse } from "./stats.ts";

/** What the page is made of. */
export interface ReportInit {
  rows: readonly Row[];
  /** The contender whose page it is. */
  ours: string;
  /** The contender that is no library, but the limit. */
  limit: string;
  /** Contenders that are no other library: shown in the tables, but no part of a ranking of libraries. */
  asides: readonly string[];
  /** Lines about each contender, with versions. */
  contenders: readonly string[];
  /** Lines about the machine. */
  machine: readonly string[];
  /** Further paragraphs, after the summary. */
  remarks: readonly string[];
}

/**
 * Writes the page.
 *
 * @param init what was measured, and on what
 * @returns Markdown
 */
export function report(init: ReportInit): string {
  return [
    "# Benchmarks",
    "This page and its numbers are written by `deno task bench`, which measures everything in one run on one machine. " +
    "Run it yourself; it takes about four minutes.",
    "![Median and spread of each contender in each row](benchmarks.svg)",
    "## Who is compared",
    list(init.contenders),
    "## On what",
    list(init.machine),
    "## In short",
    summary(init),
    worst(init),
    ...init.remarks,
    "## Row by row",
    "Median, and between which values 80 % of the rounds lie. “×” is how many times worse than this library's median " +
    "a median is; below 1 it is better. Rounds of all contenders are interleaved.",
    ...init.rows.flatMap((
      row,
    ) => [`### ${row.name}`, `${row.how} ${row.more ? "More" : "Less"} is better.`, table(row, init)]),
  ].join("\n\n") + "\n";
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** The libraries of a row that have a number, the best first: neither the limit nor an aside. */
function libraries(row: Row, { limit, asides }: ReportInit): string[] {
  return ranking(row).filter((name) => name !== limit && !asides.includes(name));
}

function summary(init: ReportInit): string {
  const { rows, ours, limit } = init;
  const lines = rows.map((row) => {
    const ranked = libraries(row, init);
    const others = ranked.filter((name) => name !== ours);
    const place = `${ranked.indexOf(ours) + 1} of ${ranked.length}`;
    const cell = (name: string | undefined, named = true) => {
      const median = name === undefined ? undefined : medianOf(row.outcomes.get(name));
      return median === undefined ? "none" : `${shown(median, row.unit)}${named ? ` (${name})` : ""}`;
    };
    return `| ${row.name} | ${cell(ours, false)} | ${cell(limit, false)} | ${cell(others[0])} | ${
      cell(others.at(-1))
    } | ${place} |`;
  });
  return [
    `| | ${ours} | ${limit} | best other | worst other | place |`,
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

/** The row in which this library does worst beside the best other library, said as plainly as the best one. */
function worst(init: ReportInit): string {
  const { rows, ours } = init;
  const compared = rows.flatMap((row) => {
    const best = libraries(row, init).find((name) => name !== ours);
    const times = best === undefined ? undefined : timesWorse(row, ours, best);
    return times === undefined ? [] : [{ row, best, times }];
  }).sort((a, b) => b.times - a.times);
  const said = ({ row, best, times }: typeof compared[number]) => `${row.name}, ${times.toFixed(2)} × of ${best}`;
  const behind = compared.filter(({ times }) => times > 1).map(said);
  return `Measured against the best other library of each row, ${ours} is at its worst in: ` +
    `${said(compared[0])}. At its best in: ${said(compared.at(-1)!)}. ` +
    (behind.length === 0
      ? "No row has another library in front."
      : `Another library is in front in: ${behind.join("; ")}.`);
}

function table(row: Row, init: ReportInit): string {
  const ranked = ranking(row);
  const missing = [...row.outcomes.keys()].filter((name) => !ranked.includes(name));
  const lines = [...ranked, ...missing].map((name) => {
    const outcome = row.outcomes.get(name)!;
    const times = timesWorse(row, name, init.ours);
    const shownName = name === init.ours ? `**${name}**` : name;
    return `| ${shownName} | ${numbers(outcome, row.unit)} | ${times === undefined ? "" : times.toFixed(2)} |`;
  });
  return ["| | median | 80 % of rounds | × |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

function numbers(outcome: Outcome, unit: Row["unit"]): string {
  if (!("values" in outcome)) return `none: ${outcome.reason.replaceAll("|", "\\|")} | `;
  const [low, median, high] = [0.1, 0.5, 0.9].map((q) => shown(quantile(outcome.values, q), unit));
  return `${median} | ${outcome.values.length === 1 ? "one value" : `${low} to ${high}`}`;
}
