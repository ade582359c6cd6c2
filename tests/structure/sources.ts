/** The library's source files and what they import. */

/** One import or re-export. */
export interface Import {
  specifier: string;
  /** Whether it is there at run time; `import type` and `export type` are not. */
  kind: "value" | "type";
}

/** One source file. */
export interface Source {
  /** Path from the root of the package, such as `runtime/pool.ts`. */
  path: string;
  text: string;
  imports: Import[];
}

const root = new URL("../../", import.meta.url);

/** Every TypeScript file of these files and folders, by path. */
export async function sources(...paths: string[]): Promise<Map<string, Source>> {
  const found = new Map<string, Source>();
  for (const path of paths) {
    for await (const file of path.endsWith(".ts") ? [path] : filesUnder(path)) {
      const text = await Deno.readTextFile(new URL(file, root));
      found.set(file, { path: file, text, imports: importsOf(text, file) });
    }
  }
  return found;
}

async function* filesUnder(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(`${folder}/`, root))) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesUnder(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

/**
 * The imports of a file that `deno fmt` has written: a statement begins at the start of its line, and an example in a
 * comment does not. Specifiers of the package's own files come out as paths from its root.
 */
export function importsOf(text: string, path: string): Import[] {
  const statements = text.matchAll(
    /^(?:import\s+|(?:import|export)\b(?<what>[^;"'()=]*?)\bfrom\s+)"(?<specifier>[^"\n]+)"/gm,
  );
  const found = [...statements].map(({ groups }) => ({
    specifier: resolved(groups!.specifier, path),
    kind: isType(groups!.what ?? "") ? "type" as const : "value" as const,
  }));
  const dynamic = [...text.matchAll(/^(?!\s*(?:\*|\/\/)).*(?<!typeof )\bimport\(\s*"(?<specifier>[^"]+)"/gm)];
  return [
    ...found,
    ...dynamic.map(({ groups }) => ({ specifier: resolved(groups!.specifier, path), kind: "value" as const })),
  ];
}

function isType(what: string): boolean {
  if (/^\s+type\b/.test(what)) return true;
  const names = /^\s*\{(?<names>[^}]*)\}\s*$/.exec(what)?.groups?.names.split(",").map((name) => name.trim());
  return names !== undefined && names.every((name) => name === "" || name.startsWith("type "));
}

function resolved(specifier: string, path: string): string {
  return specifier.startsWith(".") ? new URL(specifier, `file:///${path}`).pathname.slice(1) : specifier;
}

/** The text without its comments, which may talk about anything. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\//g, "").replace(/(^|[\s;{}(,])\/\/.*$/gm, "$1");
}
