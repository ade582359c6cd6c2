// The server of the stdio benchmarks: answers `initialize` and `tools/call` as fast as a pipe allows; it knows no other.
// `echo` answers with its text; `large` with `length` characters, which are built once.
import process from "node:process";
import { Buffer } from "node:buffer";

const head = Buffer.from('{"result":{"content":[{"type":"text","text":"');
const large = new Map();

function answer({ id, method, params }) {
  if (id === undefined) return;
  const tail = Buffer.from(`"}]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n`);
  if (method === "initialize") {
    const result = {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "bench", version: "1.0.0" },
    };
    process.stdout.write(JSON.stringify({ result, jsonrpc: "2.0", id }) + "\n");
  } else if (method !== "tools/call") {
    const error = { code: -32601, message: `no such method: ${method}` };
    process.stdout.write(JSON.stringify({ error, jsonrpc: "2.0", id }) + "\n");
  } else if (params.name === "large") {
    const { length } = params.arguments;
    if (!large.has(length)) large.set(length, Buffer.alloc(length, "x"));
    process.stdout.write(head);
    process.stdout.write(large.get(length));
    process.stdout.write(tail);
  } else {
    const result = { content: [{ type: "text", text: params.arguments.text }] };
    process.stdout.write(JSON.stringify({ result, jsonrpc: "2.0", id }) + "\n");
  }
}

let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk.toString("latin1")).split("\n");
  rest = lines.pop();
  for (const line of lines) answer(JSON.parse(Buffer.from(line, "latin1").toString()));
});
process.stdin.on("end", () => process.exit(0));
