/**
 * `mcporter`: one runtime that keeps its connections.
 *
 * @module
 */
import { createRuntime, type ServerDefinition } from "mcporter";
import { type Contender, textOf } from "../compare/contender.ts";

const runtime = await createRuntime({ servers: [] });
let opened = 0;

/** mcporter. */
export const contender: Contender = {
  async open(target) {
    const name = `n${opened++}`;
    const command: ServerDefinition["command"] = target.kind === "http"
      ? { kind: "http", url: new URL(target.url) }
      : { ...target, cwd: Deno.cwd() };
    runtime.registerDefinition({ name, command });
    await runtime.connect(name);
    return {
      call: async (tool, args) => textOf(await runtime.callTool(name, tool, { args })),
      close: () => runtime.close(name),
    };
  },
};
