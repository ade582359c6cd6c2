import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { createTransport } from "../../runtime/transport/mod.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { handshake, startRawServer } from "../fixtures/http/raw_server.ts";
import {
  connectionTo,
  events,
  responseEvent,
  resultOf,
  rpc,
  rpcError,
  type Seen,
  startServer,
} from "../fixtures/http/server.ts";

const poolWith = (options: ConstructorParameters<typeof PersistentSessionFactory>[0] = {}) =>
  new McpRuntimePool(new PersistentSessionFactory(options));

for (const type of ["Application/JSON; charset=UTF-8", "application/json"]) {
  Deno.test(`H4 HttpTransport: reads an answer of type ${type}`, async () => {
    const body = (seen: Seen) => JSON.stringify({ jsonrpc: "2.0", id: seen.message.id, result: resultOf(seen) });
    await using server = startServer({
      call: (seen) => new Response(body(seen), { headers: { "content-type": type } }),
    });
    await using pool = poolWith();
    assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: "é" })).output, { a: "é" });
  });
}

for (const type of ["text/event-stream;charset=utf-8", "Text/Event-Stream"]) {
  Deno.test(`H4 HttpTransport: reads an answer of type ${type}`, async () => {
    await using server = startServer({
      call: (seen) => new Response(responseEvent(seen), { headers: { "content-type": type } }),
    });
    await using pool = poolWith();
    assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: "é" })).output, { a: "é" });
  });
}

Deno.test("H4 HttpTransport: 401 without a content type is rejected credentials", async () => {
  await using server = startServer({ call: () => new Response(null, { status: 401 }) });
  await using pool = poolWith();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery, error.status], ["AUTH_REJECTED", "not-sent", 401]);
});

Deno.test("H4 HttpTransport: an HTML 502 page is shown with status, media type and a short cleaned excerpt", async () => {
  const secret = "s3cret-value-of-a-header";
  const page = `<html>\n<h1>Bad\u0007 Gateway</h1>${secret}${"x".repeat(100_000)}`;
  await using server = startServer({
    call: () => new Response(page, { status: 502, headers: { "content-type": "Text/HTML; charset=utf-8" } }),
  });
  await using pool = poolWith();
  const error = await failureOf(pool.callTool(connectionTo(server.url, { "x-key": secret }), null, "echo", {}));
  assertEquals([error.code, error.delivery, error.status, error.mediaType], [
    "HTTP_ERROR",
    "unknown",
    502,
    "text/html",
  ]);
  assertStringIncludes(error.message, "502: text/html, <html> <h1>Bad Gateway</h1>[redacted]");
  assertLess((error.excerpt as unknown as string).length, 250);
  assert(!Deno.inspect(error).includes(secret));
});

for (const status of [400, 403, 409, 410, 422, 429]) {
  Deno.test(`H4 HttpTransport: status ${status} is an answer, and the session lives on`, async () => {
    let first = true;
    await using server = startServer({
      call: () => first ? (first = false, new Response("no", { status })) : undefined,
    });
    await using pool = poolWith();
    const connection = connectionTo(server.url);
    const error = await failureOf(pool.callTool(connection, null, "echo", {}));
    const expected = status === 403 ? ["AUTH_REJECTED", "not-sent"] : ["HTTP_ERROR", "answered"];
    assertEquals([error.code, error.delivery], expected);
    assertEquals((await pool.callTool(connection, null, "echo", {})).session, { generation: 1 });
  });
}

Deno.test("H4 HttpTransport: an error status with a JSON-RPC error for the request is that error", async () => {
  await using server = startServer({ call: (seen) => rpcError(seen, -32602, "unknown tool", 400) });
  await using pool = poolWith();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery, error.rpcCode], ["PROTOCOL_ERROR", "answered", -32602]);
});

const NO_ANSWER: Record<string, [(seen: Seen) => Response, string]> = {
  "202 without a body": [() => new Response(null, { status: 202 }), "HTTP_ERROR"],
  "204": [() => new Response(null, { status: 204 }), "HTTP_ERROR"],
  "200 with an empty body": [() => new Response(""), "HTTP_ERROR"],
  "200 with HTML": [() => new Response("<html>", { headers: { "content-type": "text/html" } }), "HTTP_ERROR"],
  "JSON that is cut": [
    () => new Response('{"jsonrpc":', { headers: { "content-type": "application/json" } }),
    "PROTOCOL_ERROR",
  ],
  "JSON that is no message": [() => Response.json(42), "PROTOCOL_ERROR"],
  "a response to another request": [() => Response.json({ jsonrpc: "2.0", id: 4711, result: {} }), "PROTOCOL_ERROR"],
  "an event stream without an event": [() => events([]), "HTTP_ERROR"],
};

for (const [name, [call, code]] of Object.entries(NO_ANSWER)) {
  Deno.test(`H9 HttpTransport: rejects at once when the answer is ${name}`, async () => {
    await using server = startServer({ call });
    await using pool = poolWith();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery], [code, "unknown"]);
  });
}

Deno.test("H9 HttpTransport: bodies of responses that need none are released: 202, DELETE, 3xx, 4xx, 5xx", async () => {
  const endless = () => events([": keep\n\n"], "stay open").body;
  await using server = startServer({
    request: ({ message, method }) => {
      if (method === "DELETE") return new Response(endless(), { status: 200 });
      if (message.method === "notifications/initialized") return new Response(endless(), { status: 202 });
    },
    call: ({ message }) => {
      const { status } = message.params?.arguments as { status: number };
      return new Response(endless(), { status, headers: status === 302 ? { location: "/elsewhere" } : {} });
    },
  });
  const pool = poolWith();
  for (const status of [302, 400, 401, 403, 404, 500]) {
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", { status }));
    assertEquals(error.status as unknown, status);
  }
  await pool.closeAll();
  assertEquals(server.of("DELETE").length, 1);
});

const SILENCE: Record<string, (request: { write(text: string): Promise<void> }) => Promise<void> | void> = {
  "no headers": () => {},
  "headers of a JSON answer": ({ write }) =>
    write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n"),
  "half a JSON body": ({ write }) =>
    write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"jsonrpc":"2.0"'),
  "half a chunked JSON body": ({ write }) =>
    write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"j\r\n'),
  "headers of an event stream": ({ write }) =>
    write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"),
};

for (const [name, answer] of Object.entries(SILENCE)) {
  for (const how of ["timeout", "abort"] as const) {
    Deno.test(`H6 HttpTransport: ${name}, then silence: the ${how} rejects the call and the server sees the end`, async () => {
      let reached!: () => void;
      const running = new Promise<void>((resolve) => reached = resolve);
      let gone: Promise<void> | undefined;
      await using server = startRawServer(async (request) => {
        if (await handshake(request)) return;
        await answer(request);
        gone = request.gone;
        reached();
      });
      await using pool = poolWith();
      const controller = new AbortController();
      const options = how === "timeout" ? { timeoutMs: 100 } : { signal: controller.signal };
      const call = pool.callTool(connectionTo(server.url), null, "echo", {}, options);
      call.catch(() => {});
      await running;
      if (how === "timeout") {
        const error = await failureOf(call);
        assertEquals([error.code, error.delivery], ["CALL_TIMEOUT", "unknown"]);
      } else {
        const reason = new Error("not wanted any more");
        controller.abort(reason);
        assertEquals(await call.catch((error) => error), reason);
      }
      await deadline(gone!, 10_000);
    });
  }
}

const MB = 1024 * 1024;
const LARGE: Record<string, (seen: Seen, size: number) => Response> = {
  "JSON with a length": (seen, size) => rpc(seen, { content: [{ type: "text", text: "x".repeat(size) }] }),
  "JSON without a length": (seen, size) => streamed(seen, size, "application/json", "", ""),
  "an event": (seen, size) => streamed(seen, size, "text/event-stream", "data: ", "\n\n"),
};

function streamed(seen: Seen, size: number, type: string, before: string, after: string): Response {
  const text = JSON.stringify({ jsonrpc: "2.0", id: seen.message.id, result: { content: ["x".repeat(size)] } });
  const stream = new Blob([before, text, after]).stream();
  return new Response(stream, { headers: { "content-type": type } });
}

for (const [name, call] of Object.entries(LARGE)) {
  Deno.test(`H11 HttpTransport: MESSAGE_TOO_LARGE for ${name} of 50 MB beyond maxMessageBytes; the session lives on`, async () => {
    let first = true;
    await using server = startServer({ call: (seen) => first ? (first = false, call(seen, 50 * MB)) : undefined });
    await using pool = poolWith({ maxMessageBytes: 10 * MB });
    const connection = connectionTo(server.url);
    const error = await failureOf(pool.callTool(connection, null, "echo", {}));
    assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "answered"]);
    assertStringIncludes(error.message, "10485760 bytes");
    assertEquals((await pool.callTool(connection, null, "echo", {})).session, { generation: 1 });
  });

  Deno.test(`H11 HttpTransport: takes ${name} of 12 MiB within maxMessageBytes`, async () => {
    await using server = startServer({ call: (seen) => call(seen, 12 * MB) });
    await using pool = poolWith();
    const { content } = await pool.callTool(connectionTo(server.url), null, "echo", {});
    assertEquals(JSON.stringify(content[0]).length > 12 * MB, true);
  });
}

Deno.test("H11 HttpTransport: the limit of an event counts bytes, not characters", async () => {
  const text = "€".repeat(500);
  await using server = startServer({ call: (seen) => events([eventOf(seen, text)]) });
  const bytes = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [text] } })).length;
  await using exact = poolWith({ maxMessageBytes: bytes });
  assertEquals((await exact.callTool(connectionTo(server.url), null, "echo", {})).outcome, "ok");
  await using less = poolWith({ maxMessageBytes: bytes - 1 });
  assertEquals((await failureOf(less.callTool(connectionTo(server.url), null, "echo", {}))).code, "MESSAGE_TOO_LARGE");
});

function eventOf(seen: Seen, text: string): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id: seen.message.id, result: { content: [text] } })}\n\n`;
}

Deno.test("H11 HttpTransport: a request beyond maxMessageBytes is not sent", async () => {
  await using server = startServer();
  await using pool = poolWith({ maxMessageBytes: 1_000 });
  const connection = connectionTo(server.url);
  const error = await failureOf(pool.callTool(connection, null, "echo", { text: "x".repeat(1_000) }));
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "not-sent"]);
  assertEquals(server.of("tools/call").length, 0);
});

Deno.test("H11 HttpTransport: a request that no text can hold is not sent", async () => {
  await using server = startServer();
  const transport = createTransport(connectionTo(server.url), null);
  await transport.start();
  const params = { toJSON: () => "x".repeat(2 ** 30) }; // A RangeError, as from arguments of 512 MiB and more.
  const error = await failureOf(transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  assertEquals([error.code, error.delivery, server.seen.length], ["MESSAGE_TOO_LARGE", "not-sent", 0]);
  await transport.close();
});

Deno.test("HttpTransport: takes a batch as an answer, and an id that comes back as text", async () => {
  await using server = startServer({
    call: (seen) =>
      Response.json([
        { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "hi" } },
        { jsonrpc: "2.0", id: String(seen.message.id), result: resultOf(seen) },
      ]),
  });
  await using pool = poolWith();
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: 1 })).output, { a: 1 });
});

Deno.test("HttpTransport: a ping before the answer is answered by a POST of its own", async () => {
  let answered!: () => void;
  const pong = new Promise<void>((resolve) => answered = resolve);
  await using server = startServer({
    request: (seen) => {
      if (seen.method !== "POST" || seen.message.method !== undefined) return undefined;
      answered();
      return new Response(null, { status: 202 });
    },
    call: (seen) => {
      const ping = `data: ${JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping" })}\n\n`;
      const parts = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(ping));
          await pong;
          controller.enqueue(new TextEncoder().encode(responseEvent(seen)));
          controller.close();
        },
      });
      return new Response(parts, { headers: { "content-type": "text/event-stream" } });
    },
  });
  await using pool = poolWith();
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: 1 })).output, { a: 1 });
});
