import { fixture, runContract } from "./stdio_harness.ts";

Deno.test("StdioTransport on Deno: the contract holds", async () => {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  await runContract(Deno.execPath(), ["run", "--config", config, "-A", fixture("contract.ts")]);
});
