import { assertEquals, assertLessOrEqual } from "@std/assert";
import { McpRuntimePool } from "../../runtime/pool.ts";
import { connectionTo } from "../fixtures/http/server.ts";

const PACKAGE = "npm:@modelcontextprotocol/server-everything@2026.8.31";

/** A port that was free a moment ago: the server cannot be told to take any. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

/** Starts the server and waits until it says that it listens. */
async function startEverything(port: number): Promise<AsyncDisposable> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", PACKAGE, "streamableHttp"],
    env: { PORT: String(port) },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const decoder = new TextDecoder();
  let said = "";
  let ready!: () => void;
  let failed!: (error: Error) => void;
  const listening = new Promise<void>((resolve, reject) => [ready, failed] = [resolve, reject]);
  const reading = (async () => {
    for await (const chunk of child.stderr) {
      said += decoder.decode(chunk, { stream: true });
      if (said.includes("listening on port")) ready();
    }
    failed(new Error(`the server ended: ${said.slice(-500)}`));
  })();
  await listening;
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await reading;
      await child.status;
    },
  };
}

Deno.test("H8 McpRuntimePool: server-everything is killed and restarted on its port: at most one failed call", async () => {
  const port = freePort();
  await using pool = new McpRuntimePool();
  const connection = connectionTo(`http://127.0.0.1:${port}/mcp`);
  const call = (message: string) => pool.callTool(connection, null, "echo", { message });
  {
    await using _first = await startEverything(port);
    assertEquals((await call("one")).session, { generation: 1 });
  }
  await using _second = await startEverything(port);
  let failures = 0;
  let generation: number | undefined;
  for (let i = 0; i < 5; i++) {
    await call(`after ${i}`).then((result) => generation = result.session?.generation, () => failures++);
  }
  assertLessOrEqual(failures, 1);
  assertEquals(generation, 2);
});
