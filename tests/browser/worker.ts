/**
 * Two calls from a worker, as a Workers runtime starts it: `fetch` makes them against the URL in its request's query.
 * In Deno, the URL is the program's argument.
 *
 * @module
 */
import { McpRuntimeError, McpRuntimePool } from "../../mod.ts";

async function callTwice(url: string): Promise<unknown> {
  const pool = new McpRuntimePool();
  const connection = {
    id: "test.worker",
    provider: "test",
    account: "worker",
    transport: { kind: "http" as const, url },
  };
  try {
    const results = [];
    for (let a = 1; a <= 2; a++) results.push(await pool.callTool(connection, null, "echo", { a }));
    return results.map(({ output, session }) => ({ output, generation: session?.generation }));
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return error.toJSON();
  } finally {
    await pool.closeAll();
  }
}

/** What a Workers runtime calls. */
export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(await callTwice(new URL(request.url).searchParams.get("url")!));
  },
};

const { Deno } = globalThis as { Deno?: { args: string[] } };
if (Deno !== undefined) console.log(JSON.stringify(await callTwice(Deno.args[0])));
