/**
 * Turns one Markdown page into HTML in the frame of the site. Pure.
 *
 * @module
 */
import { Marked, type Tokens } from "marked";

/** One page of the navigation. */
export interface Page {
  /** File name without its ending, which is also its address. */
  name: string;
  /** What the navigation says. */
  title: string;
}

/** The navigation: every page of docs/, by what a reader is after. */
export const NAVIGATION: readonly { title: string; pages: readonly Page[] }[] = [
  {
    title: "Start",
    pages: [{ name: "index", title: "Overview" }, { name: "first_steps", title: "First steps" }],
  },
  {
    title: "Use",
    pages: [
      { name: "connections", title: "Connections and auth" },
      { name: "stdio", title: "stdio servers" },
      { name: "http", title: "HTTP servers" },
      { name: "oauth", title: "OAuth" },
      { name: "lifecycle", title: "Lifecycle" },
      { name: "errors", title: "Errors" },
      { name: "cancellation", title: "Cancellation and timeouts" },
      { name: "concurrency", title: "Concurrency and scopes" },
      { name: "testing", title: "Testing" },
      { name: "telemetry", title: "Telemetry" },
    ],
  },
  {
    title: "Where it runs",
    pages: [
      { name: "permissions", title: "Permissions" },
      { name: "browser", title: "Browser" },
      { name: "node", title: "Node" },
    ],
  },
  {
    title: "Move here",
    pages: [
      { name: "migrating_from_python", title: "From the Python runtime" },
      { name: "migrating_from_sdk", title: "From the bare SDK" },
      { name: "compat", title: "Legacy paths" },
    ],
  },
  {
    title: "Behind it",
    pages: [
      { name: "benchmarks", title: "Benchmarks" },
      { name: "architecture", title: "Architecture" },
      { name: "dependencies", title: "Dependencies" },
      { name: "CHANGELOG", title: "Changelog" },
      { name: "current_roadmap", title: "Roadmap" },
      { name: "long_lived_workflow_api_boundary", title: "API boundary" },
    ],
  },
];

/**
 * The anchor of a heading, as GitHub makes it.
 *
 * @param text the heading's text
 * @returns lower case, spaces as hyphens, punctuation left out
 */
export function slug(text: string): string {
  return text.toLowerCase().replace(/<[^>]*>/g, "").replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-");
}

/**
 * Where a link of a Markdown page leads on the site.
 *
 * @param href the link as it is in docs/ or, for the overview, in README.md
 * @returns the link on the site
 */
export function siteLink(href: string): string {
  if (/^[a-z]+:/i.test(href)) return href;
  const inDocs = href.replace(/^(?:\.\/)?docs\//, "").replace(/^\.\.\/README\.md/, "index.md");
  return inDocs.replace(/\.md(?=#|$)/, ".html");
}

/**
 * Makes the HTML of a page's Markdown.
 *
 * @param markdown the page
 * @param picture address of the drawing that stands for a Mermaid block, if the page has one
 * @returns HTML without a frame
 */
export function toHtml(markdown: string, picture?: string): string {
  const seen = new Map<string, number>();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const inner = this.parser.parseInline(tokens);
        const plain = slug(inner.replace(/&\w+;|&#\d+;/g, ""));
        const times = seen.get(plain) ?? 0;
        seen.set(plain, times + 1);
        const id = times === 0 ? plain : `${plain}-${times}`;
        return `<h${depth} id="${id}"><a href="#${id}">${inner}</a></h${depth}>\n`;
      },
      code({ text, lang }: Tokens.Code) {
        const [language] = (lang ?? "").split(/\s/);
        if (language === "mermaid" && picture) return `<p><img src="${picture}" alt="Diagram of this page"></p>\n`;
        return `<pre class="highlight"><code class="language-${language}">${escapeHtml(text)}</code></pre>\n`;
      },
      table(token: Tokens.Table) {
        const cells = (tag: string, row: Tokens.TableCell[]) =>
          `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((row) => cells("td", row)).join("\n");
        return `<div class="wide"><table><thead>${
          cells("th", token.header)
        }</thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
    },
    walkTokens(token) {
      if (token.type === "link" || token.type === "image") token.href = siteLink(token.href);
    },
  });
  return marked.parse(markdown, { async: false });
}

/**
 * Puts a page into the frame: the look of the API reference, with the navigation beside it.
 *
 * @param page which page
 * @param html its content
 * @returns the whole document
 */
export function framed(page: Page, html: string): string {
  const sheets = ["styles", "page", "reset", "comrak", "prism"].map((name) => `api/${name}.css`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<title>${escapeHtml(page.title)} · @wf/sources-mcp</title>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
${[...sheets, "site.css"].map((sheet) => `<link rel="stylesheet" href="${sheet}">`).join("\n")}
<script src="api/prism.js" defer></script>
<script src="api/darkmode_toggle.js" defer></script>
</head>
<body>
${bar("")}
<div class="site">
${navigation(page)}
<div class="ddoc"><main class="markdown">
${html}</main></div>
</div>
</body>
</html>
`;
}

/**
 * The bar above every page, of the guide and of the API reference.
 *
 * @param up from the page to the site's root, such as `../`
 * @returns HTML
 */
export function bar(up: string): string {
  return `<header class="site-bar"><a href="${up}index.html"><b>@wf/sources-mcp</b></a>` +
    `<a href="${up}first_steps.html">Guide</a><a href="${up}api/index.html">API</a></header>`;
}

function navigation(current: Page): string {
  const links = (pages: readonly Page[]) =>
    pages.map(({ name, title }) =>
      `<li><a href="${name}.html"${name === current.name ? ' aria-current="page"' : ""}>${title}</a></li>`
    ).join("");
  return `<nav class="site-nav" aria-label="Pages">${
    NAVIGATION.map(({ title, pages }) => `<h2>${title}</h2><ul>${links(pages)}</ul>`).join("\n")
  }</nav>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
