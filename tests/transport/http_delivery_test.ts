import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { handshake, startRawServer } from "../fixtures/http/raw_server.ts";
import { connectionTo, startServer } from "../fixtures/http/server.ts";

Deno.test("H7 HttpTransport: a pooled connection that is reset runs a call once, delivery unknown", async () => {
  let executions = 0;
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    executions++;
    if (executions === 2) return request.close();
    await request.answer({ jsonrpc: "2.0", id: request.message.id, result: { structuredContent: { executions } } });
  });
  await using pool = new McpRuntimePool();
  const connection = connectionTo(server.url);
  assertEquals((await pool.callTool(connection, null, "commit", {})).output, { executions: 1 });
  const error = await failureOf(pool.callTool(connection, null, "commit", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "unknown"]);
  const calls = server.seen.filter(({ message }) => message.method === "tools/call");
  // The second came over the connection of the first: that is the case in which fetch may send again by itself.
  assertEquals(calls[1].connection, calls[0].connection);
  assertEquals(executions, 2);
});

Deno.test("HttpTransport: a refused TCP connection is not-sent", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(`http://127.0.0.1:${port}/mcp`), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["OPEN_FAILED", "not-sent"]);
  assertStringIncludes(error.message, "refused");
});

Deno.test("HttpTransport: a call whose server is gone is not-sent", async () => {
  const server = startServer();
  const pool = new McpRuntimePool(new PersistentSessionFactory({ closeTimeoutMs: 1_000 }));
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  await server[Symbol.asyncDispose]();
  // The first call may still be written to the old connection, which nobody reads any more.
  await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "not-sent"]);
  await pool.closeAll();
});

const NODE_FAILURES: [syscall: string, delivery: string, runs: number][] = [["connect", "not-sent", 0], [
  "read",
  "unknown",
  1,
]];
for (const [syscall, delivery, runs] of NODE_FAILURES) {
  Deno.test(`HttpTransport: a host that cannot be reached any more at ${syscall} is told ${delivery}`, async () => {
    await using server = startServer();
    const fetch = async (input: string, init: RequestInit) => {
      if (server.of("notifications/initialized").length === 0 || !init.body) return await globalThis.fetch(input, init);
      // A read fails once the request is out; a connect before.
      if (syscall === "read") await (await globalThis.fetch(input, init)).body?.cancel();
      const cause = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: "EHOSTUNREACH", syscall });
      throw new TypeError("fetch failed", { cause });
    };
    await using pool = new McpRuntimePool(new PersistentSessionFactory({ fetch }));
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "commit", {}));
    assertEquals([error.code, error.delivery, server.of("tools/call").length], ["HTTP_ERROR", delivery, runs]);
  });
}

Deno.test("HttpTransport: every request body is a Blob, and one POST carries one message", async () => {
  await using server = startServer();
  const bodies: unknown[] = [];
  const fetch = (input: string, init: RequestInit) => {
    if (init.method === "POST") bodies.push(init.body);
    return globalThis.fetch(input, init);
  };
  await using pool = new McpRuntimePool(new PersistentSessionFactory({ fetch }));
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  assertEquals(bodies.length, 3);
  assert(bodies.every((body) => body instanceof Blob));
});

for (const code of ["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]) {
  Deno.test(`HttpTransport: ${code} of Node's fetch is explained with its limit`, async () => {
    await using server = startServer();
    const fetch = (input: string, init: RequestInit) => {
      const failure = new TypeError("fetch failed", { cause: Object.assign(new Error("Timeout Error"), { code }) });
      return init.body && server.of("notifications/initialized").length > 0
        ? Promise.reject(failure)
        : globalThis.fetch(input, init);
    };
    await using pool = new McpRuntimePool(new PersistentSessionFactory({ fetch }));
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery], ["HTTP_ERROR", "unknown"]);
    assertStringIncludes(error.message, "300 s");
  });
}

Deno.test("HttpTransport: what fetch throws shows neither query nor user info", async () => {
  const fetch = () =>
    Promise.reject(new TypeError("error sending request for url (http://u:pw-secret@h/mcp?k=key-secret)"));
  await using pool = new McpRuntimePool(new PersistentSessionFactory({ fetch }));
  const error = await failureOf(pool.callTool(connectionTo("http://u:pw-secret@h/mcp?k=key-secret"), null, "echo", {}));
  const shown = Deno.inspect(error, { depth: 10 }) + JSON.stringify(error) + error.stack;
  assert(!shown.includes("pw-secret") && !shown.includes("key-secret"), shown);
});
