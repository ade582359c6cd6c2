/**
 * Calls a tool of a server from the `mcpServers` file of a desktop client or an editor.
 *
 *   deno run -A mcp_servers.ts <file.json> <server> <tool> '<arguments as JSON>'
 *
 * @module
 */
import { connectionsFromMcpServers, McpRuntimePool } from "@wf/sources-mcp";

const [file, server, toolName, payload = "{}"] = Deno.args;
const { connections, disabled, problems } = connectionsFromMcpServers(JSON.parse(await Deno.readTextFile(file)), {
  variables: Deno.env.toObject(),
});
for (const { message } of problems) console.error(message);
for (const { id } of disabled) console.error(`${id} is disabled`);

const connection = connections.find(({ provider }) => provider === server);
if (!connection) {
  console.error(`no server ${server}: there are ${connections.map(({ provider }) => provider).join(", ")}`);
  Deno.exit(1);
}
await using pool = new McpRuntimePool();
const { outcome, output } = await pool.callTool(connection, null, toolName, JSON.parse(payload));
console.log(JSON.stringify({ outcome, output }));
