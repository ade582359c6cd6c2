import { assertEquals, assertStringIncludes } from "@std/assert";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { connectionTo, events, rpcError, startServer } from "../fixtures/http/server.ts";

for (const status of [400, 404, 405]) {
  Deno.test(`HttpTransport: a server of the old HTTP+SSE transport that answers POST with ${status} is UNSUPPORTED`, async () => {
    await using server = startServer({
      request: ({ method }) =>
        method === "GET"
          ? events(["event: endpoint\ndata: /messages?id=1\n\n"], "stay open")
          : new Response("Cannot POST", { status }),
    });
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery, error.status as unknown], ["UNSUPPORTED", "not-sent", status]);
    assertStringIncludes(error.message, `HTTP+SSE transport`);
    assertStringIncludes(error.message, `answered POST with status ${status}: text/plain, Cannot POST`);
    assertEquals(server.seen.map(({ method }) => method), ["POST", "GET"]);
  });
}

const OTHERS: Record<string, [number, () => Response, string]> = {
  "404 and nothing at GET": [404, () => new Response(null, { status: 404 }), "OPEN_FAILED"],
  "400 and a page at GET": [400, () => new Response("<html>"), "OPEN_FAILED"],
  "404 and other events at GET": [404, () => events(["data: hi\n\n"], "stay open"), "OPEN_FAILED"],
  "405 and nothing at GET": [405, () => new Response(null, { status: 404 }), "UNSUPPORTED"],
};

for (const [name, [status, get, code]] of Object.entries(OTHERS)) {
  Deno.test(`HttpTransport: no old server: ${name}`, async () => {
    await using server = startServer({
      request: ({ method }) => method === "GET" ? get() : new Response("no", { status }),
    });
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.status as unknown], [code, status]);
  });
}

Deno.test("HttpTransport: 400 with a JSON-RPC error is a server of today, and no GET follows", async () => {
  await using server = startServer({ request: (seen) => rpcError(seen, -32000, "Bad Request", 400) });
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals(error.code, "OPEN_FAILED");
  assertEquals(server.of("GET").length, 0);
});
