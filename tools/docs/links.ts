/**
 * Finds broken links of a site that lies in memory or on disk as HTML. Pure.
 *
 * @module
 */

/** One page: what it is called from the site's root, and its HTML. */
export interface HtmlPage {
  path: string;
  html: string;
}

/**
 * Follows every internal link of every page, to a file and to an anchor in it. Links to other hosts are not followed.
 *
 * @param pages all HTML pages of the site
 * @param files every path of the site, those of the pages included
 * @returns one line for each broken link, in the order of the pages
 */
export function brokenLinks(pages: readonly HtmlPage[], files: ReadonlySet<string>): string[] {
  const anchors = new Map(pages.map(({ path, html }) => [path, anchorsOf(html)]));
  return pages.flatMap(({ path, html }) => {
    const broken = new Set<string>();
    for (const link of linksOf(html)) {
      const target = targetOf(path, link);
      if (!target) continue;
      const [file, anchor] = target;
      if (!files.has(file)) broken.add(`${path}: ${link}: no such file`);
      else if (anchor !== "" && anchors.has(file) && !anchors.get(file)!.has(anchor)) {
        broken.add(`${path}: ${link}: no such anchor`);
      }
    }
    return [...broken];
  });
}

function linksOf(html: string): string[] {
  // What is shown as code is no link.
  const markup = html.replace(/<(script|style)\b[^>]*>.*?<\/\1>/gs, "");
  return [...markup.matchAll(/<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(([, link]) =>
    unescape(link)
  );
}

function anchorsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/\s(?:id|name)="([^"]*)"/g)].map(([, id]) => unescape(id)));
}

/** File and anchor of an internal link; `undefined` for one that leaves the site. */
function targetOf(from: string, link: string): [string, string] | undefined {
  const base = new URL(from, "http://site/");
  const url = URL.canParse(link, base) ? new URL(link, base) : undefined;
  if (!url || url.origin !== base.origin) return undefined;
  const file = decodeURIComponent(url.pathname.slice(1));
  return [file === "" || file.endsWith("/") ? `${file}index.html` : file, decodeURIComponent(url.hash.slice(1))];
}

function unescape(text: string): string {
  const known: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x2F": "/" };
  return text.replace(/&(amp|lt|gt|quot|#39|#x2F);/g, (_, name) => known[name]);
}
