import { assertEquals } from "@std/assert";
import { entryPoints } from "./structure/exports.ts";

for (const [name, file] of Object.entries(await entryPoints())) {
  Deno.test(`entry point ${name}: its import works without any permission`, async () => {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--cached-only", "-"],
      cwd: new URL("../", import.meta.url),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`import ${JSON.stringify(file)}; console.log("imported");`));
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    assertEquals([code, decoder.decode(stdout), decoder.decode(stderr)], [0, "imported\n", ""]);
  });
}
