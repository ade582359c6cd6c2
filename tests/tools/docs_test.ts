import { assertEquals, assertStringIncludes } from "@std/assert";
import { missingLabels } from "../../tools/docs/drawing.ts";
import { brokenLinks } from "../../tools/docs/links.ts";
import { siteLink, slug, toHtml } from "../../tools/docs/page.ts";

Deno.test("brokenLinks: names a missing file and a missing anchor, and nothing that is there", () => {
  const pages = [
    {
      path: "a.html",
      html: '<h2 id="x">x</h2><a href="b.html#y">y</a><a href="#x">x</a><a href="https://mcp.test/z">z</a>',
    },
    { path: "b.html", html: '<a href="a.html#nowhere">1</a><img src="gone.svg">' },
  ];
  assertEquals(brokenLinks(pages, new Set(["a.html", "b.html"])), [
    "a.html: b.html#y: no such anchor",
    "b.html: a.html#nowhere: no such anchor",
    "b.html: gone.svg: no such file",
  ]);
});

Deno.test("slug: is what GitHub makes of a heading", () => {
  assertEquals(slug("Was it sent? Did it run?"), "was-it-sent-did-it-run");
});

Deno.test("siteLink: leads to the page, wherever the Markdown is", () => {
  assertEquals(
    ["docs/http.md#redirects", "http.md", "../README.md", "#here", "https://mcp.test/a.md"].map(siteLink),
    ["http.html#redirects", "http.html", "index.html", "#here", "https://mcp.test/a.md"],
  );
});

Deno.test("toHtml: gives two headings of one text two anchors", () => {
  const html = toHtml("## Same\n\n## Same\n");
  assertStringIncludes(html, 'id="same"');
  assertStringIncludes(html, 'id="same-1"');
});

Deno.test("missingLabels: names what the drawing does not show", () => {
  const markdown = '```mermaid\na["one<br>two"] --> b["three"]\n```\n';
  assertEquals(missingLabels(markdown, "<text>one</text><text x='1'>three</text>"), ["two"]);
});
