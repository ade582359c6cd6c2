/** Row 18: a service whose inbound requests share one upstream session. */
import { assertEquals } from "@std/assert";
import type { ToolExecutor } from "../../mod.ts";
import { statefulConnection } from "../fixtures/stateful_connection.ts";
import type { DeclareRow, Runtime } from "./runtime.ts";

/** Declares the row of the service. */
export function serviceRows(row: DeclareRow, { McpRuntimePool, executor }: Runtime): void {
  row(18, "two separate inbound requests of a service reach the same upstream session", async () => {
    await using pool = new McpRuntimePool();
    await using service = startService(executor(pool));
    const opened = await request(service.url, "open_page", { url: "https://example.com/" });
    assertEquals(opened, { page: "https://example.com/" });
    assertEquals(await request(service.url, "current_page", {}), { page: "https://example.com/" });
    assertEquals(pool.stats().opened, 1);
  });
}

/** A service that makes the tool call that its path and body say. */
function startService(tools: ToolExecutor): AsyncDisposable & { url: string } {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (inbound) => {
    const tool = new URL(inbound.url).pathname.slice(1);
    return Response.json((await tools.callTool(statefulConnection(), null, tool, await inbound.json())).output);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

async function request(service: string, tool: string, payload: Record<string, unknown>): Promise<unknown> {
  const response = await fetch(`${service}/${tool}`, { method: "POST", body: JSON.stringify(payload) });
  return await response.json();
}
