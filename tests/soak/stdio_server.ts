/**
 * The stdio server of the pool's soak: `stdio_server.ts <log> <mark>`. Ends with its stdin.
 *
 * @module
 */
import { soakTool } from "./tools.ts";

interface Request {
  id?: number;
  method: string;
  // deno-lint-ignore no-explicit-any
  params: any;
}

const tool = soakTool(Deno.args[0]);

function send(id: number, answer: Record<string, unknown>): void {
  const bytes = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\n");
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

async function answer({ id, method, params }: Request): Promise<void> {
  if (id === undefined) return;
  if (method === "tools/call") {
    const answered = await tool(params.arguments);
    // What breaks off here is the process.
    return answered ? send(id, answered) : Deno.exit(0);
  }
  const serverInfo = { name: "soak", version: "1.0.0" };
  const { protocolVersion } = params;
  send(
    id,
    method === "initialize" ? { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } } : {
      result: {},
    },
  );
}

let rest = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  for (const line of lines) void answer(JSON.parse(line));
}
Deno.exit(0);
