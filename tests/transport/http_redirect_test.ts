import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { redirectStep } from "../../runtime/transport/redirect.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { connectionTo, startServer, type TestServer } from "../fixtures/http/server.ts";

function redirecting(status: number, location: (server: TestServer, path: string) => string | undefined): TestServer {
  const server: TestServer = startServer({
    request: (seen) => {
      const target = location(server, seen.path);
      return target === undefined ? undefined : new Response(null, { status, headers: { location: target } });
    },
  });
  return server;
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`H10 HttpTransport: ${status} to another origin is refused, and the other origin sees nothing`, async () => {
    await using other = startServer();
    await using server = redirecting(status, () => `${other.url}?token=s3cret-in-location`);
    await using pool = new McpRuntimePool();
    const headers = { authorization: "Bearer s3cret" };
    const error = await failureOf(pool.callTool(connectionTo(server.url, headers), null, "echo", {}));
    assertEquals([error.code, error.status as unknown], ["OPEN_FAILED", status]);
    assertStringIncludes(error.message, `another origin, ${other.url}`);
    assert(!error.message.includes("s3cret-in-location"));
    assertEquals(other.seen.length, 0);
    assertEquals(server.seen.length, 1);
  });
}

for (const status of [307, 308]) {
  Deno.test(`H10 HttpTransport: ${status} within the origin is followed with method, body and headers`, async () => {
    await using server = redirecting(status, (_, path) => path === "/mcp" ? "/moved/mcp" : undefined);
    const pool = new McpRuntimePool();
    const result = await pool.callTool(connectionTo(server.url, { "x-key": "abc" }), null, "echo", { a: 1 });
    assertEquals(result.output, { a: 1 });
    await pool.closeAll();
    const calls = server.of("tools/call");
    assertEquals(calls.map(({ method, path, headers }) => [method, path, headers.get("x-key")]), [
      ["POST", "/mcp", "abc"],
      ["POST", "/moved/mcp", "abc"],
    ]);
    assertEquals(server.of("DELETE").map(({ path }) => path), ["/mcp", "/moved/mcp"]);
  });
}

for (const status of [301, 302, 303]) {
  Deno.test(`H10 HttpTransport: ${status} never turns POST into GET`, async () => {
    await using server = redirecting(status, (_, path) => path === "/mcp" ? "/moved" : undefined);
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.status as unknown], ["OPEN_FAILED", status]);
    assertEquals(server.seen.map(({ method, path }) => [method, path]), [["POST", "/mcp"]]);
  });
}

Deno.test("H10 HttpTransport: a loop of redirects ends after five", async () => {
  await using server = redirecting(307, (_, path) => path);
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertStringIncludes(error.message, "redirected more than 5 times");
  assertEquals(server.seen.length, 6);
});

Deno.test("H10 HttpTransport: a call that is redirected elsewhere is answered, and the session lives on", async () => {
  let first = true;
  await using other = startServer();
  await using server = startServer({
    call: () =>
      first ? (first = false, new Response(null, { status: 307, headers: { location: other.url } })) : undefined,
  });
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "answered"]);
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", {})).session, { generation: 1 });
  assertEquals(other.seen.length, 0);
});

Deno.test("redirectStep: origin, method and user info", () => {
  const from = "https://a.example/mcp";
  const table: [number, string | null, string][] = [
    [307, "/x", "https://a.example/x"],
    [308, "//a.example/x#frag", "https://a.example/x"],
    [307, "https://user:pw@a.example/x", "https://a.example/x"],
    [307, "http://a.example/x", "refused"],
    [307, "https://a.example:8443/x", "refused"],
    [307, "https://a.example.evil/x", "refused"],
    [307, "https://a.example@evil.example/x", "refused"],
    [307, "javascript:alert(1)", "refused"],
    [307, "http://[", "refused"],
    [307, null, "refused"],
    [302, "/x", "refused"],
  ];
  for (const [status, location, expected] of table) {
    const step = redirectStep(status, location, from);
    assertEquals("url" in step ? step.url : "refused", expected, `${status} ${location}`);
  }
});
