/**
 * `deno task example:browser`: serves the page and a demo MCP server for it, each on a free port of this machine, until
 * SIGINT or SIGTERM.
 *
 * @module
 */
import { bundle } from "../../../tests/browser/bundle.ts";
import { DEMO_TOKEN, type DemoServer, startDemoServer } from "./demo_server.ts";

/** Nothing but its own files, and no server over a network in clear. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src https: http://127.0.0.1:* http://localhost:*",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const read = (name: string) => Deno.readTextFile(new URL(name, import.meta.url));

/** The running page and its server. */
export interface Example extends AsyncDisposable {
  pageUrl: string;
  serverUrl: string;
}

/** Bundles the page from the sources and serves it, with a demo server that it may use. */
export async function startExample(): Promise<Example> {
  const script = await bundle(new URL("page.js", import.meta.url));
  const [html, css] = await Promise.all([read("index.html"), read("page.css")]);
  const files: Record<string, [type: string, text: () => string]> = {
    "/": ["text/html", () => html.replace("DEMO_URL", demo.url).replace("DEMO_TOKEN", DEMO_TOKEN)],
    "/page.css": ["text/css", () => css],
    "/page.js": ["text/javascript", () => script],
  };
  const site = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const file = files[new URL(request.url).pathname];
    if (file === undefined) return new Response("not found\n", { status: 404 });
    const [type, text] = file;
    return new Response(text(), {
      headers: {
        "content-type": `${type}; charset=utf-8`,
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      },
    });
  });
  const origin = `http://127.0.0.1:${site.addr.port}`;
  const demo: DemoServer = startDemoServer(origin);
  return {
    pageUrl: `${origin}/`,
    serverUrl: demo.url,
    async [Symbol.asyncDispose]() {
      await Promise.all([site.shutdown(), demo[Symbol.asyncDispose]()]);
    },
  };
}

if (import.meta.main) {
  await using example = await startExample();
  const ended = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, resolve);
  });
  console.log(`page: ${example.pageUrl}\nMCP server: ${example.serverUrl}, token: ${DEMO_TOKEN}\nCtrl-C ends both.`);
  await ended;
}
