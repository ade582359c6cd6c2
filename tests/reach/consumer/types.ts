// What a TypeScript program writes; it is only type-checked.
import { McpRuntimeError, McpRuntimePool, type McpSourceConnection, type ToolExecutor } from "@wf/sources-mcp";
import type { McpRuntimePool as LegacyPool } from "@wf/sources-mcp/compat/runtime";
import type { ToolExecutor as LegacyToolExecutor } from "@wf/sources-mcp/compat/runtime/protocols";
import { oauthCredentials, type OAuthProviderLike } from "@wf/sources-mcp/oauth";
import { PersistentSessionFactory } from "@wf/sources-mcp/runtime/factory";
import type { PersistentMcpSession } from "@wf/sources-mcp/runtime/session";
import * as telemetry from "@wf/sources-mcp/telemetry";
import { FakeMcpServer } from "@wf/sources-mcp/testing";

const connection: McpSourceConnection = {
  id: "docs.public",
  provider: "docs",
  account: "public",
  transport: { kind: "http", url: "https://example.com/mcp" },
};

export async function call(tools: ToolExecutor): Promise<Record<string, unknown>> {
  const { outcome, output } = await tools.callTool(connection, null, "search", { text: "x" }, { timeoutMs: 1_000 });
  const known: "ok" | "error" = outcome;
  return { known, ...output };
}

export async function main(provider: OAuthProviderLike): Promise<void> {
  await using pool = new McpRuntimePool(new PersistentSessionFactory({ credentials: oauthCredentials(provider) }));
  const legacy: LegacyPool = pool;
  const executor: LegacyToolExecutor = legacy;
  await call(executor).catch((error: unknown) => {
    if (error instanceof McpRuntimeError && error.delivery === "not-sent") return;
    throw error;
  });
  const session: PersistentMcpSession = await pool.getSession(connection, null);
  await session.close();
}

export const fake: FakeMcpServer = new FakeMcpServer({ tools: { add: ({ a, b }) => Number(a) + Number(b) } });
export const names: string[] = Object.keys(telemetry);

// @ts-expect-error -- A connection without an id is none; this fails when the types have become `any`.
void new McpRuntimePool().callTool({ provider: "x", account: "y" }, null, "x", {});
// @ts-expect-error -- Unknown codes cannot be compared with.
export const impossible = (error: McpRuntimeError): boolean => error.code === "NO_SUCH_CODE";
