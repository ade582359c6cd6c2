import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { allowHint } from "../../runtime/transport/cors.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { connectionTo } from "../fixtures/http/server.ts";

const SERVER = "https://mcp.example/mcp";

function asPageOf<T>(origin: string, work: () => T): T {
  Object.defineProperty(globalThis, "origin", { value: origin, configurable: true });
  try {
    return work();
  } finally {
    Reflect.deleteProperty(globalThis, "origin");
  }
}

/** A response as a browser shows it to a page. */
function shownAs(type: string, response: Response): Response {
  return Object.defineProperty(response, "type", { value: type });
}

function failureWith(fetch: () => Response) {
  const pool = new McpRuntimePool(new PersistentSessionFactory({ fetch: () => Promise.resolve(fetch()) }));
  return failureOf(pool.callTool(connectionTo(SERVER), null, "echo", {}));
}

Deno.test("allowHint: empty outside browsers and for the page's own origin", () => {
  assertEquals(allowHint(SERVER, []), "");
  assertEquals(asPageOf("https://mcp.example", () => allowHint(SERVER, [])), "");
});

Deno.test("allowHint: names the origin and every header, each once", () => {
  const hint = asPageOf("https://page.example", () => allowHint(SERVER, ["authorization", "x-key", "content-type"]));
  assertStringIncludes(hint, '"Access-Control-Allow-Origin: https://page.example"');
  const names = "authorization, x-key, content-type, mcp-session-id, mcp-protocol-version, last-event-id";
  assertStringIncludes(hint, `"Access-Control-Allow-Headers: ${names}"`);
});

Deno.test("HttpTransport: a redirect that a browser hides is refused in its own words", async () => {
  const error = await failureWith(() => shownAs("opaqueredirect", Response.error()));
  assertEquals(error.code, "OPEN_FAILED");
  assertStringIncludes(error.message, "it was redirected, and a browser does not tell where to");
});

Deno.test("HttpTransport: 401 whose challenge a page cannot see names the header to expose", async () => {
  const error = await failureWith(() => shownAs("cors", new Response("no", { status: 401 })));
  assertEquals(error.code, "AUTH_REJECTED");
  assertStringIncludes(error.message, "Access-Control-Expose-Headers: WWW-Authenticate");
});

Deno.test("HttpTransport: 401 outside a browser says nothing of exposing", async () => {
  const error = await failureWith(() => new Response("no", { status: 401 }));
  assert(!error.message.includes("Access-Control"));
});
