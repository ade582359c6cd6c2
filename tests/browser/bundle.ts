/**
 * Bundles a module as a page or a worker gets it: one minified file, made by `deno bundle`.
 *
 * @module
 */
const CONFIG = decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname);

/**
 * Bundles a module.
 *
 * @param entry URL of the module
 * @returns the bundle's text
 */
export async function bundle(entry: URL): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--platform=browser",
      "--minify",
      `--config=${CONFIG}`,
      decodeURIComponent(entry.pathname),
    ],
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) throw new Error(`the bundle of ${entry} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** The bundle of the package's main entry point. */
export const bundleOfPackage = (): Promise<string> => bundle(new URL("../../mod.ts", import.meta.url));
