// An MCP server over HTTP of a few lines, on Node's own http: it wants a token, counts its calls for each session and
// can be told to forget its sessions.
import { createServer } from "node:http";

export async function startHttpServer() {
  const sessions = new Map();
  const seen = [];
  let token = "first-token";
  const tools = {
    count: (session) => ({ count: ++session.count }),
    never: () => new Promise(() => {}),
  };

  async function answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const id = request.headers["mcp-session-id"];
    const message = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
    const record = { method: request.method, rpc: message.method, aborted: false };
    seen.push(record);
    response.on("close", () => record.aborted = !response.writableFinished);
    const end = (status, headers = {}, body = undefined) => response.writeHead(status, headers).end(body);
    if (request.headers.authorization !== `Bearer ${token}`) {
      return end(401, { "www-authenticate": 'Bearer error="invalid_token"' });
    }
    if (request.method === "GET") return end(405);
    if (request.method === "DELETE") return end(sessions.delete(id) ? 200 : 404);
    const json = (result, headers = {}) =>
      end(
        200,
        { ...headers, "content-type": "application/json" },
        JSON.stringify({ jsonrpc: "2.0", id: message.id, result }),
      );
    if (message.method === "initialize") {
      const made = `session-${seen.length}`;
      sessions.set(made, { count: 0 });
      const { protocolVersion } = message.params;
      const serverInfo = { name: "counting", version: "1.0.0" };
      return json({ protocolVersion, capabilities: { tools: {} }, serverInfo }, { "mcp-session-id": made });
    }
    if (!sessions.has(id)) return end(404);
    if (message.id === undefined) return end(202);
    json({ content: [], structuredContent: await tools[message.params.name](sessions.get(id)) });
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    seen,
    sessions,
    rotate: (next) => token = next,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
