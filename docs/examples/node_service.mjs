// A Node service (Hono) with one pool: two requests reach the same session of the MCP server behind it.
//
//   npm install @wf/sources-mcp hono @hono/node-server
//   SERVER='["npx","-y","@modelcontextprotocol/server-everything"]' node service.mjs
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import process from "node:process";
import { closeOnSignals, McpRuntimeError, McpRuntimePool } from "@wf/sources-mcp";

const [command, ...args] = JSON.parse(process.env.SERVER);
const connection = {
  id: "tools.main",
  provider: "tools",
  account: "main",
  transport: { kind: "stdio", command, args },
};

const pool = new McpRuntimePool();
const app = new Hono();

app.post("/tools/:name", async (context) => {
  const payload = await context.req.json();
  try {
    // The session is shared, the call is the request's own: it ends when the client goes away.
    const options = { signal: context.req.raw.signal, timeoutMs: 30_000 };
    const { outcome, output } = await pool.callTool(connection, null, context.req.param("name"), payload, options);
    return context.json({ outcome, output });
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return context.json({ code: error.code, delivery: error.delivery }, 502);
  }
});

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 8000) }, (address) => {
  console.log(`http://127.0.0.1:${address.port}`);
});

// The first SIGINT or SIGTERM takes no new requests, lets running calls finish, ends the MCP server and exits.
closeOnSignals({
  async closeAll() {
    server.close();
    await pool.closeAll();
  },
  abort: (reason) => pool.abort(reason),
});
