/**
 * The HTTP server of the pool's soak: `http_server.ts <log> <mark> <port>`. Prints its port; each line of its stdin makes
 * it forget its sessions; ends with its stdin.
 *
 * @module
 */
import { events, type Seen, startServer } from "../fixtures/http/server.ts";
import { type SoakArguments, soakTool } from "./tools.ts";

const [log, _mark, port] = Deno.args;
const tool = soakTool(log);

async function call(seen: Seen): Promise<Response> {
  // What it keeps for tests to look at would grow with the soak.
  server.seen.length = 0;
  const { id } = seen.message;
  const args = seen.message.params!.arguments as SoakArguments;
  const answer = await tool(args);
  if (answer === undefined) return events([]);
  const response = { jsonrpc: "2.0", id, ...answer };
  // Half of them as JSON, half as a stream.
  return args.id % 2 === 0 ? Response.json(response) : events([`data: ${JSON.stringify(response)}\n\n`]);
}

const server = startServer({ call }, Number(port));
console.log(new URL(server.url).port);
for await (const _line of Deno.stdin.readable) server.forget();
Deno.exit(0);
