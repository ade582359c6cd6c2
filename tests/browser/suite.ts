/**
 * The package in a real Chromium, under a strict Content-Security-Policy, against servers of another origin. Run by
 * `deno task test:browser`.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { connectionRuntimeFingerprint } from "../../mod.ts";
import { echo, events, responseEvent } from "../fixtures/http/server.ts";
import { startRawServer } from "../fixtures/http/raw_server.ts";
import {
  corsWith,
  OPEN_CORS,
  openPage,
  type PageOutcome,
  siteFiles,
  startChromium,
  startCorsServer,
} from "./harness.ts";

const files = await siteFiles();
const browser = await startChromium();
Deno.test.afterAll(() => browser.close());

/** Opens a page; whatever it does, it violates no policy and writes no error to the console. */
async function open(query: Record<string, string>): Promise<PageOutcome> {
  const outcome = await openPage(browser, files, query);
  assertEquals([outcome.violations, outcome.consoleErrors], [[], []]);
  return outcome;
}

Deno.test("bundle: imports nothing and holds no eval and no Function constructor", () => {
  const text = files["/mod.js"];
  assertEquals(text.match(/\bimport\s*[{*"'(]|\brequire\(|\beval\b|\bnew Function\b|[=(]Function\b/g), null);
});

Deno.test("page: a forbidden new Function is seen by these tests", async () => {
  await using server = startCorsServer();
  const { violations, error } = await openPage(browser, files, { scenario: "forbidden", url: server.url });
  assertEquals(violations, ["script-src eval"]);
  assertEquals(error?.name, "EvalError");
});

Deno.test("page: calls share one session, which is ended with DELETE", async () => {
  await using server = startCorsServer();
  const { value, error } = await open({ scenario: "calls", url: server.url });
  assertEquals(error, undefined);
  assertEquals(value, [{ output: { a: 1 }, generation: 1 }, { output: { a: 1 }, generation: 1 }]);
  assertEquals(["initialize", "tools/call", "DELETE"].map((method) => server.of(method).length), [1, 2, 1]);
});

Deno.test("page: progress is reported", async () => {
  const report = (progress: number, token: unknown) =>
    `data: ${
      JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: token, progress, total: 2 },
      })
    }\n\n`;
  await using server = startCorsServer({
    call: (seen) => {
      const token = (seen.message.params as { _meta: { progressToken: unknown } })._meta.progressToken;
      return events([report(1, token), report(2, token), responseEvent(seen)]);
    },
  });
  const { value } = await open({ scenario: "progress", url: server.url });
  assertEquals(value, { reports: [{ progress: 1, total: 2 }, { progress: 2, total: 2 }], output: { a: 1 } });
});

Deno.test("page: an abort rejects with its reason, and the server is told", async () => {
  await using server = startCorsServer({
    call: (seen) => {
      const token = (seen.message.params as { _meta: { progressToken: unknown } })._meta.progressToken;
      const params = { progressToken: token, progress: 1 };
      return events(
        [`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`],
        "stay open",
      );
    },
  });
  const { value } = await open({ scenario: "abort", url: server.url });
  assertEquals(value, { reason: "enough" });
  await server.of("tools/call")[0].ended;
  assertEquals(server.of("notifications/cancelled").length, 1);
});

Deno.test("page: a call that times out is CALL_TIMEOUT, and the server sees the exchange end", async () => {
  await using server = startCorsServer({ call: () => events([": silence\n\n"], "stay open") });
  const { error } = await open({ scenario: "timeout", url: server.url });
  assertEquals([error?.name, error?.code, error?.delivery], ["McpTimeoutError", "CALL_TIMEOUT", "unknown"]);
  await server.of("tools/call")[0].ended;
});

Deno.test("page: a session that the server forgot is opened again", async () => {
  let calls = 0;
  await using server = startCorsServer({
    call: (seen) => {
      if (++calls === 1) server.forget();
      return echo(seen);
    },
  });
  const { value } = await open({ scenario: "calls", url: server.url });
  assertEquals((value as { generation: number }[]).map(({ generation }) => generation), [1, 2]);
});

Deno.test("page: the token and the hook's header are sent with every request", async () => {
  await using server = startCorsServer();
  await open({ scenario: "calls", url: server.url, token: "abc", "hook-token": "def" });
  const sent = server.seen.filter(({ method }) => method !== "OPTIONS");
  assertEquals(new Set(sent.map(({ headers }) => headers.get("authorization"))), new Set(["Bearer abc"]));
  assertEquals(new Set(sent.map(({ headers }) => headers.get("x-hook-key"))), new Set(["def"]));
});

Deno.test("page: a fingerprint is the same as elsewhere", async () => {
  await using server = startCorsServer();
  const { value } = await open({ scenario: "fingerprint", url: server.url });
  const transport = { kind: "http" as const, url: server.url };
  const connection = { id: "test.page", provider: "test", account: "page", transport };
  assertEquals(value, connectionRuntimeFingerprint(connection));
});

Deno.test("page: a refused token is AUTH_REJECTED with the challenge that the server exposes", async () => {
  const headers = { "www-authenticate": 'Bearer error="invalid_token"' };
  await using server = startCorsServer({ request: () => new Response("no", { status: 401, headers }) });
  const { error } = await open({ scenario: "calls", url: server.url, token: "abc" });
  assertEquals([error?.name, error?.code, error?.status], ["AuthRejectedError", "AUTH_REJECTED", 401]);
  assertMatch(String(error?.message), /: invalid_token$/);
});

Deno.test("page: a challenge that the server does not expose: the error names the header", async () => {
  const headers = { "www-authenticate": 'Bearer error="invalid_token"' };
  const cors = corsWith("access-control-expose-headers");
  await using server = startCorsServer({ request: () => new Response("no", { status: 401, headers }) }, cors);
  const { error } = await open({ scenario: "calls", url: server.url });
  assertStringIncludes(String(error?.message), '"Access-Control-Expose-Headers: WWW-Authenticate"');
});

Deno.test("page: a session id that the server does not expose: the error names the header", async () => {
  await using server = startCorsServer({}, corsWith("access-control-expose-headers"));
  const { error } = await open({ scenario: "calls", url: server.url });
  assertEquals(error?.code, "OPEN_FAILED");
  assertStringIncludes(String(error?.message), '"Access-Control-Expose-Headers: Mcp-Session-Id"');
});

for (
  const [what, cors] of [
    ["no CORS headers at all", {}],
    ["another allowed origin", corsWith("access-control-allow-origin", "https://other.example")],
    ["no allowed headers", corsWith("access-control-allow-headers")],
    ["only the headers of initialize", corsWith("access-control-allow-headers", "content-type, authorization")],
  ] as const
) {
  Deno.test(`page: a server with ${what}: the error says what it must allow`, async () => {
    await using server = startCorsServer({}, cors);
    const { error, origin } = await open({ scenario: "calls", url: server.url, token: "abc" });
    assertEquals([error?.name, error?.code, error?.delivery], ["HttpError", "OPEN_FAILED", "not-sent"]);
    assertStringIncludes(String(error?.message), `"Access-Control-Allow-Origin: ${origin}"`);
    const names = "authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id";
    assertStringIncludes(String(error?.message), `"Access-Control-Allow-Headers: ${names}"`);
    assert(!String(error?.message).includes("abc"));
  });
}

Deno.test("page: a server that asks a preflight for credentials: the error says that OPTIONS needs 2xx", async () => {
  const refused = () => new Response(null, { status: 401, headers: OPEN_CORS });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, refused);
  const { error } = await open({ scenario: "calls", url: `http://127.0.0.1:${server.addr.port}/mcp` });
  assertEquals([error?.code, error?.delivery], ["OPEN_FAILED", "not-sent"]);
  assertStringIncludes(String(error?.message), "those to OPTIONS a status of 2xx");
});

Deno.test("page: a server that the page's own policy forbids: the error names the policy", async () => {
  await using server = startCorsServer();
  const query = { scenario: "calls", url: server.url };
  const { violations, error } = await openPage(browser, files, query, "https://other.example");
  assertEquals(new Set(violations), new Set([`connect-src ${server.url}`]));
  assertEquals([error?.code, error?.delivery], ["OPEN_FAILED", "not-sent"]);
  assertStringIncludes(String(error?.message), "the page's Content-Security-Policy allows it");
  assertEquals(server.seen.length, 0);
});

for (const status of [302, 307]) {
  Deno.test(`page: a redirect with ${status} is refused with a message of its own, and nothing follows it`, async () => {
    const redirect = () => new Response(null, { status, headers: { location: "/moved" } });
    await using server = startCorsServer({ request: ({ path }) => path === "/mcp" ? redirect() : undefined });
    const { error } = await open({ scenario: "calls", url: server.url });
    assertEquals([error?.name, error?.code], ["HttpError", "OPEN_FAILED"]);
    assertStringIncludes(String(error?.message), "it was redirected, and a browser does not tell where to");
    assertEquals(server.seen.filter(({ path }) => path === "/moved").length, 0);
  });
}

Deno.test("page: a stdio server is refused in words", async () => {
  await using server = startCorsServer();
  const { error } = await open({ scenario: "calls", url: server.url, stdio: "1" });
  assertEquals(error?.code, "UNSUPPORTED");
});

Deno.test("H7 page: Chromium itself sends a call again whose pooled connection was reset", async () => {
  const cors = Object.entries(OPEN_CORS).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const executed: unknown[] = [];
  await using server = startRawServer(async (request) => {
    const { id, method } = request.message;
    if (request.line.startsWith("OPTIONS")) {
      return await request.write(`HTTP/1.1 204 No Content\r\n${cors}access-control-max-age: 600\r\n\r\n`);
    }
    if (method === "tools/call") {
      executed.push(id);
      // The second call ran, and its connection breaks before the answer.
      if (executed.length === 2) return request.close();
      return await request.answer(
        { jsonrpc: "2.0", id, result: { structuredContent: { ran: executed.length } } },
        cors,
      );
    }
    if (method === "initialize") {
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "raw", version: "1" } };
      return await request.answer({ jsonrpc: "2.0", id, result }, `${cors}mcp-session-id: raw-session\r\n`);
    }
    await request.write(`HTTP/1.1 202 Accepted\r\n${cors}content-length: 0\r\n\r\n`);
  });
  const { value, error } = await open({ scenario: "calls", url: server.url });
  assertEquals(error, undefined);
  assertEquals(value, [{ output: { ran: 1 }, generation: 1 }, { output: { ran: 3 }, generation: 1 }]);
  assertEquals(executed.length, 3);
  assertEquals(executed[1], executed[2]);
});
