/** Tests of the service beside it, without a server, a process or a network. */
import { assertEquals } from "@std/assert";
import { McpRuntimePool } from "@wf/sources-mcp";
import { FakeMcpServer, type FakeMcpServerOptions } from "@wf/sources-mcp/testing";
import { handlerOf } from "./deno_service.ts";

async function ask(tools: FakeMcpServerOptions["tools"], ...requests: Request[]) {
  const server = new FakeMcpServer({ tools });
  await using pool = new McpRuntimePool(server.sessionFactory());
  const handler = handlerOf(pool, server.connection);
  const answers: unknown[] = [];
  for (const request of requests) {
    const response = await handler(request);
    answers.push([response.status, response.status === 404 ? await response.text() : await response.json()]);
  }
  return { server, answers };
}

const post = (name: string, args: unknown) =>
  new Request(`http://service.test/tools/${name}`, { method: "POST", body: JSON.stringify(args) });

Deno.test("the service hands a request's JSON to the tool and its output back", async () => {
  const { answers } = await ask({ add: ({ a, b }) => ({ sum: Number(a) + Number(b) }) }, post("add", { a: 1, b: 2 }));
  assertEquals(answers, [[200, { outcome: "ok", output: { sum: 3 } }]]);
});

Deno.test("the service uses one session for all requests", async () => {
  const { server, answers } = await ask(
    { session: (_, { session }) => ({ session }) },
    post("session", {}),
    post("session", {}),
  );
  assertEquals([answers.length, server.opened], [2, 1]);
});

Deno.test("the service tells that a tool may have run when its server died", async () => {
  const server: FakeMcpServer = new FakeMcpServer({ tools: { die: () => server.crash() } });
  await using pool = new McpRuntimePool(server.sessionFactory());
  const response = await handlerOf(pool, server.connection)(post("die", {}));
  assertEquals([response.status, await response.json()], [502, { code: "SESSION_LOST", delivery: "unknown" }]);
});

Deno.test("the service knows no other path", async () => {
  const { server, answers } = await ask({}, new Request("http://service.test/tools/add"));
  assertEquals([answers, server.opened], [[[404, "not found\n"]], 0]);
});
