/**
 * Opens pages in a real Chromium and servers that such pages may use.
 *
 * @module
 */
import { type Browser, chromium, type Page } from "npm:playwright-core@1.65.1";
import { type Script, startServer, type TestServer } from "../fixtures/http/server.ts";
import { bundle, bundleOfPackage } from "./bundle.ts";
import type { PageReport } from "./page.ts";

/** Longest wait for a page, in milliseconds. */
const PAGE_MS = 20_000;

/** Starts Debian's Chromium. */
export function startChromium(): Promise<Browser> {
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return chromium.launch({ executablePath: Deno.env.get("CHROMIUM") ?? "/usr/bin/chromium", args });
}

/** The files of the tests' site. */
export async function siteFiles(): Promise<Record<string, string>> {
  return {
    "/mod.js": await bundleOfPackage(),
    "/page.js": await bundle(new URL("page.ts", import.meta.url)),
  };
}

/** The site: every page of it is the same, under a policy that lets it reach one origin. */
function startSite(files: Record<string, string>, allowed: string) {
  const html = '<!DOCTYPE html><meta charset="utf-8"><title>test</title><output></output>' +
    '<script type="module" src="/page.js"></script>';
  const headers = {
    "content-type": "text/html",
    "content-security-policy": `default-src 'none'; script-src 'self'; connect-src ${allowed}`,
  };
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const file = files[new URL(request.url).pathname];
    if (file === undefined) return new Response(html, { headers });
    return new Response(file, { headers: { "content-type": "text/javascript" } });
  });
}

/** What came of a page. */
export interface PageOutcome extends PageReport {
  origin: string;
  /** Errors on the console but for those by which the browser tells of failed requests. */
  consoleErrors: string[];
}

/**
 * Opens a page and waits for its report.
 *
 * @param browser the browser
 * @param files the site's files
 * @param query what the page does; `url` is the server's
 * @param allowed the origin that the page's policy lets it reach; default the server's
 */
export async function openPage(
  browser: Browser,
  files: Record<string, string>,
  query: Record<string, string>,
  allowed = new URL(query.url).origin,
): Promise<PageOutcome> {
  await using site = startSite(files, allowed);
  const origin = `http://127.0.0.1:${site.addr.port}`;
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const consoleErrors = watchErrors(page);
    await page.goto(`${origin}/?${new URLSearchParams(query)}`);
    const output = page.locator("output:not(:empty)");
    const text = await output.textContent({ timeout: PAGE_MS }).catch((error) => {
      throw new Error(`the page gave no report; its console: ${consoleErrors.join(" | ")}`, { cause: error });
    });
    return { ...JSON.parse(text!), origin, consoleErrors };
  } finally {
    await context.close();
  }
}

/**
 * Keeps what a page writes to the console as errors, and what it throws, but for failed requests, of which the browser
 * itself tells.
 *
 * @param page a page that has not been opened yet
 * @returns the errors so far, and those to come
 */
export function watchErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => void errors.push(String(error)));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !/^(Failed to load resource|Access to fetch at)/.test(text)) errors.push(text);
  });
  return errors;
}

/** CORS headers of a server that lets every page use it. */
export const OPEN_CORS: Record<string, string> = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers":
    "authorization, x-hook-key, content-type, mcp-session-id, mcp-protocol-version, last-event-id",
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-expose-headers": "mcp-session-id, www-authenticate",
};

/** A server for pages of other origins, with some CORS headers. */
export function startCorsServer(script: Script = {}, cors: Record<string, string> = OPEN_CORS): TestServer {
  return startServer({
    ...script,
    request: (seen) => seen.method === "OPTIONS" ? new Response(null, { status: 204 }) : script.request?.(seen),
    response: (response) => {
      for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
      return response;
    },
  });
}

/** {@linkcode OPEN_CORS} without one header, or with another value of it. */
export function corsWith(name: string, value?: string): Record<string, string> {
  const { [name]: _without, ...others } = OPEN_CORS;
  return value === undefined ? others : { ...others, [name]: value };
}
