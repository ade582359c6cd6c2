/**
 * Uses the npm package as its users do: installs the tarball in an empty folder, runs it on Node or Bun, and type-checks
 * a TypeScript program. Argument: `node` or `bun`. Ends with `N passed, N failed`.
 *
 * @module
 */
const ROOT = decodeURIComponent(new URL("../..", import.meta.url).pathname);
const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/** The oldest Node that package.json names, and lines with long-term support beside the one of the machine. */
const NODES = ["20.16.0", "22", "24", "26"];
const PROGRAM_MS = 120_000;
/** How long a server may outlive its program. */
const LEFT_MS = 5_000;

let passed = 0;
let failed = 0;

function report(name: string, problem?: string): void {
  if (problem === undefined) passed++;
  else failed++;
  console.log(problem === undefined ? `ok ${name}` : `not ok ${name}\n${problem.replace(/^/gm, "    ")}`);
}

async function check(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    report(name);
  } catch (error) {
    report(name, error instanceof Error ? error.message : String(error));
  }
}

interface Output {
  code: number;
  stdout: string;
  text: string;
}

async function output(command: string, args: string[], options: Deno.CommandOptions = {}): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args,
    env: { NO_COLOR: "1" },
    stdin: "null",
    signal: AbortSignal.timeout(PROGRAM_MS),
    ...options,
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), text: decode(stdout) + decode(stderr) };
}

async function must(command: string, args: string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { code, stdout, text } = await output(command, args, options);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with code ${code}\n${text}`);
  return stdout.trim();
}

/** Installs; says what npm said, its warnings too. */
async function install(folder: string, packages: string[], env: Record<string, string> = {}): Promise<string> {
  const args = ["install", "--no-audit", "--no-fund", "--prefix", folder, ...packages];
  const { code, text } = await output("npm", args, { cwd: folder, env });
  if (code !== 0) throw new Error(`npm ${args.join(" ")} ended with code ${code}\n${text}`);
  return text;
}

async function newFolder(parent: string, name: string): Promise<string> {
  const folder = `${parent}/${name}`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true, "type": "module" }\n');
  return folder;
}

async function copyInto(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(`${ROOT}tests/reach/consumer`)) {
    await Deno.copyFile(`${ROOT}tests/reach/consumer/${name}`, `${folder}/${name}`);
  }
  await Deno.copyFile(`${ROOT}tests/fixtures/stateful_server.mjs`, `${folder}/stateful_server.mjs`);
  await Deno.copyFile(`${ROOT}docs/examples/node_service.mjs`, `${folder}/service.mjs`);
}

async function isGone(pid: number): Promise<boolean> {
  for (const end = Date.now() + LEFT_MS; Date.now() < end;) {
    try {
      Deno.kill(pid, "SIGCONT");
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}

/** One line of its report is one check of ours. */
async function smoke(runtime: string, program: string, folder: string): Promise<void> {
  const { code, stdout, text } = await output(program, ["smoke.mjs", "stateful_server.mjs", EVERYTHING], {
    cwd: folder,
  });
  const lines = stdout.split("\n").filter((line) => /^(not )?ok /.test(line));
  for (const line of lines) {
    if (line.startsWith("ok ")) report(`${runtime}: ${line.slice(3)}`);
    else report(`${runtime}: ${line.slice(7)}`, text.slice(text.indexOf(line) + line.length).split(/\n(not )?ok /)[0]);
  }
  report(`${runtime}: the smoke test ends by itself`, code === 0 && lines.length > 20 ? undefined : text);
}

async function endsByItself(runtime: string, program: string, folder: string): Promise<void> {
  await check(`${runtime}: a program that leaves an idle session ends by itself, and its server with it`, async () => {
    const pid = Number(await must(program, ["idle.mjs", "stateful_server.mjs"], { cwd: folder }));
    if (!(pid > 1)) throw new Error("the program told no process id");
    if (!await isGone(pid)) throw new Error(`the server ${pid} is left`);
  });
}

/** The example of a service: two requests, one session; SIGTERM ends it and what it started. */
async function service(runtime: string, program: string, folder: string): Promise<void> {
  await check(`${runtime}: the service of the examples shares one session and ends gracefully`, async () => {
    const child = new Deno.Command(program, {
      args: ["service.mjs"],
      cwd: folder,
      env: { PORT: "0", SERVER: JSON.stringify([program, `${folder}/stateful_server.mjs`]) },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
      signal: AbortSignal.timeout(PROGRAM_MS),
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    try {
      const base = (await reader.read()).value?.trim();
      const call = async (name: string, payload: unknown) => {
        const response = await fetch(`${base}/tools/${name}`, { method: "POST", body: JSON.stringify(payload) });
        return (await response.json()).output;
      };
      await call("open_page", { url: "https://example.com/" });
      const { page } = await call("current_page", {});
      if (page !== "https://example.com/") throw new Error(`the page is ${page}`);
      const { pid } = await call("facts", {});
      child.kill("SIGTERM");
      const { code } = await child.status;
      if (code !== 143) throw new Error(`the service ended with code ${code}`);
      if (!await isGone(pid)) throw new Error(`the server ${pid} is left`);
    } finally {
      await reader.cancel();
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended, as it should.
      }
      await child.status;
    }
  });
}

/** The folder of a program with the tarball and what the checks need beside it, installed by the given Node's npm. */
async function consumer(parent: string, name: string, tarball: string, env: Record<string, string> = {}) {
  const folder = await newFolder(parent, name);
  await copyInto(folder);
  const beside = ["@modelcontextprotocol/sdk@1", "@modelcontextprotocol/server-everything", "@opentelemetry/api@1"];
  await install(folder, [tarball, ...beside, "hono@4", "@hono/node-server@2"], env);
  return folder;
}

async function types(folder: string): Promise<void> {
  await install(folder, ["typescript", "@types/node@20"]);
  for (const [module, moduleResolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
    await check(`TypeScript: a program is type-checked under ${moduleResolution}, declarations included`, async () => {
      const lib = ["es2022", "esnext.disposable", "dom", "dom.iterable"];
      const compilerOptions = { module, moduleResolution, target: "es2022", lib, types: ["node"] };
      const checks = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
      const config = `tsconfig.${moduleResolution}.json`;
      const settings = { compilerOptions: { ...compilerOptions, ...checks }, files: ["types.ts"] };
      await Deno.writeTextFile(`${folder}/${config}`, JSON.stringify(settings));
      await must(`${folder}/node_modules/.bin/tsc`, ["--project", config], { cwd: folder });
    });
  }
}

async function withoutPeers(parent: string, tarball: string): Promise<void> {
  await check("npm: the package alone brings three others and serves programs that need no more", async () => {
    const folder = await newFolder(parent, "alone");
    await copyInto(folder);
    const said = await install(folder, [tarball]);
    if (/EBADENGINE/.test(said)) throw new Error(said);
    const lock = JSON.parse(await Deno.readTextFile(`${folder}/package-lock.json`));
    const names = Object.keys(lock.packages).filter((name) => name !== "").length;
    if (names !== 4) throw new Error(`${names} packages`);
    if (!await isGone(Number(await must("node", ["idle.mjs", "stateful_server.mjs"], { cwd: folder })))) {
      throw new Error("the server is left");
    }
  });
}

/** The transports' tests on Node, of the sources. */
async function sourceTests(): Promise<void> {
  const { code, text } = await output(Deno.execPath(), [
    "test",
    "--allow-all",
    `${ROOT}tests/node/stdio.ts`,
    `${ROOT}tests/node/http.ts`,
  ]);
  const counts = /(\d+) passed.* \| (\d+) failed/.exec(text);
  if (code !== 0 || counts === null) return report("the transports' tests on Node", text);
  passed += Number(counts[1]);
  console.log(`ok the transports' tests on Node: ${counts[1]}`);
}

async function onNode(parent: string, tarball: string): Promise<void> {
  await withoutPeers(parent, tarball);
  const own = await must("node", ["--print", "process.execPath"]);
  const folder = await consumer(parent, "node", tarball);
  await types(folder);
  await runOn(own, folder);
  for (const wanted of NODES) {
    const home = await newFolder(parent, `node-${wanted}`);
    await install(home, [`node@${wanted}`]);
    const directory = `${home}/node_modules/node/bin`;
    // npm of the machine, run by that Node: the versions it chooses are those for it. The oldest is too old for it.
    const PATH = `${directory}:${Deno.env.get("PATH")}`;
    const its = wanted === "20.16.0" ? folder : await consumer(parent, `with-${wanted}`, tarball, { PATH });
    await runOn(`${directory}/node`, its);
  }
}

async function runOn(node: string, folder: string): Promise<void> {
  const runtime = `Node ${await must(node, ["--print", "process.versions.node"])}`;
  await smoke(runtime, node, folder);
  await endsByItself(runtime, node, folder);
  await service(runtime, node, folder);
}

async function onBun(parent: string, tarball: string): Promise<void> {
  const folder = await consumer(parent, "bun", tarball);
  const home = await newFolder(parent, "bun-itself");
  await install(home, ["bun"]);
  const bun = `${home}/node_modules/.bin/bun`;
  const runtime = `Bun ${await must(bun, ["--version"])}`;
  await smoke(runtime, bun, folder);
  await endsByItself(runtime, bun, folder);
  await service(runtime, bun, folder);
}

const parent = await Deno.realPath(await Deno.makeTempDir());
try {
  const built = (await must(Deno.execPath(), ["run", "--allow-all", `${ROOT}tools/npm.ts`])).split("\n").at(-1);
  const tarball = `${ROOT}${built}`;
  if (Deno.args[0] === "bun") await onBun(parent, tarball);
  else {
    await sourceTests();
    await onNode(parent, tarball);
  }
} catch (error) {
  report("the run comes to its end", error instanceof Error ? error.message : String(error));
} finally {
  await Deno.remove(parent, { recursive: true });
}
console.log(`${passed} passed, ${failed} failed`);
Deno.exitCode = failed === 0 ? 0 : 1;
