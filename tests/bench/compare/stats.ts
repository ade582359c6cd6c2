/**
 * Medians and spreads. Pure.
 *
 * @module
 */

/** What one contender did in one row: its measurements, or why there are none. */
export type Outcome = { values: number[] } | { reason: string };

/** A row of the comparison, with what each contender did. */
export interface Row {
  /** What is measured, such as `call over stdio`. */
  name: string;
  unit: "µs" | "ms" | "calls/s" | "KB";
  /** How it is measured, in one sentence. */
  how: string;
  /** Whether more is better; else less is. */
  more?: true;
  /** By the contender's name. */
  outcomes: Map<string, Outcome>;
}

/**
 * A quantile, by the nearest rank below.
 *
 * @param values not empty, in any order
 * @param q from 0 to 1
 */
export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)];
}

/** Median of an outcome, `undefined` when it has none. */
export function medianOf(outcome: Outcome | undefined): number | undefined {
  return outcome && "values" in outcome ? quantile(outcome.values, 0.5) : undefined;
}

/** Names of the contenders that were measured, the best first. */
export function ranking({ outcomes, more }: Row): string[] {
  const measured = [...outcomes].flatMap(([name, outcome]) => {
    const median = medianOf(outcome);
    return median === undefined ? [] : [{ name, median }];
  });
  return measured.sort((a, b) => more ? b.median - a.median : a.median - b.median).map(({ name }) => name);
}

/** How many times worse one contender is than another in a row: above 1 is worse. `undefined` when one is missing. */
export function timesWorse(row: Row, name: string, than: string): number | undefined {
  const [one, other] = [name, than].map((who) => medianOf(row.outcomes.get(who)));
  if (one === undefined || other === undefined) return undefined;
  return row.more ? other / one : one / other;
}

/**
 * A number with its unit, at three significant digits and never in exponents; long times in a larger unit.
 *
 * @param value the number
 * @param unit its unit
 */
export function shown(value: number, unit: Row["unit"]): string {
  if (unit === "µs" && value >= 10_000) return shown(value / 1_000, "ms");
  if (unit === "ms" && value >= 10_000) return `${digits(value / 1_000)} s`;
  return `${digits(value)} ${unit}`;
}

function digits(value: number): string {
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en-GB", { minimumFractionDigits: places, maximumFractionDigits: places });
}
