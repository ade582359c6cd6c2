/**
 * The chart: for each row a small panel, for each contender a dot at its median and a line over its spread. Plain SVG,
 * made as text. Pure.
 *
 * The axis shows how many times worse than the best of the row a contender is, on a logarithmic scale: a row may span
 * three orders of magnitude, and dots, unlike bars, do not suggest a zero.
 *
 * @module
 */
import { type Outcome, quantile, ranking, type Row, shown } from "./stats.ts";

const PANEL = { width: 560, gap: 24, title: 40, line: 22, bottom: 14, left: 160, right: 110 };
const OURS = "#0b6bcb";
const LIMIT = "#1a7f37";
const OTHERS = "#6e7781";

/**
 * Draws the rows, two panels abreast.
 *
 * @param rows what was measured
 * @param ours the contender that stands out
 * @param limit the one that is no library, but the limit
 * @returns an SVG document
 */
export function chart(rows: readonly Row[], ours: string, limit: string): string {
  const half = Math.ceil(rows.length / 2);
  const columns = [rows.slice(0, half), rows.slice(half)].map((column, x) => {
    let y = PANEL.gap;
    return column.map((row) => {
      const drawn = panel(row, ours, limit, PANEL.gap + x * (PANEL.width + PANEL.gap), y);
      y += heightOf(row) + PANEL.gap;
      return { drawn, bottom: y };
    });
  });
  const width = 2 * PANEL.width + 3 * PANEL.gap;
  const height = Math.max(...columns.flat().map(({ bottom }) => bottom));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" ` +
    `font-family="system-ui, sans-serif" font-size="13">\n<title>Benchmarks of MCP clients</title>\n` +
    `<rect width="${width}" height="${height}" fill="#ffffff"/>\n` +
    columns.flat().map(({ drawn }) => drawn).join("\n") + "\n</svg>\n";
}

function heightOf({ outcomes }: Row): number {
  return PANEL.title + outcomes.size * PANEL.line + PANEL.bottom;
}

function panel(row: Row, ours: string, limit: string, x: number, y: number): string {
  const ranked = ranking(row);
  const names = [...ranked, ...[...row.outcomes.keys()].filter((name) => !ranked.includes(name))];
  const scale = scaleOf(row);
  const lines = names.map((name, i) => {
    const color = name === ours ? OURS : name === limit ? LIMIT : OTHERS;
    return line(row, name, color, scale, PANEL.title + i * PANEL.line + 12);
  });
  const better = row.more ? "more is better" : "less is better";
  return `<g transform="translate(${x} ${y})">\n` +
    `<rect width="${PANEL.width}" height="${heightOf(row)}" fill="#f6f8fa" rx="6"/>\n` +
    `<text x="12" y="22" font-weight="600" fill="#1f2328">${escape(row.name)}</text>` +
    `<text x="${PANEL.width - 12}" y="22" text-anchor="end" fill="${OTHERS}">${better}; left is best</text>\n` +
    `${lines.join("\n")}\n</g>`;
}

/** From a measurement to its place: the best of all at the left, the worst at the right. */
function scaleOf({ outcomes, more }: Row): (value: number) => number {
  const all = [...outcomes.values()].flatMap((outcome) => spreadOf(outcome) ?? []).map(Math.log);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  // At least half an order of magnitude, so that a few per cent do not look like a gulf.
  const span = Math.max(high - low, Math.log(10) / 2);
  const width = PANEL.width - PANEL.left - PANEL.right;
  return (value) => PANEL.left + width * (more ? high - Math.log(value) : Math.log(value) - low) / span;
}

function spreadOf(outcome: Outcome): [number, number, number] | undefined {
  if (!("values" in outcome)) return undefined;
  return [0.1, 0.5, 0.9].map((q) => quantile(outcome.values, q)) as [number, number, number];
}

function line(row: Row, name: string, color: string, scale: (value: number) => number, y: number): string {
  const outcome = row.outcomes.get(name)!;
  const label = `<text x="12" y="${y + 4}" fill="${color}">${escape(name)}</text>`;
  const spread = spreadOf(outcome);
  if (!spread) {
    const { reason } = outcome as { reason: string };
    return `${label}<text x="${PANEL.left}" y="${y + 4}" fill="#cf222e">${escape(reason.slice(0, 58))}</text>`;
  }
  const [from, middle, to] = spread.map((value) => scale(value).toFixed(1));
  return `${label}<line x1="${from}" x2="${to}" y1="${y}" y2="${y}" stroke="${color}" stroke-width="3" ` +
    `stroke-linecap="round" opacity="0.4"/><circle cx="${middle}" cy="${y}" r="5" fill="${color}"/>` +
    `<text x="${PANEL.width - 12}" y="${y + 4}" text-anchor="end" fill="${color}">${shown(spread[1], row.unit)}</text>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
