/**
 * The example page of docs/examples/browser, used as a person does: by keyboard, reading what it says. Run by
 * `deno task test:browser`.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { Page } from "npm:playwright-core@1.65.1";
import { events, type Script } from "../fixtures/http/server.ts";
import { OPEN_CORS, startChromium, startCorsServer, watchErrors } from "./harness.ts";

/** Starts the task as a reader does, and waits for the addresses that it prints. */
async function startTask() {
  const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "--cwd", root, "example:browser"],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let said = "";
  const stdout = child.stdout.pipeThrough(new TextDecoderStream());
  for await (const part of stdout.values({ preventCancel: true })) {
    said += part;
    if (said.includes("Ctrl-C")) break;
  }
  return {
    pageUrl: /^page: (\S+)$/m.exec(said)![1],
    serverUrl: /^MCP server: (\S+), token: demo$/m.exec(said)![1],
    /** Ends it as Ctrl-C does, and gives its exit code. */
    async end(): Promise<number> {
      child.kill("SIGINT");
      const { code } = await child.status;
      await stdout.cancel();
      return code;
    },
  };
}

const example = await startTask();
const browser = await startChromium();
Deno.test.afterAll(async () => {
  await browser.close();
  await example.end();
});

const WAIT_MS = 15_000;

/** Opens the page for a test; whatever happens, it violates no policy and writes no error to the console. */
async function withPage(use: (page: Page) => Promise<void>, colorScheme: "light" | "dark" = "light"): Promise<void> {
  const context = await browser.newContext({ colorScheme });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const errors = watchErrors(page);
    await page.goto(example.pageUrl);
    await use(page);
    assertEquals(errors, []);
  } finally {
    await context.close();
  }
}

/** Puts the focus on a control as a person without a mouse does. */
async function tabTo(page: Page, id: string): Promise<void> {
  for (let tabs = 0; tabs < 30; tabs++) {
    if (await page.evaluate("document.activeElement.id") === id) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`#${id} cannot be reached with Tab`);
}

/** Replaces the text of a field by keyboard. */
async function write(page: Page, id: string, text: string): Promise<void> {
  await tabTo(page, id);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
}

const DEMO = { token: "demo", tool: "echo", arguments: '{"message":"hello"}' };

/** Fills fields in the order of the page, and calls the tool. */
async function call(page: Page, fields: Partial<Record<"url" | "token" | "tool" | "timeout" | "arguments", string>>) {
  for (const id of ["url", "token", "tool", "timeout", "arguments"] as const) {
    const text = fields[id];
    if (text !== undefined) await write(page, id, text);
  }
  await tabTo(page, "call");
  await page.keyboard.press("Enter");
}

/** The text of an element once it says something that fits. */
async function textOf(page: Page, selector: string, pattern: RegExp): Promise<string> {
  const element = page.locator(selector).filter({ hasText: pattern });
  return (await element.innerText()).trim();
}

Deno.test("example page: by keyboard alone, a call shows its result and the session", () =>
  withPage(async (page) => {
    await call(page, DEMO);
    assertMatch(await textOf(page, "#status", /answered/), /^The tool answered after \d+ ms, in session 1\.$/);
    assertEquals(await page.locator("#result pre").allInnerTexts(), ["hello", '{\n  "message": "hello"\n}']);
    assertEquals(await page.locator("#state").innerText(), "Ready");
    assertEquals(await page.locator("#generation").innerText(), "1");
    assertMatch(await page.locator("#session-id").innerText(), /^.{8}…$/);
    assertEquals(await page.locator("#revision").innerText(), "2025-11-25");
    const told = (await page.locator("#events li").allInnerTexts()).map((line) => line.replace(/\d+ ms/, "n ms"));
    assertEquals(told, [
      "session 1: echo answered after n ms",
      "session 1: echo called",
      "session 1: ready after n ms",
      "session 1: opening",
    ]);
    assertEquals(await page.evaluate("document.activeElement.id"), "call");
  }));

Deno.test("example page: the session keeps the server's state between calls", () =>
  withPage(async (page) => {
    await call(page, { ...DEMO, tool: "remember", arguments: '{"note":"milk"}' });
    await textOf(page, "#result", /1 in this session/);
    await write(page, "arguments", '{"note":"bread"}');
    await page.keyboard.press("Control+Enter");
    await textOf(page, "#result", /2 in this session/);
    assertMatch(await textOf(page, "#status", /answered/), /in session 1\.$/);
  }));

Deno.test("example page: progress is shown, and Escape aborts the call", () =>
  withPage(async (page) => {
    await call(page, { ...DEMO, tool: "count", arguments: '{"to":100,"everyMs":100}' });
    assertMatch(await textOf(page, "#status", /Progress/), /^Progress: \d+ of 100 \(counted \d+\)$/);
    const bar = page.getByRole("progressbar", { name: "Progress of the call" });
    assertEquals(await bar.getAttribute("max"), "100");
    assertGreater(Number(await bar.getAttribute("value")), 0);
    await page.keyboard.press("Escape");
    const said = await textOf(page, "[role=alert]", /aborted/);
    assertStringIncludes(said, "You aborted the call.");
    assertStringIncludes(said, "The tool may have run");
    assert(await bar.isHidden());
    assertEquals(await textOf(page, "#events li >> nth=0", /ABORTED/).then((line) => line.includes("failed")), true);
  }));

Deno.test("example page: the button aborts too, and the session goes on", () =>
  withPage(async (page) => {
    await call(page, { ...DEMO, tool: "count", arguments: '{"to":100,"everyMs":100}' });
    await textOf(page, "#status", /Progress/);
    await tabTo(page, "abort");
    await page.keyboard.press("Space");
    await textOf(page, "[role=alert]", /aborted/);
    await call(page, { tool: "echo", arguments: DEMO.arguments });
    assertMatch(await textOf(page, "#status", /answered/), /in session 1\.$/);
  }));

Deno.test("example page: a call that is aborted before it was started has not run", async () => {
  const answer = Promise.withResolvers<Response>();
  await using server = startCorsServer({
    request: ({ message }) => message.method === "initialize" ? answer.promise : undefined,
  });
  await withPage(async (page) => {
    await call(page, { url: server.url });
    await textOf(page, "#state", /Opening/);
    await page.keyboard.press("Escape");
    assertStringIncludes(await textOf(page, "[role=alert]", /aborted/), "The tool has not run.");
  }).finally(() => answer.resolve(new Response(null, { status: 500 })));
});

Deno.test("example page: a wrong token is said in words", () =>
  withPage(async (page) => {
    await call(page, { ...DEMO, token: "wrong-token" });
    const said = await textOf(page, "[role=alert]", /token/);
    assertStringIncludes(said, "The server does not accept the token.");
    assertStringIncludes(said, "The tool has not run. It is safe to call again.");
    assertStringIncludes(said, "invalid_token");
    assert(!said.includes("wrong-token"));
    assertEquals(await page.locator("#status").textContent(), "");
  }));

Deno.test("example page: a tool's own error is a result", () =>
  withPage(async (page) => {
    await call(page, { ...DEMO, tool: "fail", arguments: "" });
    assertMatch(await textOf(page, "#status", /error/), /^The tool answered with an error of its own after \d+ ms/);
    assertEquals(await page.locator("#result pre").allInnerTexts(), ["this tool always fails"]);
    assertEquals(await page.locator("[role=alert]").innerText(), "");
  }));

Deno.test("example page: a call that is not answered in time may have run", async () => {
  await using server = startCorsServer({ call: () => events([": silence\n\n"], "stay open") });
  await withPage(async (page) => {
    await call(page, { url: server.url, timeout: "1" });
    const said = await textOf(page, "[role=alert]", /time/);
    assertStringIncludes(said, "The tool did not answer in time.");
    assertStringIncludes(said, "The tool may have run");
  });
});

Deno.test("example page: a server that lets no page use it: the page says what it must send", async () => {
  await using server = startCorsServer({}, {});
  await withPage(async (page) => {
    await call(page, { url: server.url });
    const said = await textOf(page, "[role=alert]", /session/);
    assertStringIncludes(said, "No session could be opened with the server.");
    assertStringIncludes(said, "The tool has not run.");
    assertStringIncludes(said, `"Access-Control-Allow-Origin: ${new URL(example.pageUrl).origin}"`);
  });
});

for (
  const [id, text, problem] of [
    ["arguments", "{oops", /^This is not JSON: /],
    ["arguments", "[1]", /^The arguments must be a JSON object/],
    ["url", "example.com", /^Give an address that begins with https:/],
    ["tool", " ", /^Give the name of a tool\.$/],
    ["timeout", "0", /^Give 1 to 3600 seconds\.$/],
  ] as const
) {
  Deno.test(`example page: "${text}" as ${id} is refused beside the field, which gets the focus`, () =>
    withPage(async (page) => {
      await call(page, { [id]: text });
      assertMatch(await textOf(page, `#${id}-problem`, /./), problem);
      assertEquals(await page.evaluate("document.activeElement.id"), id);
      assertEquals(await page.locator(`#${id}`).getAttribute("aria-invalid"), "true");
      assertEquals(await page.locator("#events li").count(), 0);
    }));
}

Deno.test("example page: closing the session ends it at the server, and the next call opens another", async () => {
  await using server = startCorsServer();
  await withPage(async (page) => {
    await call(page, { url: server.url });
    await textOf(page, "#status", /session 1/);
    await tabTo(page, "close");
    await page.keyboard.press("Enter");
    await textOf(page, "#state", /None/);
    assertEquals(server.of("DELETE").length, 1);
    await call(page, {});
    await textOf(page, "#status", /session 2/);
  });
});

Deno.test("example page: a tab that is closed says goodbye, as far as the browser lets it", async () => {
  const left = Promise.withResolvers<void>();
  const script: Script = {
    request(seen) {
      if (seen.method === "DELETE") left.resolve();
      return undefined;
    },
  };
  // The preflight is remembered: there is no time for another.
  await using server = startCorsServer(script, { ...OPEN_CORS, "access-control-max-age": "600" });
  await withPage(async (page) => {
    await call(page, { url: server.url });
    await textOf(page, "#status", /session 1/);
    await page.close();
    const timer = setTimeout(() => left.reject(new Error("no DELETE came")), WAIT_MS);
    await left.promise.finally(() => clearTimeout(timer));
  });
});

Deno.test("example page: a session that the server forgot is opened again, and the page tells of it", async () => {
  await using server = startCorsServer();
  await withPage(async (page) => {
    await call(page, { url: server.url });
    await textOf(page, "#status", /session 1/);
    server.forget();
    await call(page, {});
    await textOf(page, "#status", /session 2/);
    assertStringIncludes(await page.locator("#events").innerText(), "session 1: lost");
  });
});

Deno.test("example page: another token is another session", async () => {
  await using server = startCorsServer();
  await withPage(async (page) => {
    await call(page, { url: server.url, token: "first" });
    await textOf(page, "#status", /session 1/);
    await call(page, { token: "second" });
    await textOf(page, "#status", /session 2/);
    assertStringIncludes(await page.locator("#events").innerText(), "session 1: replaced");
    const sent = server.of("tools/call").map(({ headers }) => headers.get("authorization"));
    assertEquals(sent, ["Bearer first", "Bearer second"]);
  });
});

Deno.test("example page: the token is in no address, no storage, no text and no log", () =>
  withPage(async (page) => {
    const seen: string[] = [];
    page.on("request", (request) => void seen.push(request.url()));
    page.on("console", (message) => void seen.push(message.text()));
    await call(page, { ...DEMO, token: "very-secret-token" });
    await textOf(page, "[role=alert]", /token/);
    seen.push(page.url(), await page.content());
    seen.push(JSON.stringify(await page.context().storageState({ indexedDB: true })));
    seen.push(await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, name])"));
    assertGreater(seen.length, 4);
    assertEquals(seen.filter((text) => text.includes("very-secret-token")), []);
  }));

Deno.test("example page: every control has a name, and what changes is announced", () =>
  withPage(async (page) => {
    for (const name of ["Server URL", "Tool", "Arguments, JSON"]) {
      await page.getByRole("textbox", { name, exact: true }).waitFor();
    }
    await page.getByRole("spinbutton", { name: "Time limit, seconds" }).waitFor();
    await page.getByLabel("Token optional").waitFor();
    for (const name of ["Call tool", "Abort", "Close session"]) await page.getByRole("button", { name }).waitFor();
    const unnamed = "input:not([id]), textarea:not([id]), button:empty";
    assertEquals(await page.locator(unnamed).count(), 0);
    assertEquals(await page.getByRole("status").evaluateAll((all) => all.map(({ id }) => id)), ["status", "state"]);
    assertEquals(await page.getByRole("alert").evaluateAll((all) => all.map(({ id }) => id)), ["failure"]);
  }));

/** Contrast of a text with what is behind it (WCAG 2.2, "contrast ratio"), from colours as the browser computes them. */
function contrast(colours: readonly string[]): number {
  const [light, dark] = colours.map((colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g)!.map((part) => Number(part) / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

for (const scheme of ["light", "dark"] as const) {
  Deno.test(`example page: its texts can be read in the ${scheme} look`, () =>
    withPage(async (page) => {
      await call(page, { ...DEMO, token: "wrong" });
      await textOf(page, "[role=alert]", /token/);
      const colours = (text: string, behind: string) =>
        page.evaluate(
          `[getComputedStyle(document.querySelector(${JSON.stringify(text)})).color, ` +
            `getComputedStyle(document.querySelector(${JSON.stringify(behind)})).backgroundColor]`,
        ) as Promise<string[]>;
      for (
        const [text, behind] of [
          ["h1", "body"],
          ["header p", "body"],
          ["label", ".card"],
          [".hint", ".card"],
          ["#url", "#url"],
          ["#call", "#call"],
          [".title", "#failure"],
          [".detail", "#failure"],
        ]
      ) assertGreaterOrEqual(contrast(await colours(text, behind)), 4.5, `${text} on ${behind}`);
      const [, behind] = await colours("body", "body");
      assertEquals(Number(behind.match(/\d+/)) > 128, scheme === "light");
    }, scheme));
}

Deno.test("example:browser: serves the page under its policy, and SIGINT ends page and server", async () => {
  const { pageUrl, serverUrl, end } = await startTask();
  const response = await fetch(pageUrl);
  assertStringIncludes(await response.text(), serverUrl);
  assertMatch(response.headers.get("content-security-policy")!, /^default-src 'none'; script-src 'self'; /);
  assertEquals((await fetch(serverUrl, { method: "OPTIONS" })).status, 204);
  assertEquals(await end(), 0);
  for (const url of [pageUrl, serverUrl]) assert(await fetch(url).then(() => false, () => true));
});
