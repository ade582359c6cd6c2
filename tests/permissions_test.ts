import { assertEquals } from "@std/assert";
import config from "../deno.json" with { type: "json" };

const pathOf = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);

for (const path of ["./mod.ts", "./runtime/mod.ts", "./runtime/oauth.ts", "./runtime/testing.ts", "./compat/mod.ts"]) {
  Deno.test(`permissions: importing ${path} needs none`, async () => {
    assertEquals(Object.values(config.exports).includes(path), true);
    const script = `import ${JSON.stringify(new URL(`../${path}`, import.meta.url).href)}; console.log("imported");`;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-check", `--config=${pathOf("../deno.json")}`, "-"],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(script));
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    assertEquals([code, new TextDecoder().decode(stdout).trim()], [0, "imported"], new TextDecoder().decode(stderr));
  });
}
