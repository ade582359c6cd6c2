import { assertEquals } from "@std/assert";
import { handshake, type RawRequest, startRawServer } from "../fixtures/http/raw_server.ts";
import { connectionTo, startServer } from "../fixtures/http/server.ts";

const pathOf = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);

const node = await new Deno.Command("node", { args: ["--version"] }).output().then(
  ({ success }) => success,
  () => false,
);

/** Runs `two_calls.ts` and the library's own sources on Node, as one JavaScript file. */
async function onNode(url: string): Promise<string[]> {
  const directory = await Deno.makeTempDir();
  try {
    const file = `${directory}/two_calls.mjs`;
    const config = pathOf("../../deno.json");
    const args = ["bundle", "--quiet", "--config", config, "--platform=deno", "-o", file];
    const bundled = await new Deno.Command(Deno.execPath(), {
      args: [...args, pathOf("../fixtures/http/two_calls.ts")],
    }).output();
    assertEquals(bundled.code, 0, new TextDecoder().decode(bundled.stderr));
    const { stdout, stderr } = await new Deno.Command("node", { args: [file, url] }).output();
    return (new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)).trim().split("\n");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test({
  name: "H7 HttpTransport on Node: a pooled connection that is reset runs a call once, delivery unknown",
  ignore: !node,
  async fn() {
    const executed: RawRequest[] = [];
    await using server = startRawServer(async (request) => {
      if (await handshake(request)) return;
      executed.push(request);
      if (executed.length === 2) return request.close();
      await request.answer({ jsonrpc: "2.0", id: request.message.id, result: { structuredContent: { n: 1 } } });
    });
    assertEquals(await onNode(server.url), ['{"n":1}', "HTTP_ERROR unknown"]);
    assertEquals(executed.length, 2);
  },
});

Deno.test({
  name: "H10 HttpTransport on Node: 307 within the origin is followed with method and body",
  ignore: !node,
  async fn() {
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
  },
});

Deno.test({
  name: "HttpTransport on Node: a refused connection is not-sent",
  ignore: !node,
  async fn() {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    listener.close();
    const { transport } = connectionTo(`http://127.0.0.1:${port}/mcp`);
    assertEquals((await onNode(transport.url))[0], "OPEN_FAILED not-sent");
  },
});
