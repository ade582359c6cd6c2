/**
 * Builds the npm package out of the sources: `deno pack` makes the files, this completes its package.json, looks the
 * result through, and leaves `dist/wf-sources-mcp-<version>.tgz`. Prints the path last.
 *
 * @module
 */
interface Manifest {
  name: string;
  version: string;
  exports: Record<string, string | { types: string; import: string; default: string }>;
  dependencies: Record<string, string>;
  [field: string]: unknown;
}

const ROOT = decodeURIComponent(new URL("..", import.meta.url).pathname);
const DIST = `${ROOT}dist/`;

/**
 * Where npm has more than one major version that will do. Newer ones want a newer Node than we do, and npm takes the
 * newest that the Node at hand may run.
 */
const RANGES: Record<string, (range: string) => string> = {
  "@noble/hashes": (range) => `^1.8.0 || ${range}`,
  "eventsource-parser": (range) => `^3.1.1 || ${range}`,
};
/** Only `./oauth` and `./telemetry` need them, and who uses those entry points has them. */
const OPTIONAL_PEERS = ["@modelcontextprotocol/sdk", "@opentelemetry/api"];

const ADDED = {
  description: "Persistent MCP client sessions for tool calls: one live session per connection, its state kept " +
    "between calls, and every failure says whether the tool may have run.",
  keywords: ["mcp", "model-context-protocol", "client", "session", "pool", "tools", "stdio", "streamable-http"],
  engines: { node: ">=20.16" },
  sideEffects: false,
};

/** What Node 20 cannot read or does not have. The lines looked at are code, not comments. */
const AFTER_NODE_20 = [
  /\b(?:await\s+)?using\s+[\w$]+\s*=/,
  /\bimport\s+(?:defer|source)\b/,
  /\b(?:Async)?DisposableStack\b/,
  /\bPromise\.(?:withResolvers|try)\b/,
  /\b(?:Array|Iterator)\.fromAsync\b|\bIterator\.from\b/,
  /\b(?:Object|Map)\.groupBy\b/,
  /\bError\.isError\b|\bRegExp\.escape\b|\bURL\.parse\b/,
  /\.(?:union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\(/,
  /\.(?:keys|values|entries)\(\)\.(?:map|filter|take|drop|flatMap|reduce|toArray|forEach|some|every|find)\(/,
  /\bUint8Array\.from(?:Base64|Hex)\b|\.to(?:Base64|Hex)\(/,
  /\(\?[ims]*-?[ims]+:/,
];

async function run(command: string, args: string[], cwd = ROOT): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, cwd, env: { NO_COLOR: "1" } }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${command} ${args[0]} failed\n${text}${new TextDecoder().decode(stderr)}`);
  return text.trim();
}

function complete(manifest: Manifest): Manifest {
  const { name, version, dependencies, exports, ...more } = manifest;
  const ranges = Object.entries(dependencies).map(([name, range]) => [name, RANGES[name]?.(range) ?? range]);
  const peers = ranges.filter(([name]) => OPTIONAL_PEERS.includes(name));
  return {
    name,
    version,
    ...ADDED,
    ...more,
    exports: { ...exports, "./package.json": "./package.json" },
    dependencies: Object.fromEntries(ranges.filter(([name]) => !OPTIONAL_PEERS.includes(name))),
    peerDependencies: Object.fromEntries(peers),
    peerDependenciesMeta: Object.fromEntries(peers.map(([name]) => [name, { optional: true }])),
  };
}

async function* filesOf(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (isDirectory) yield* filesOf(`${directory}/${name}`);
    else yield `${directory}/${name}`;
  }
}

/** What must not be in the package, each with the file and line. */
async function misfits(directory: string, manifest: Manifest): Promise<string[]> {
  const found: string[] = [];
  const machine = [ROOT.slice(0, -1), Deno.env.get("HOME"), "file:///"].filter((path) => path && path.length > 1);
  const files = new Set<string>();
  for await (const path of filesOf(directory)) {
    const name = path.slice(directory.length + 1);
    files.add(`./${name}`);
    (await Deno.readTextFile(path)).split("\n").forEach((line, index) => {
      const at = `${name}:${index + 1}`;
      for (const path of machine) if (line.includes(path!)) found.push(`${at}: names ${path}`);
      if (!name.endsWith(".js") || /^\s*(?:\/\*|\*|\/\/)/.test(line)) return;
      for (const syntax of AFTER_NODE_20) if (syntax.test(line)) found.push(`${at}: not in Node 20: ${line.trim()}`);
    });
  }
  for (const [entry, target] of Object.entries(manifest.exports)) {
    const targets = typeof target === "string" ? [target] : Object.values(target);
    for (const file of targets) if (!files.has(file)) found.push(`${entry}: there is no ${file}`);
  }
  for (const entry of Object.keys(JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)).exports)) {
    if (!Object.hasOwn(manifest.exports, entry)) found.push(`${entry}: is no entry point of the package`);
  }
  return found;
}

await Deno.mkdir(DIST, { recursive: true });
const work = await Deno.makeTempDir();
try {
  await run(Deno.execPath(), [
    "pack",
    "--allow-dirty",
    "--no-source-maps",
    "--ignore=deno.lock",
    "--output",
    `${work}/packed.tgz`,
  ]);
  await run("tar", ["xzf", `${work}/packed.tgz`, "-C", work]);
  const manifestPath = `${work}/package/package.json`;
  const manifest = complete(JSON.parse(await Deno.readTextFile(manifestPath)));
  await Deno.writeTextFile(manifestPath, JSON.stringify(manifest, null, 2) + "\n");
  const found = await misfits(`${work}/package`, manifest);
  if (found.length > 0) throw new Error(`the package is not fit:\n${found.join("\n")}`);
  const [{ filename, size, entryCount }] = JSON.parse(
    await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", DIST, `${work}/package`]),
  );
  console.log(`${Object.keys(manifest.exports).length} entry points, ${entryCount} files, ${size} bytes`);
  console.log(`dist/${filename}`);
} finally {
  await Deno.remove(work, { recursive: true });
}
