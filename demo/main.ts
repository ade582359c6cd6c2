/**
 * Calls tools of a real MCP server through one pool, over stdio and over HTTP: state that is kept, a configuration that
 * changes, a call that is aborted, and what a kept session saves. Ends by itself.
 *
 * @module
 */
import {
  closeOnSignals,
  McpRuntimePool,
  type McpSourceConnection,
  PersistentSessionFactory,
  type RuntimeEvent,
} from "@wf/sources-mcp";
import { download, startHttpServer, stdioConnection } from "./servers.ts";
import { measure, table } from "./table.ts";

// The servers come from npm through `deno run`, which needs the environment's proxy, certificates and registry.
const factory = new PersistentSessionFactory({ inheritEnv: "all" });

function say(event: RuntimeEvent): void {
  if (!event.type.startsWith("session-")) return;
  console.log(`   ${event.type} ${event.connectionId}, generation ${event.generation}`);
}

async function showState(pool: McpRuntimePool, connection: McpSourceConnection): Promise<void> {
  console.log(`\n${connection.id}: a switch in the server, turned by two calls`);
  for (let call = 1; call <= 2; call++) {
    const { content, session } = await pool.callTool(connection, null, "toggle-simulated-logging", {});
    const said = String(content[0].text).split(" for ")[0].split(",")[0];
    console.log(`   call ${call} on generation ${session?.generation}: "${said}"`);
  }
}

async function showReplacement(pool: McpRuntimePool): Promise<void> {
  console.log("\neverything.stdio: its environment changes, so its session is replaced");
  const { session } = await pool.callTool(stdioConnection("changed"), null, "echo", { message: "hello" });
  console.log(`   answered by generation ${session?.generation}`);
}

async function showAbort(pool: McpRuntimePool, connection: McpSourceConnection): Promise<void> {
  console.log(`\n${connection.id}: a call of 10 s, with progress, aborted at the second step`);
  const controller = new AbortController();
  const call = pool.callTool(connection, null, "trigger-long-running-operation", { duration: 10, steps: 40 }, {
    signal: controller.signal,
    onProgress: ({ progress, total }) => {
      console.log(`   progress ${progress} of ${total}`);
      if (progress >= 2) controller.abort(new Error("seen enough"));
    },
  });
  const reason = await call.then(() => undefined, (error) => error);
  const { session } = await pool.callTool(connection, null, "echo", { message: "still here" });
  console.log(`   rejected with the caller's reason: ${reason?.message}; generation ${session?.generation} goes on`);
}

console.log("Getting @modelcontextprotocol/server-everything from npm (the first time takes a while) …");
await download((seconds) => console.log(`   ${seconds} s`));
console.log("Starting its HTTP mode …");
await using server = await startHttpServer();
{
  await using pool = new McpRuntimePool(factory, { onEvent: say });
  closeOnSignals(pool);
  for (const connection of [stdioConnection("first"), server.connection]) await showState(pool, connection);
  await showReplacement(pool);
  await showAbort(pool, server.connection);
  console.log("\nclosing the pool");
}
console.log("\nMeasuring: first call, next calls, and a session for each call …");
const rows = [];
for (const connection of [stdioConnection("measured"), server.connection]) {
  rows.push(await measure(factory, connection));
}
console.log("\n" + table(rows));
