/**
 * A Deno service with one pool: requests that come apart reach the same session of the MCP server behind it, and
 * SIGTERM ends it gracefully.
 *
 *   export SERVER='["deno","run","-A","npm:@modelcontextprotocol/server-everything","stdio"]'
 *   deno run -A --unstable-no-legacy-abort deno_service.ts
 *
 * Without that flag Deno aborts a request's signal after its answer too; calls that are over do not mind, but Deno says so.
 *
 * @module
 */
import {
  closeOnSignals,
  McpRuntimeError,
  McpRuntimePool,
  type McpSourceConnection,
  type ToolExecutor,
} from "@wf/sources-mcp";

/** Answers `POST /tools/<name>` with what the tool says; its arguments are the request's JSON. */
export function handlerOf(
  tools: ToolExecutor,
  connection: McpSourceConnection,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const name = new URLPattern({ pathname: "/tools/:name" }).exec(request.url)?.pathname.groups.name;
    if (request.method !== "POST" || !name) return new Response("not found\n", { status: 404 });
    try {
      // The session is shared; the call is the request's own and ends when its client goes away.
      const options = { signal: request.signal, timeoutMs: 30_000 };
      const { outcome, output } = await tools.callTool(connection, null, name, await request.json(), options);
      return Response.json({ outcome, output });
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      return Response.json({ code: error.code, delivery: error.delivery }, { status: 502 });
    }
  };
}

if (import.meta.main) {
  const [command, ...args] = JSON.parse(Deno.env.get("SERVER")!);
  const connection = {
    id: "tools.main",
    provider: "tools",
    account: "main",
    transport: { kind: "stdio" as const, command, args },
  };
  const pool = new McpRuntimePool();
  const port = Number(Deno.env.get("PORT") ?? 8000);
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port,
    onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`),
  }, handlerOf(pool, connection));
  // The first SIGINT or SIGTERM: no new requests, running ones get their answers, the MCP server ends, the program exits.
  closeOnSignals({
    async closeAll() {
      await server.shutdown();
      await pool.closeAll();
    },
    abort: (reason) => pool.abort(reason),
  });
}
