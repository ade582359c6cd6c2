// Leaves an idle session open and returns: the program must end by itself, and its server with it. The `import` needs
// neither the SDK nor OpenTelemetry. Prints the server's process id.
import process from "node:process";
import { McpRuntimePool } from "@wf/sources-mcp";

const pool = new McpRuntimePool();
const transport = { kind: "stdio", command: process.execPath, args: process.argv.slice(2) };
const connection = { id: "stateful.local", provider: "stateful", account: "local", transport };
console.log((await pool.callTool(connection, null, "facts", {})).output.pid);
