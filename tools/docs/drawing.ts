/**
 * Holds a drawing against its Mermaid source: GitHub draws the source, the site shows the drawing. Pure.
 *
 * @module
 */

/**
 * The labels of a page's Mermaid blocks that its drawing does not show.
 *
 * @param markdown the page
 * @param svg the drawing
 * @returns labels of nodes, groups and arrows, in the order of the source
 */
export function missingLabels(markdown: string, svg: string): string[] {
  const shown = [...svg.matchAll(/<text\b[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  const blocks = [...markdown.matchAll(/```mermaid\n(.*?)```/gs)].map(([, block]) => block);
  const labels = blocks.flatMap((block) => [...block.matchAll(/"([^"]+)"/g)]).flatMap(([, label]) =>
    label.split("<br>")
  );
  return labels.filter((label) => !shown.includes(label));
}
