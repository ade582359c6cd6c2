/** The HTTP transport on Node, whose `fetch` is another. `deno task test:node`. */
import { assertEquals } from "@std/assert";
import { handshake, type RawRequest, startRawServer } from "../fixtures/http/raw_server.ts";
import { startServer } from "../fixtures/http/server.ts";
import { bundle, temporaryDirectory } from "./bundle.ts";

/** Makes two calls to a URL on Node; what came of each. */
async function onNode(url: string): Promise<string[]> {
  await using directory = await temporaryDirectory();
  const file = await bundle("http/two_calls.ts", directory.path);
  const { stdout, stderr } = await new Deno.Command("node", { args: [file, url] }).output();
  return (new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)).trim().split("\n");
}

Deno.test("H7 HttpTransport on Node: a pooled connection that is reset runs a call once, delivery unknown", async () => {
  const executed: RawRequest[] = [];
  await using server = startRawServer(async (request) => {
    if (await handshake(request)) return;
    executed.push(request);
    if (executed.length === 2) return request.close();
    await request.answer({ jsonrpc: "2.0", id: request.message.id, result: { structuredContent: { n: 1 } } });
  });
  assertEquals(await onNode(server.url), ['{"n":1}', "HTTP_ERROR unknown"]);
  assertEquals(executed.length, 2);
});

Deno.test("H10 HttpTransport on Node: 307 within the origin is followed with method and body", async () => {
  await using server = startServer({
    request: ({ path }) =>
      path === "/mcp" ? new Response(null, { status: 307, headers: { location: "/moved" } }) : undefined,
  });
  assertEquals(await onNode(server.url), ["{}", "{}"]);
  assertEquals(server.of("tools/call").map(({ method, path }) => `${method} ${path}`), [
    "POST /mcp",
    "POST /moved",
    "POST /mcp",
    "POST /moved",
  ]);
});

Deno.test("HttpTransport on Node: a refused connection is not-sent", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  assertEquals((await onNode(`http://127.0.0.1:${port}/mcp`))[0], "OPEN_FAILED not-sent");
});
