/**
 * A small MCP server that pages of one other origin may use: four tools, a token, and the CORS headers that a browser
 * asks for. Made with the SDK's server.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

/** The token that the demo server takes. */
export const DEMO_TOKEN = "demo";

/** What a server must send so that pages of `origin` can use it. */
const corsHeaders = (origin: string): Record<string, string> => ({
  "access-control-allow-origin": origin,
  "access-control-allow-methods": "POST, GET, DELETE",
  "access-control-allow-headers": "authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id",
  "access-control-expose-headers": "mcp-session-id, www-authenticate",
  "access-control-max-age": "600",
  "vary": "origin",
});

/** One session: what it remembers is lost with it. */
function newServer(): McpServer {
  const server = new McpServer({ name: "demo", version: "1.0.0" });
  const notes: string[] = [];
  server.registerTool("echo", { inputSchema: { message: z.string() } }, ({ message }) => ({
    content: [{ type: "text", text: message }],
    structuredContent: { message },
  }));
  server.registerTool("remember", { inputSchema: { note: z.string() } }, ({ note }) => {
    notes.push(note);
    return { content: [{ type: "text", text: `${notes.length} in this session` }], structuredContent: { notes } };
  });
  server.registerTool(
    "count",
    { inputSchema: { to: z.number().int().min(1).max(100), everyMs: z.number().min(0).max(5_000).default(500) } },
    async ({ to, everyMs }, { signal, sendNotification, _meta }) => {
      for (let progress = 1; progress <= to && !signal.aborted; progress++) {
        await pause(everyMs, signal);
        if (signal.aborted || _meta?.progressToken === undefined) continue;
        const params = { progressToken: _meta.progressToken, progress, total: to, message: `counted ${progress}` };
        await sendNotification({ method: "notifications/progress", params });
      }
      return { content: [{ type: "text", text: `counted to ${to}` }], structuredContent: { to } };
    },
  );
  server.registerTool("fail", {}, () => ({
    isError: true,
    content: [{ type: "text", text: "this tool always fails" }],
  }));
  return server;
}

/** Waits, or returns early when the call is cancelled. */
function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    signal.addEventListener("abort", done);
  });
}

/** The running server. */
export interface DemoServer extends AsyncDisposable {
  url: string;
}

/**
 * Starts the server on a free port of this machine.
 *
 * @param origin whose pages may use it
 */
export function startDemoServer(origin: string): DemoServer {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const open = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await newServer().connect(transport);
    return transport;
  };
  const answer = async (request: Request): Promise<Response> => {
    // A preflight has no credentials: it is answered before they are looked at.
    if (request.method === "OPTIONS") return new Response(null, { status: 204 });
    if (request.headers.get("authorization") !== `Bearer ${DEMO_TOKEN}`) {
      const challenge = 'Bearer error="invalid_token", error_description="the token is wrong"';
      return new Response("wrong token", { status: 401, headers: { "www-authenticate": challenge } });
    }
    const id = request.headers.get("mcp-session-id");
    const transport = id === null ? await open() : sessions.get(id);
    return await transport?.handleRequest(request) ?? new Response("unknown session", { status: 404 });
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const response = await answer(request);
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(corsHeaders(origin))) headers.set(name, value);
    return new Response(response.body, { status: response.status, headers });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    async [Symbol.asyncDispose]() {
      // Answers that are still streams would keep it.
      await Promise.all([...sessions.values()].map((transport) => transport.close()));
      await server.shutdown();
    },
  };
}
