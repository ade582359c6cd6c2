/** The stdio transport on Node: the contract's scenarios, and the endings of a program. `deno task test:node`. */
import { assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { isAlive, isGoneWithin, runContract, serverArgs } from "../transport/stdio_harness.ts";
import { bundle, temporaryDirectory } from "./bundle.ts";

const BOUND_MS = 60_000;

Deno.test("StdioTransport on Node: the contract holds", async () => {
  await using directory = await temporaryDirectory();
  await runContract("node", [await bundle("stdio/contract.ts", directory.path)]);
});

Deno.test("StdioTransport on Node: nothing is left of a program, however it ends (S18)", async () => {
  await using directory = await temporaryDirectory();
  const program = await bundle("stdio/ending_client.ts", directory.path);
  for (const ending of ["return", "exit", "throw", "reject", "SIGINT", "SIGTERM", "SIGKILL"]) {
    const child = new Deno.Command("node", {
      args: [program, ending, Deno.execPath(), ...serverArgs({ stdin: "ignore" })],
      detached: true,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await deadline(reader.read(), BOUND_MS);
    const { server } = JSON.parse(value!);
    if (ending.startsWith("SIG")) {
      assertEquals(await isAlive(server), true);
      Deno.kill(ending === "SIGINT" ? -child.pid : child.pid, ending as Deno.Signal);
    }
    await deadline(child.status, BOUND_MS);
    await reader.cancel();
    assertEquals(await isGoneWithin(server, 5_000), true, ending);
  }
});
