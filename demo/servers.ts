/**
 * The demo's servers: `@modelcontextprotocol/server-everything` from npm, over stdio and over HTTP, on this Deno.
 *
 * @module
 */
import type { McpSourceConnection } from "@wf/sources-mcp";

const SERVER = "npm:@modelcontextprotocol/server-everything@2026.8.31";
const DOWNLOAD_LIMIT_MS = 300_000;
const START_LIMIT_MS = 30_000;

/** Gets the server and what it needs from npm, so that the times measured later are those of sessions. */
export async function download(onSecond: (seconds: number) => void): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", SERVER],
    stdin: "null",
    stdout: "null",
    signal: AbortSignal.timeout(DOWNLOAD_LIMIT_MS),
  }).spawn();
  let seconds = 0;
  const ticking = setInterval(() => onSecond(++seconds), 1_000);
  try {
    const { success, code } = await child.status;
    if (!success) throw new Error(`could not get ${SERVER} from npm: deno cache ended with code ${code}`);
  } finally {
    clearInterval(ticking);
  }
}

/** The server as a child process. Each `label` is a configuration of its own. */
export function stdioConnection(label: string): McpSourceConnection {
  return {
    id: "everything.stdio",
    provider: "everything",
    account: "stdio",
    transport: {
      kind: "stdio",
      command: Deno.execPath(),
      args: ["run", "--allow-all", "--quiet", SERVER, "stdio"],
      env: { DEMO_LABEL: label },
    },
  };
}

/** Starts the server on a free port of this machine; whoever got it ends it. */
export async function startHttpServer(): Promise<AsyncDisposable & { connection: McpSourceConnection }> {
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", SERVER, "streamableHttp"],
    env: { PORT: String(port) },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  const end = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await reader.cancel();
    await child.status;
  };
  try {
    await waitFor(reader, "listening on port");
  } catch (error) {
    await end();
    throw error;
  }
  const url = `http://127.0.0.1:${port}/mcp`;
  return {
    connection: { id: "everything.http", provider: "everything", account: "http", transport: { kind: "http", url } },
    [Symbol.asyncDispose]: end,
  };
}

async function waitFor(reader: ReadableStreamDefaultReader<string>, text: string): Promise<void> {
  let said = "";
  const timer = setTimeout(() => reader.cancel(), START_LIMIT_MS);
  try {
    while (!said.includes(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the HTTP server did not start within ${START_LIMIT_MS} ms: ${said.slice(-500)}`);
      said += value;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** A port that was free a moment ago: the server cannot be told to take any. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
