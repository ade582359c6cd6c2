/** The names that the entry points export, as `deno doc` and the module itself tell them. */
import { fromFileUrl } from "../transport/file_url.ts";

const root = new URL("../../", import.meta.url);

/** Names of one module, sorted. */
export interface ExportedNames {
  values: string[];
  types: string[];
}

/** The entry points of the package: name to file. */
export async function entryPoints(): Promise<Record<string, string>> {
  return JSON.parse(await Deno.readTextFile(new URL("deno.json", root))).exports;
}

/** What a file of the package exports, such as `./runtime/mod.ts`. */
export async function exportedNames(file: string): Promise<ExportedNames> {
  const url = new URL(file, root);
  const values = Object.keys(await import(url.href)).sort();
  const args = ["doc", "--json", fromFileUrl(url)];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root }).output();
  if (!success) throw new Error(`deno doc failed: ${new TextDecoder().decode(stderr)}`);
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const symbols: { name: string }[] = nodes[url.href].symbols;
  return { values, types: symbols.map(({ name }) => name).filter((name) => !values.includes(name)).sort() };
}
