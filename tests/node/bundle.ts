/**
 * Running a program of the fixtures on Node, with the library's own sources.
 *
 * @module
 */
import { fromFileUrl } from "../transport/file_url.ts";

/**
 * Makes one JavaScript file of a program, as Node cannot read TypeScript.
 *
 * @param program the program, relative to the fixtures
 * @param directory where the file goes
 * @returns its path
 */
export async function bundle(program: string, directory: string): Promise<string> {
  const source = fromFileUrl(new URL(`../fixtures/${program}`, import.meta.url));
  const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const output = `${directory}/program.mjs`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--config", config, "--platform=deno", "-o", output, source],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return output;
}

/** A directory that is removed with the test. */
export async function temporaryDirectory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
