/** The examples of docs/examples, run as their readers run them. The Node one is run by `deno task test:node`. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "./transport/file_url.ts";

const pathOf = (relative: string) => fromFileUrl(new URL(relative, import.meta.url));
const SERVER_ARGS = ["run", "--no-config", "--no-lock", "-A", pathOf("./fixtures/stateful_server.mjs")];
const example = (
  name: string,
) => [
  "run",
  "-A",
  "--unstable-no-legacy-abort",
  "--config",
  pathOf("../deno.json"),
  pathOf(`../docs/examples/${name}`),
];

/** Runs the service until `use` is done, ends it with SIGTERM, and gives its exit code. */
async function withService(use: (base: string) => Promise<void>): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: example("deno_service.ts"),
    env: { PORT: "0", SERVER: JSON.stringify([Deno.execPath(), ...SERVER_ARGS]) },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    await use((await reader.read()).value!.trim());
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await reader.cancel();
  }
  return (await child.status).code;
}

async function call(base: string, name: string, payload: unknown) {
  const response = await fetch(`${base}/tools/${name}`, { method: "POST", body: JSON.stringify(payload) });
  return await response.json();
}

Deno.test("18 deno_service.ts: two requests reach the same session, and SIGTERM ends the service and its server", async () => {
  let pid = 0;
  const code = await withService(async (base) => {
    await call(base, "open_page", { url: "https://example.com/" });
    assertEquals((await call(base, "current_page", {})).output, { page: "https://example.com/" });
    pid = (await call(base, "facts", {})).output.pid;
    Deno.kill(pid, "SIGCONT"); // Throws when there is no such process.
  });
  assertEquals(code, 143);
  let alive = true;
  try {
    Deno.kill(pid, "SIGCONT");
  } catch {
    alive = false;
  }
  assertEquals(alive, false);
});

/** Runs the reader of `mcpServers` files on a file that has a good, a disabled and a bad server. */
async function readFile(server: string, toolName: string, payload: unknown) {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const mcpServers = {
      state: { command: "${env:DENO}", args: [...SERVER_ARGS, "${MARK:-none}"], env: { GIVEN: "1" } },
      off: { command: "x", disabled: true },
      bad: { url: "https://example.com/mcp", headers: { Authorization: "Bearer ${NO_SUCH_VARIABLE}" } },
    };
    await Deno.writeTextFile(file, JSON.stringify({ mcpServers }));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...example("mcp_servers.ts"), file, server, toolName, JSON.stringify(payload)],
      env: { DENO: Deno.execPath() },
    }).output();
    return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("mcp_servers.ts: calls a tool of a server of the file, with its variables filled in", async () => {
  const { code, stdout, stderr } = await readFile("state", "facts", {});
  assertEquals(code, 0, stderr);
  const { outcome, output } = JSON.parse(stdout);
  assertEquals([outcome, output.args, output.env.GIVEN], ["ok", ["none"], "1"]);
  assertStringIncludes(stderr, 'server "bad": headers.Authorization: the variable NO_SUCH_VARIABLE is not set');
  assertStringIncludes(stderr, "off.default is disabled");
});

Deno.test("mcp_servers.ts: a server that is not usable is named", async () => {
  const { code, stderr } = await readFile("bad", "x", {});
  assertEquals(code, 1);
  assertStringIncludes(stderr, "no server bad: there are state");
});
