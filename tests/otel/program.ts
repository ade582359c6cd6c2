/** Makes one call with Deno's own OpenTelemetry; collector.ts runs it. */
import { McpRuntimePool } from "../../mod.ts";
import { openTelemetry } from "../../runtime/telemetry.ts";
import { FakeMcpServer } from "../../runtime/testing.ts";

const server = new FakeMcpServer({ tools: { echo: ({ text }) => ({ echoed: text }) } });
await using pool = new McpRuntimePool(server.sessionFactory(), { telemetry: openTelemetry() });
await pool.callTool(server.connection, null, "echo", { text: "hi" });
console.log(JSON.stringify(server.calls[0].meta));
