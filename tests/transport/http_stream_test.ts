import { assertEquals, assertGreaterOrEqual, assertLess, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { PersistentSessionFactory } from "../../runtime/factory.ts";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { handshake, type RawRequest, startRawServer } from "../fixtures/http/raw_server.ts";
import { connectionTo, events, responseEvent, type Seen, startServer } from "../fixtures/http/server.ts";

const EVENTS = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const progress = (id: string) => `id: ${id}\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n`;

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const BREAKS: Record<string, (request: RawRequest) => Promise<void>> = {
  "ends before any event": ({ write }) => write(`${EVENTS}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
  "ends after a comment": ({ write }) =>
    write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk(": hello\n\n")}0\r\n\r\n`),
  "breaks before any event": ({ write, close }) => write(`${EVENTS}transfer-encoding: chunked\r\n\r\n`).then(close),
  "breaks in the middle of the answer": ({ write, close }) =>
    write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk('data: {"jsonrpc":"2.0","id":1,"resu')}`).then(close),
  "ends in the middle of an event with an id": ({ write }) =>
    write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk('id: 7\ndata: {"jsonrpc"')}0\r\n\r\n`),
  "breaks without a length": ({ write, close }) => write(`${EVENTS}\r\n: hello\n\n`).then(close),
};

for (const [name, answer] of Object.entries(BREAKS)) {
  Deno.test(`H5 HttpTransport: a stream that ${name} rejects the call at once, delivery unknown`, async () => {
    await using server = startRawServer(async (request) => {
      if (!await handshake(request)) await answer(request);
    });
    await using pool = new McpRuntimePool();
    const started = performance.now();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertLess(performance.now() - started, 5_000);
    assertEquals([error.code, error.delivery], ["HTTP_ERROR", "unknown"]);
    assertEquals(server.seen.filter(({ line }) => line.startsWith("GET")).length, 0);
    assertEquals(server.seen.filter(({ message }) => message.method === "tools/call").length, 1);
  });
}

/** A server whose calls are answered by streams that end early, and whose GETs resume them. */
function resumable(first: readonly string[], resume: (get: Seen, call: Seen, count: number) => Response) {
  const server = startServer({
    request: (seen) =>
      seen.method === "GET" ? resume(seen, server.of("tools/call").at(-1)!, server.of("GET").length) : undefined,
    call: () => events(first),
  });
  return server;
}

Deno.test("H5 HttpTransport: a stream with an event id is resumed with Last-Event-ID", async () => {
  await using server = resumable(
    ["retry: 1\nid: a-1\ndata:\n\n", progress("a-2")],
    (_, call) => events([responseEvent(call, "a-3")]),
  );
  await using pool = new McpRuntimePool();
  const result = await pool.callTool(connectionTo(server.url), null, "echo", { a: 1 });
  assertEquals(result.output, { a: 1 });
  assertEquals(server.of("GET").map(({ headers }) => headers.get("last-event-id")), ["a-2"]);
  const { headers } = server.of("GET")[0];
  assertEquals(headers.get("accept"), "text/event-stream");
  assertEquals(headers.get("mcp-session-id"), "session-1");
  assertEquals(headers.get("mcp-protocol-version"), "2025-11-25");
  assertEquals(server.of("tools/call").length, 1);
});

Deno.test("H5 HttpTransport: a stream that broke after an event id is resumed", async () => {
  let call: RawRequest | undefined;
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    if (request.line.startsWith("GET")) {
      const data = JSON.stringify({ jsonrpc: "2.0", id: call!.message.id, result: { structuredContent: { a: 1 } } });
      return await request.write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk(`data: ${data}\n\n`)}0\r\n\r\n`);
    }
    call = request;
    await request.write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk("retry: 1\nid: 7\ndata:\n\n")}`);
    request.close();
  });
  await using pool = new McpRuntimePool();
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", {})).output, { a: 1 });
  assertEquals(server.seen.find(({ line }) => line.startsWith("GET"))?.headers.get("last-event-id"), "7");
});

Deno.test("H5 HttpTransport: a call keeps the program alive while the resumption of its stream is waited for", async () => {
  let id: number | undefined;
  const lastOne = `${EVENTS}connection: close\r\n\r\n`;
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    id ??= request.message.id;
    const data = JSON.stringify({ jsonrpc: "2.0", id, result: { structuredContent: { a: 1 } } });
    await request.write(
      request.line.startsWith("GET") ? `${lastOne}data: ${data}\n\n` : `${lastOne}retry: 300\nid: 7\ndata:\n\n`,
    );
    request.close();
  });
  const pathOf = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      `--config=${pathOf("../../deno.json")}`,
      "--allow-net",
      pathOf("../fixtures/http/waiting_call.ts"),
      server.url,
    ],
  }).output();
  assertEquals(new TextDecoder().decode(stdout).trim(), '{"a":1}');
});

Deno.test("H5 HttpTransport: an event id beyond ASCII goes back as UTF-8", async () => {
  await using server = resumable(["retry: 1\nid: é-1\ndata:\n\n"], (_, call) => events([responseEvent(call)]));
  await using pool = new McpRuntimePool();
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  const value = server.of("GET")[0].headers.get("last-event-id")!;
  assertEquals(new TextDecoder().decode(Uint8Array.from(value, (char) => char.charCodeAt(0))), "é-1");
});

Deno.test("H5 HttpTransport: waits as long as retry says before resuming", async () => {
  let ended = 0;
  let resumed = 0;
  await using server = resumable(["retry: 300\nid: 1\ndata:\n\n"], (_, call) => {
    resumed = performance.now();
    return events([responseEvent(call)]);
  });
  await using pool = new McpRuntimePool();
  const call = pool.callTool(connectionTo(server.url), null, "echo", {});
  call.catch(() => {});
  ended = performance.now();
  await call;
  assertGreaterOrEqual(resumed - ended, 300);
});

Deno.test("H5 HttpTransport: a stream is resumed five times in vain, then the call is rejected", async () => {
  await using server = resumable(
    ["retry: 1\nid: 1\ndata:\n\n"],
    (_get, _call, count) => events([`id: ${count + 1}\ndata:\n\n`]),
  );
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "unknown"]);
  assertStringIncludes(error.message, "resumed 5 times in vain");
  assertEquals(server.of("GET").length, 5);
  assertEquals(server.of("tools/call").length, 1);
});

Deno.test("H5 HttpTransport: a message on a resumed stream starts the count of resumptions anew", async () => {
  await using server = resumable(
    ["retry: 1\nid: 1\ndata:\n\n"],
    (_, call, count) => events([count < 9 ? progress(`p${count}`) : responseEvent(call)]),
  );
  await using pool = new McpRuntimePool();
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: 1 })).output, { a: 1 });
  assertEquals(server.of("GET").length, 9);
});

for (
  const [status, code] of [[405, "HTTP_ERROR"], [400, "HTTP_ERROR"], [500, "HTTP_ERROR"], [
    404,
    "SESSION_LOST",
  ]] as const
) {
  Deno.test(`H5 HttpTransport: a resumption refused with ${status} rejects the call, delivery unknown`, async () => {
    await using server = resumable(["retry: 1\nid: 1\ndata:\n\n"], () => new Response("no", { status }));
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery, error.status as unknown], [code, "unknown", status]);
    assertEquals(server.of("GET").length, 1);
    assertEquals(server.of("tools/call").length, 1);
  });
}

Deno.test("H5 HttpTransport: a resumption that cannot connect is tried again, and never called not-sent", async () => {
  await using server = resumable(["retry: 1\nid: 1\ndata:\n\n"], (_, call) => events([responseEvent(call)]));
  let gets = 0;
  const fetch = (input: string, init: RequestInit) => {
    if (init.method !== "GET") return globalThis.fetch(input, init);
    gets++;
    return Promise.reject(
      new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
    );
  };
  await using pool = new McpRuntimePool(new PersistentSessionFactory({ fetch }));
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["HTTP_ERROR", "unknown"]);
  assertEquals(gets, 5);
});

Deno.test("H5 HttpTransport: credentials refused at a resumption do not make the call not-sent", async () => {
  await using server = resumable(["retry: 1\nid: 1\ndata:\n\n"], () => new Response("no", { status: 401 }));
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["AUTH_REJECTED", "unknown"]);
});

Deno.test("H5 HttpTransport: an empty event id takes the id back, so the stream is not resumed", async () => {
  await using server = resumable(["id: 1\ndata:\n\n", "id:\ndata:\n\n"], (_, call) => events([responseEvent(call)]));
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals(error.delivery, "unknown");
  assertEquals(server.of("GET").length, 0);
});

Deno.test("H5 HttpTransport: a call that times out while its stream waits for resumption ends the exchange", async () => {
  await using server = resumable(["retry: 20000\nid: 1\ndata:\n\n"], (_, call) => events([responseEvent(call)]));
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}, { timeoutMs: 100 }));
  assertEquals(error.code, "CALL_TIMEOUT");
  await pool.closeAll();
  assertEquals(server.of("GET").length, 0);
});

Deno.test("H2 HttpTransport: a resumption that is never answered ends with its call", async () => {
  let gone: Promise<void> | undefined;
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    if (request.line.startsWith("GET")) gone = request.gone;
    else {
      await request.write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk("retry: 1\nid: 1\ndata:\n\n")}0\r\n\r\n`);
    }
  });
  await using pool = new McpRuntimePool();
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}, { timeoutMs: 300 }));
  assertEquals([error.code, error.delivery], ["CALL_TIMEOUT", "unknown"]);
  await deadline(gone!, 10_000);
});

Deno.test("HttpTransport: a stream that stays open after the answer is ended by the client", async () => {
  let gone: Promise<void> | undefined;
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    const data = JSON.stringify({ jsonrpc: "2.0", id: request.message.id, result: { structuredContent: {} } });
    await request.write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk(`data: ${data}\n\n`)}`);
    gone = request.gone;
  });
  await using pool = new McpRuntimePool();
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  await deadline(gone!, 10_000);
});

Deno.test("HttpTransport: sequential event answers reuse the connection", async () => {
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    const data = JSON.stringify({ jsonrpc: "2.0", id: request.message.id, result: { structuredContent: {} } });
    await request.write(`${EVENTS}transfer-encoding: chunked\r\n\r\n${chunk(`data: ${data}\n\n`)}0\r\n\r\n`);
  });
  await using pool = new McpRuntimePool();
  for (let i = 0; i < 20; i++) await pool.callTool(connectionTo(server.url), null, "echo", {});
  // Two, since the next call may begin while the end of a stream is still on its way.
  assertLess(new Set(server.seen.map(({ connection }) => connection)).size, 4);
});

const forgotten = (call: Seen) => {
  const error = { code: -32001, message: "Session terminated" };
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id: call.message.id, error })}\n\n`;
};
const BEGUN: Record<string, () => ReturnType<typeof startServer>> = {
  "after its progress": () => {
    const token = (call: Seen) => (call.message.params as { _meta: { progressToken: number } })._meta.progressToken;
    const report = (call: Seen) => ({
      method: "notifications/progress",
      params: { progressToken: token(call), progress: 1 },
    });
    const data = (call: Seen) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...report(call) })}\n\n`;
    return startServer({ call: (call) => events([data(call), forgotten(call)]) });
  },
  "on a resumed stream": () => resumable(["retry: 1\nid: 7\ndata:\n\n"], (_, call) => events([forgotten(call)])),
};
for (const [when, start] of Object.entries(BEGUN)) {
  Deno.test(`H15 HttpTransport: a call whose session ends ${when} may have run and is not sent again`, async () => {
    await using server = start();
    await using pool = new McpRuntimePool();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "commit", {}));
    assertEquals([error.code, error.delivery], ["SESSION_LOST", "unknown"]);
    assertEquals(server.of("tools/call").length, 1);
  });
}

for (
  const [name, feed] of [
    ["LF", "event: message\ndata: DATA\n\n"],
    ["CRLF", "event: message\r\ndata: DATA\r\n\r\n"],
    ["CR", "event: message\rdata: DATA\r\r"],
    ["a byte order mark", "\ufeffdata: DATA\n\n"],
    ["no space after the colon", "data:DATA\n\n"],
    ["data in several lines", "data: DATA1\ndata: DATA2\n\n"],
    ["events of other types before", "event: endpoint\ndata: /x\n\n: comment\n\ndata: not json\n\ndata: DATA\n\n"],
  ] as const
) {
  Deno.test(`HttpTransport: reads events with ${name}, one byte at a time`, async () => {
    await using server = startServer({
      call: (seen) => {
        const result = { structuredContent: { text: "—🙂é" } };
        const json = JSON.stringify({ jsonrpc: "2.0", id: seen.message.id, result }, null, 1).replaceAll("\n", " ");
        const [one, two] = [json.slice(0, json.indexOf(",") + 1), json.slice(json.indexOf(",") + 1)];
        const text = feed.replace("DATA1", one).replace("DATA2", two).replace("DATA", json);
        const bytes = new TextEncoder().encode(text);
        let at = 0;
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            if (at === bytes.length) controller.close();
            else controller.enqueue(bytes.subarray(at, ++at));
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    });
    await using pool = new McpRuntimePool(new PersistentSessionFactory());
    assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", {})).output, { text: "—🙂é" });
  });
}
