/** The same transport on Node: the contract's scenarios run on both runtimes, and so do the endings of a program. */
import { assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { fixture, isAlive, isGoneWithin, serverArgs } from "./stdio_harness.ts";

const BOUND_MS = 60_000;

const node = await new Deno.Command("node", { args: ["--version"] }).output().then(
  ({ success }) => success,
  () => false,
);

/** Makes one JavaScript file of a program and the library's own sources, as Node cannot read TypeScript. */
async function bundle(program: string, directory: string): Promise<string> {
  const output = `${directory}/${program.replace(".ts", ".mjs")}`;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--config", config, "--platform=deno", "-o", output, fixture(program)],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return output;
}

async function runContract(command: string, args: string[]): Promise<void> {
  const { stdout, stderr } = await new Deno.Command(command, {
    args: [...args, Deno.execPath(), ...serverArgs()],
  }).output();
  const results = JSON.parse(new TextDecoder().decode(stdout) || `"${new TextDecoder().decode(stderr)}"`);
  assertEquals(results, Object.fromEntries(Object.keys(results).map((name) => [name, "ok"])));
  assertEquals(Object.keys(results).length, 13);
}

Deno.test("the stdio contract holds on Deno", async () => {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  await runContract(Deno.execPath(), ["run", "--config", config, "-A", fixture("contract.ts")]);
});

Deno.test({
  name: "the stdio contract holds on Node",
  ignore: !node,
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      await runContract("node", [await bundle("contract.ts", directory)]);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test({
  name: "nothing is left of a Node program, however it ends (S18)",
  ignore: !node,
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const program = await bundle("ending_client.ts", directory);
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
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
