/**
 * `deno task docs`: builds the documentation into docs/site, which opens from disk and needs no network.
 *
 * 1. The API reference of every entry point (`deno doc --html`).
 * 2. README.md and the pages of docs/, in the same look, with navigation.
 * 3. Checks: every page is in the navigation and every entry of it is a page; drawings show what their Mermaid source
 *    names; no internal link or anchor is broken, in the guide and in the reference; code blocks are type-checked and
 *    run. Any failure fails the task.
 *
 * @module
 */
import { missingLabels } from "./docs/drawing.ts";
import { brokenLinks, type HtmlPage } from "./docs/links.ts";
import { bar, framed, NAVIGATION, toHtml } from "./docs/page.ts";
import config from "../deno.json" with { type: "json" };

const root = new URL("../", import.meta.url);
const docs = new URL("docs/", root);
const site = new URL("site/", docs);

async function deno(...args: string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: root, stdout: "null" }).output();
  if (!success) throw new Error(`deno ${args[0]} failed: deno ${args.join(" ")}`);
}

/** Every file below a folder, by its path from there. */
async function filesIn(folder: URL, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await filesIn(new URL(`${encodeURIComponent(name)}/`, folder), `${prefix}${name}/`));
    else found.push(prefix + name);
  }
  return found;
}

async function buildReference(): Promise<void> {
  const entryPoints = Object.entries(config.exports).filter(([name]) => !name.startsWith("./compat"));
  const output = decodeURIComponent(new URL("api/", site).pathname);
  await deno(
    "doc",
    "--quiet",
    "--html",
    `--name=${config.name}`,
    `--output=${output}`,
    ...entryPoints.map(([, path]) => path),
  );
  for (const path of await filesIn(new URL("api/", site))) {
    if (!path.endsWith(".html")) continue;
    const up = "../".repeat(path.split("/").length);
    const file = new URL(`api/${path.split("/").map(encodeURIComponent).join("/")}`, site);
    const html = await Deno.readTextFile(file);
    const sheet = `<link rel="stylesheet" href="${up}site.css">\n</head>`;
    await Deno.writeTextFile(file, html.replace("</head>", sheet).replace("<body>", `<body>\n${bar(up)}`));
  }
}

/** Pages that lie beside docs/. */
const OUTSIDE: Record<string, string> = { index: "README.md", CHANGELOG: "CHANGELOG.md" };

async function buildPages(): Promise<string[]> {
  const names = await filesIn(docs);
  const problems: string[] = [];
  const listed = NAVIGATION.flatMap(({ pages }) => pages);
  for (const name of names.filter((name) => /^[^/]+\.md$/.test(name))) {
    if (!listed.some((page) => `${page.name}.md` === name)) problems.push(`docs/${name}: not in the navigation`);
  }
  for (const page of listed) {
    if (!(page.name in OUTSIDE) && !names.includes(`${page.name}.md`)) {
      problems.push(`docs/${page.name}.md: in the navigation, but missing`);
      continue;
    }
    const outside = OUTSIDE[page.name];
    const markdown = await Deno.readTextFile(outside ? new URL(outside, root) : new URL(`${page.name}.md`, docs));
    const picture = names.includes(`${page.name}.svg`) ? `${page.name}.svg` : undefined;
    if (markdown.includes("```mermaid")) {
      const drawing = picture ? await Deno.readTextFile(new URL(picture, docs)) : "";
      problems.push(
        ...missingLabels(markdown, drawing).map((label) => `docs/${page.name}.svg: does not show "${label}"`),
      );
    }
    await Deno.writeTextFile(new URL(`${page.name}.html`, site), framed(page, toHtml(markdown, picture)));
  }
  // Pictures, and the programs that pages lead to.
  for (const name of names.filter((name) => /^([^/]+\.(svg|png)|examples\/.*)$/.test(name))) {
    await Deno.mkdir(new URL(".", new URL(name, site)), { recursive: true });
    await Deno.copyFile(new URL(name, docs), new URL(name, site));
  }
  await Deno.copyFile(new URL("docs/site.css", import.meta.url), new URL("site.css", site));
  return problems;
}

async function checkLinks(): Promise<string[]> {
  const files = await filesIn(site);
  const pages: HtmlPage[] = [];
  // An example's page has the links of the program that serves it.
  for (const path of files.filter((path) => path.endsWith(".html") && !path.startsWith("examples/"))) {
    const url = new URL(path.split("/").map(encodeURIComponent).join("/"), site);
    pages.push({ path, html: await Deno.readTextFile(url) });
  }
  console.log(`${pages.length} pages, ${files.length} files`);
  // A page that is missing is told once, not once for each page whose navigation names it.
  const missing = NAVIGATION.flatMap(({ pages }) => pages).map(({ name }) => `${name}.html`);
  return brokenLinks(pages, new Set([...files, ...missing]));
}

await Deno.remove(site, { recursive: true }).catch((error) => {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
});
await Deno.mkdir(site, { recursive: true });
await buildReference();
const problems = [...await buildPages(), ...await checkLinks()];
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? "every page is listed, no link is broken" : `${problems.length} problems`);
if (problems.length > 0) Deno.exit(1);
await deno("test", "--quiet", "--allow-all", "--doc", "README.md", "docs/");
console.log("code blocks: checked and run\ndocs/site/index.html");
