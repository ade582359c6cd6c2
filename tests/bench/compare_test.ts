import { assertEquals, assertStringIncludes } from "@std/assert";
import { chart } from "./compare/chart.ts";
import { report } from "./compare/report.ts";
import { add, reasonOf, refuse } from "./compare/rows.ts";
import { medianOf, quantile, ranking, type Row, shown, timesWorse } from "./compare/stats.ts";

function rowOf(more?: true): Row {
  const row: Row = { name: "calls", unit: "ms", how: "How.", ...(more ? { more } : {}), outcomes: new Map() };
  for (const value of [3, 1, 2]) add(row, "ours", value);
  for (const value of [9, 8, 10]) add(row, "peer", value);
  add(row, "lost", 1);
  refuse(row, "lost", "no answer within 20 s");
  return row;
}

Deno.test("quantile: takes the nearest rank below, in any order", () => {
  assertEquals([0, 0.5, 1].map((q) => quantile([4, 1, 3, 2], q)), [1, 2, 4]);
});

Deno.test("ranking: the best first, in both directions, without those that have no number", () => {
  assertEquals([ranking(rowOf()), ranking(rowOf(true))], [["ours", "peer"], ["peer", "ours"]]);
});

Deno.test("timesWorse: above 1 is worse, in both directions", () => {
  assertEquals([timesWorse(rowOf(), "peer", "ours"), timesWorse(rowOf(true), "ours", "peer")], [4.5, 4.5]);
});

Deno.test("refuse: a reason takes the place of what was measured before", () => {
  assertEquals(medianOf(rowOf().outcomes.get("lost")), undefined);
});

Deno.test("shown: three digits, and a larger unit for long times", () => {
  assertEquals([shown(12.345, "µs"), shown(12_345, "µs"), shown(12_345, "ms")], ["12.3 µs", "12.3 ms", "12.3 s"]);
});

Deno.test("reasonOf: shows no path of the machine and stays on one line", () => {
  assertEquals(reasonOf(new Error("cannot read /a/b/c.ts\nat x")), "cannot read … at x");
});

Deno.test("report: says why a contender has no number, and where this library is worst", () => {
  const row = rowOf(true);
  const init = { ours: "ours", limit: "bare", asides: [], contenders: [], machine: [], remarks: [] };
  const page = report({ rows: [row], ...init });
  assertStringIncludes(page, "| lost | none: no answer within 20 s |");
  assertStringIncludes(page, "Another library is in front in: calls, 4.50 × of peer.");
});

Deno.test("chart: has a dot for each median and the reason for each that has none", () => {
  const svg = chart([rowOf()], "ours", "bare");
  assertEquals(svg.match(/<circle/g)?.length, 2);
  assertStringIncludes(svg, "no answer within 20 s");
});
