/**
 * The bundle in runtimes that are no browser: Deno with one permission, and workerd, the runtime of Cloudflare's
 * Workers. Run by `deno task test:browser`.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { startServer } from "../fixtures/http/server.ts";
import { bundle } from "./bundle.ts";

// Put together here, so that the lock file does not have it: Deno fetches what is in there for every task, and this is
// 155 MB.
const { default: workerd } = await import(["npm:workerd", "1.20261117.1"].join("@"));
// Its program itself: the package's launcher would leave it running when it is ended.
const WORKERD: string = workerd.default;
const script = await bundle(new URL("worker.ts", import.meta.url));
const EXPECTED = [{ output: { a: 1 }, generation: 1 }, { output: { a: 2 }, generation: 1 }];

/** A directory with the bundle in it. */
async function withBundle(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/worker.js`, script);
    await work(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("worker: the bundle runs in Deno with nothing but --allow-net for the host", () =>
  withBundle(async (directory) => {
    await using server = startServer();
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--no-config",
        `--allow-net=${new URL(server.url).host}`,
        `${directory}/worker.js`,
        server.url,
      ],
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), EXPECTED);
    assertEquals(server.of("DELETE").length, 1);
  }));

/** Starts workerd with the bundle on a port of its own. */
async function startWorkerd(directory: string) {
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-11-01",
      globalOutbound = "loopback",
    )),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
  await Deno.writeTextFile(`${directory}/config.capnp`, config);
  const child = new Deno.Command(WORKERD, {
    args: ["serve", "--control-fd=1", `${directory}/config.capnp`],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const port = await portOf(child.stdout);
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}

/** Reads `{"event":"listen","socket":"http","port":…}` and gives the rest up. */
async function portOf(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<number> {
  let text = "";
  for await (const part of stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    const port = /"port":\s*(\d+)/.exec(text);
    if (port) return Number(port[1]);
  }
  throw new Error(`workerd ended without a port: ${text}`);
}

async function inWorkerd(url: string): Promise<unknown> {
  let answer: unknown;
  await withBundle(async (directory) => {
    await using workerd = await startWorkerd(directory);
    answer = await (await fetch(`http://127.0.0.1:${workerd.port}/?${new URLSearchParams({ url })}`)).json();
  });
  return answer;
}

Deno.test("worker: the bundle runs in workerd", async () => {
  await using server = startServer();
  assertEquals(await inWorkerd(server.url), EXPECTED);
  assertEquals(server.of("DELETE").length, 1);
});

Deno.test("worker: workerd follows a redirect within the origin, and refuses one to another", async () => {
  await using other = startServer();
  await using server = startServer({
    request: ({ path }) =>
      path === "/mcp"
        ? new Response(null, { status: 307, headers: { location: "/moved" } })
        : path === "/away"
        ? new Response(null, { status: 307, headers: { location: other.url } })
        : undefined,
  });
  assertEquals(await inWorkerd(server.url), EXPECTED);
  const refused = await inWorkerd(`${server.origin}/away`) as { code: string; message: string };
  assertEquals(refused.code, "OPEN_FAILED");
  assertStringIncludes(refused.message, `another origin, ${other.url}`);
  assertEquals(other.seen.length, 0);
});
