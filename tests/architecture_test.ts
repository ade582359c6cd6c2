/** What design.md says of the layout, held by reading the sources. */
import { assert, assertEquals } from "@std/assert";
import { importsOf, type Source, sources, withoutComments } from "./structure/sources.ts";

const library = await sources("mod.ts", "runtime", "compat");
const canonical = [...library.values()].filter(({ path }) => !path.startsWith("compat/"));
const everything = await sources("mod.ts", "runtime", "tests");

/**
 * The layers, top first: values are imported from the same layer or from one below, and never in a circle. A file that
 * is in none of them is at the bottom, where files need nothing but each other.
 */
const LAYERS: [name: string, files: RegExp][] = [
  ["compat", /^compat\//],
  ["package", /^mod\.ts$/],
  ["runtime", /^runtime\/(mod|oauth|oauth\/\w+|telemetry|testing|testing\/\w+|config)\.ts$/],
  ["pool", /^runtime\/(pool\w*|slot|live_session|capacity|backoff)\.ts$/],
  ["factory", /^runtime\/factory\.ts$/],
  ["session", /^runtime\/session\.ts$/],
  ["owner", /^runtime\/(owner|lane|session_errors)\.ts$/],
  ["client", /^runtime\/(client|guarded_client|handshake|mcp_client|request_errors|call_clock|tool_call)\.ts$/],
  ["transport", /^runtime\/transport\/\w+\.ts$/],
  ["telemetry hooks", /^runtime\/telemetry_hooks\.ts$/],
  ["fingerprint", /^runtime\/fingerprint\.ts$/],
  ["models", /^runtime\/(connection|auth|result|secrets|json|limits)\.ts$/],
  ["bottom", /^runtime\/\w+\.ts$/],
];

const layerOf = (path: string) => LAYERS.findIndex(([, files]) => files.test(path));
const valueImports = ({ imports }: Source) =>
  imports.filter(({ kind, specifier }) => kind === "value" && library.has(specifier)).map(({ specifier }) => specifier);

Deno.test("layers: values are imported from above to below only", () => {
  const wrong = [...library.values()].flatMap((source) =>
    valueImports(source).filter((target) => layerOf(target) < layerOf(source.path)).map((target) =>
      `${source.path} imports values of ${target}: ${LAYERS[layerOf(source.path)][0]} is below ${
        LAYERS[layerOf(target)][0]
      }`
    )
  );
  assertEquals(wrong, []);
});

Deno.test("layers: no file imports itself in a circle of values", () => {
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): void => {
    assert(!trail.includes(path), [...trail, path].join(" → "));
    if (done.has(path)) return;
    for (const target of valueImports(library.get(path)!)) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of library.keys()) visit(path, []);
});

Deno.test("layers: pool, factory, owner, client and transport have the files they are named after", () => {
  for (const file of ["pool", "factory", "session", "owner", "client", "fingerprint", "transport/mod"]) {
    const [name] = LAYERS[layerOf(`runtime/${file}.ts`)];
    assert(file.startsWith(name) && library.has(`runtime/${file}.ts`), file);
  }
});

Deno.test("layers: every import of the library's own files leads to a file", () => {
  const lost = [...library.values()].flatMap(({ path, imports }) =>
    imports.filter(({ specifier }) => specifier.endsWith(".ts") && !library.has(specifier))
      .map(({ specifier }) => `${path}: ${specifier}`)
  );
  assertEquals(lost, []);
});

Deno.test("contract 16: compat imports runtime, and nothing but the tests of the paths imports compat", () => {
  for (const { path, imports } of library.values()) {
    if (path.startsWith("compat/")) assert(imports.every(({ specifier }) => specifier.startsWith("runtime/")), path);
  }
  const importers = [...everything.values()].filter(({ imports }) =>
    imports.some(({ specifier }) => specifier.startsWith("compat/"))
  );
  assertEquals(importers.map(({ path }) => path).sort(), [
    "tests/contract/compat_test.ts",
    "tests/contract/legacy_paths_test.ts",
  ]);
});

Deno.test("contract 16: compat is re-exports and nothing else", () => {
  for (const { path, text } of library.values()) {
    if (!path.startsWith("compat/")) continue;
    const code = withoutComments(text).trim().split("\n");
    assertEquals(
      code.filter((line) => !/^export (type )?(\*|\{ \w+ \}) from "[./]+\/runtime\/\w+\.ts";$/.test(line)),
      [],
    );
  }
});

Deno.test("dependencies: the packages the library imports are pinned, and each is imported by few files", () => {
  const importers: Record<string, string[]> = {};
  for (const { path, imports } of canonical) {
    for (const { specifier } of imports) {
      if (!library.has(specifier)) (importers[specifier] ??= []).push(path);
    }
  }
  for (const list of Object.values(importers)) list.sort();
  assertEquals(importers, {
    "@modelcontextprotocol/sdk/client/auth.js": ["runtime/sdk.ts", "runtime/sdk.ts"],
    "@noble/hashes/sha2.js": ["runtime/fingerprint.ts"],
    "@noble/hashes/utils.js": ["runtime/fingerprint.ts"],
    "@opentelemetry/api": ["runtime/telemetry.ts"],
    "eventsource-parser": ["runtime/transport/event_stream.ts", "runtime/transport/legacy_probe.ts"],
    "node:child_process": ["runtime/transport/process_node.ts"],
    "zod/mini": ["runtime/auth.ts", "runtime/connection.ts"],
  });
});

Deno.test("dependencies: Node's modules are imported as types only, and no jsr package at all", () => {
  for (const { path, imports } of canonical) {
    for (const { specifier, kind } of imports) {
      assert(!specifier.startsWith("node:") || kind === "type", `${path}: ${specifier}`);
      assert(!/^(jsr:|@std\/)/.test(specifier), `${path}: ${specifier}`);
    }
  }
});

Deno.test("dependencies: sdk.ts is used by oauth alone, so that a program without OAuth loads no SDK", () => {
  const importers = canonical.filter(({ imports }) => imports.some(({ specifier }) => specifier === "runtime/sdk.ts"));
  assertEquals(importers.map(({ path }) => path), ["runtime/oauth.ts"]);
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    valueImports(library.get(path)!).forEach(visit);
  };
  visit("mod.ts");
  assertEquals([...reached].filter((path) => /\/(sdk|oauth|testing|telemetry)\.ts$/.test(path)), []);
  assert(reached.size > 40, `${reached.size} files were reached`);
});

/** Syntax and library functions that Node 20.16 does not have. */
const TOO_NEW: [name: string, pattern: RegExp][] = [
  ["using", /^\s*(await )?using \w+ =|\((await )?using \w+ /m],
  ["Promise.withResolvers, Promise.try", /\bPromise\.(withResolvers|try)\b/],
  ["DisposableStack, SuppressedError", /\b(Async)?DisposableStack\b|\bSuppressedError\b/],
  ["Object.groupBy, Map.groupBy", /\b(Object|Map)\.groupBy\b/],
  ["Array.fromAsync", /\bArray\.fromAsync\b/],
  ["iterator helpers", /\bIterator\.\w+\(|\.(entries|values|keys)\(\)\s*\.(?!next\b)\w+\(/],
  ["set operations", /\.(union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\(/],
  ["RegExp.escape, modifiers and duplicate groups", /\bRegExp\.escape\b|\(\?[ims]*-?[ims]+:/],
  ["Uint8Array base64 and hex", /\.(toBase64|toHex|setFromBase64|setFromHex)\(|\bUint8Array\.from(Base64|Hex)\b/],
  [
    "Error.isError, Math.sumPrecise, Float16Array",
    /\bError\.isError\b|\bMath\.(sumPrecise|f16round)\b|\bFloat16Array\b/,
  ],
  ["ArrayBuffer transfer and resizing", /\.transfer(ToFixedLength)?\(|\.resizable\b|maxByteLength/],
  ["Atomics.waitAsync, Atomics.pause", /\bAtomics\.(waitAsync|pause)\b/],
  ["Map getOrInsert", /\.getOrInsert(Computed)?\(/],
  ["import defer, import attributes", /\bimport (defer|source)\b|\bwith \{ type:/],
  ["decorators", /^\s*@\w+/m],
  [
    "the navigator, WebSocket, EventSource, CustomEvent and Storage globals",
    /\b(navigator|WebSocket|EventSource|localStorage)\b[.(]/,
  ],
  ["URL.parse", /\bURL\.parse\b/],
  ["import.meta.main", /\bimport\.meta\.main\b/],
];

for (const [name, pattern] of TOO_NEW) {
  Deno.test(`Node 20.16 runs the library as it is: no ${name}`, () => {
    const found = canonical.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path);
    assertEquals(found, []);
  });
}

Deno.test("Node 20.16 runs the library as it is: the patterns find what they look for", () => {
  const samples = [
    "await using a = b();",
    "Promise.withResolvers()",
    "new AsyncDisposableStack()",
    "Object.groupBy(a, b)",
    "Array.fromAsync(a)",
    "map.values().map(f)",
    "a.union(b)",
    "RegExp.escape(a)",
    "bytes.toBase64()",
    "Error.isError(a)",
    "buffer.transfer()",
    "Atomics.waitAsync(a)",
    "map.getOrInsert(a, b)",
    'import a from "a.json" with { type: "json" };',
    "  @decorated",
    "navigator.userAgent",
    "URL.parse(a)",
    "import.meta.main",
  ];
  assertEquals(TOO_NEW.map(([, pattern], at) => pattern.test(samples[at])), TOO_NEW.map(() => true));
});

Deno.test("importsOf: tells values from types, however the statement is written", () => {
  const text = `import a from "x1";
import "x2";
import { b, type C } from "./x3.ts";
import { type D, type E } from "../x4.ts";
import type { F } from "x5";
import type * as g from "x6";
import {
  type H,
  i,
} from "x7";
export * from "x8";
export type * from "x9";
export { j } from "x10";
export { type K } from "x11";
export const text = "x12";
 * import { l } from "x13";
const m = await import("x14");
type N = typeof import("x15");
export function from(): string {
  return "x16";
}
`;
  assertEquals(importsOf(text, "runtime/transport/a.ts").map(({ specifier, kind }) => `${kind} ${specifier}`), [
    "value x1",
    "value x2",
    "value runtime/transport/x3.ts",
    "type runtime/x4.ts",
    "type x5",
    "type x6",
    "value x7",
    "value x8",
    "type x9",
    "value x10",
    "type x11",
    "value x14",
  ]);
});
