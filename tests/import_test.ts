import { assertEquals } from "@std/assert";
import { startServer } from "./fixtures/http/server.ts";
import { entryPoints } from "./structure/exports.ts";

const entries = await entryPoints();

/** Runs a program from its text, beside the package's configuration; without permissions but those given. */
async function run(program: string, ...permissions: string[]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--cached-only", ...permissions, "-"],
    cwd: new URL("../", import.meta.url),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return [code, decoder.decode(stdout), decoder.decode(stderr)];
}

for (const [name, file] of Object.entries(entries)) {
  Deno.test(`entry point ${name}: its import works without any permission`, async () => {
    const program = `import ${JSON.stringify(file)}; console.log("imported");`;
    assertEquals(await run(program), [0, "imported\n", ""]);
  });
}

/** Takes away what Deno, Node and Bun add to the web's globals, before anything of the package is loaded. */
const BARE = `for (const name of ["Deno", "process", "Buffer", "global", "setImmediate", "clearImmediate"]) {
  delete globalThis[name];
  if (name in globalThis) throw new Error(name + " is still there");
}
`;

Deno.test("every entry point: its import works where there is neither Deno nor process", async () => {
  // Each in a literal of its own: only such an import needs no permission to read.
  const imports = Object.values(entries).map((file) => `await import(${JSON.stringify(file)});`);
  const program = `${BARE}${imports.join("\n")}\nconsole.log("imported");`;
  assertEquals(await run(program), [0, "imported\n", ""]);
});

Deno.test("McpRuntimePool: without Deno and process HTTP works, and a stdio server is UNSUPPORTED", async () => {
  await using server = startServer();
  const program = `${BARE}const { McpRuntimePool } = await import(${JSON.stringify(entries["."])});
const pool = new McpRuntimePool();
const source = (transport) => ({ id: "bare.test", provider: "bare", account: "test", transport });
const outcomes = [];
for (const a of [1, 2]) {
  const { output, session } = await pool.callTool(source({ kind: "http", url: "${server.url}" }), null, "echo", { a });
  outcomes.push(output, session);
}
const { code, delivery } = await pool.callTool(source({ kind: "stdio", command: "none" }), null, "echo", {})
  .catch((error) => error);
await pool.closeAll();
console.log(JSON.stringify([...outcomes, code, delivery]));`;
  const [code, stdout, stderr] = await run(program, `--allow-net=${new URL(server.url).host}`);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(String(stdout)), [
    { a: 1 },
    { generation: 1 },
    { a: 2 },
    { generation: 1 },
    "UNSUPPORTED",
    "not-sent",
  ]);
  assertEquals([server.of("initialize").length, server.of("DELETE").length], [1, 1]);
});
