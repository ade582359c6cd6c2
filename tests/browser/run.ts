/**
 * Runs the tests that need a browser or a worker, and counts them on the last line.
 *
 * @module
 */
const pathOf = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);
const junit = await Deno.makeTempFile();
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    "test",
    "--allow-all",
    "--no-lock", // workers.ts has a package that the lock file is not to have.
    `--config=${pathOf("../../deno.json")}`,
    `--junit-path=${junit}`,
    ...["suite.ts", "example.ts", "workers.ts"].map(pathOf),
  ],
  stdout: "inherit",
  stderr: "inherit",
}).spawn().status;
const counts = /<testsuites [^>]*tests="(\d+)" failures="(\d+)" errors="(\d+)"/.exec(await Deno.readTextFile(junit));
await Deno.remove(junit);
const [total, failures, errors] = counts === null ? [0, 0, 1] : counts.slice(1).map(Number);
const failed = failures + errors || (code === 0 ? 0 : 1);
console.log(`${total - failures - errors} passed, ${failed} failed`);
Deno.exitCode = failed === 0 ? 0 : 1;
