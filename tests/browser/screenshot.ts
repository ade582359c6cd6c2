/**
 * `deno task screenshot:browser`: takes the picture of docs/browser.md, of the example page after three calls. With the
 * arguments `dark <file>` it is the page's other look, in another file.
 *
 * @module
 */
import { startExample } from "../../docs/examples/browser/serve.ts";
import { startChromium } from "./harness.ts";

const colorScheme = Deno.args[0] === "dark" ? "dark" : "light";
const file = Deno.args[1] ?? new URL("../../docs/browser_example.png", import.meta.url);

await using example = await startExample();
const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1120, height: 800 }, colorScheme });
  await page.goto(example.pageUrl);
  await page.getByLabel("Token").fill("demo");
  for (const note of ["milk", "bread", "apples"]) {
    await page.getByLabel("Tool", { exact: true }).fill("remember");
    await page.getByLabel("Arguments, JSON").fill(`{ "note": "${note}" }`);
    await page.getByRole("button", { name: "Call tool" }).click();
    await page.locator("#result pre", { hasText: note }).waitFor();
  }
  await Deno.writeFile(file, await page.screenshot({ fullPage: true }));
} finally {
  await browser.close();
}
