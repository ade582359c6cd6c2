import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { fromFileUrl } from "./transport/file_url.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
const readme = Deno.readTextFileSync(new URL("../README.md", import.meta.url));

function firstBlock(language: string): string {
  const block = readme.match(new RegExp("```" + language + "[^\\n]*\\n([\\s\\S]*?)```"));
  assert(block, `README.md has no ${language} block`);
  return block[1];
}

Deno.test("README: its first program has at most 12 lines and runs against server-everything in an empty folder", async () => {
  // The same server through this Deno, since there may be no Node.
  const program = firstBlock("ts")
    .replace('"npx"', JSON.stringify(Deno.execPath()))
    .replace('"-y", "', '"run", "--allow-all", "--quiet", "npm:')
    .replace('server-everything"', 'server-everything@2026.8.31", "stdio"');
  assertLessOrEqual(program.trimEnd().split("\n").length, 12);
  const folder = await Deno.makeTempDir();
  try {
    const config = JSON.parse(firstBlock("json"));
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ ...config, links: [root] }));
    await Deno.writeTextFile(`${folder}/main.ts`, program);
    const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--quiet", "--no-lock", "main.ts"],
      cwd: folder,
    }).output();
    assertEquals([new TextDecoder().decode(stdout), code], ["ok Echo: hi\n", 0], new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
