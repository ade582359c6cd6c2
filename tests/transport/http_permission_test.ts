import { assertEquals } from "@std/assert";
import { startServer } from "../fixtures/http/server.ts";

const pathOf = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);

Deno.test("H14 HttpTransport: import and calls need nothing but --allow-net for the host", async () => {
  await using server = startServer();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--no-check",
      `--config=${pathOf("../../deno.json")}`,
      `--allow-net=${new URL(server.url).host}`,
      pathOf("../fixtures/http/one_call.ts"),
      server.url,
    ],
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout).trim()], [0, '{"a":1}'], new TextDecoder().decode(stderr));
  assertEquals(server.of("DELETE").length, 1);
});
