import { PersistentSessionFactory } from "../../compat/runtime/factory.ts";
import { connectionRuntimeFingerprint, McpRuntimePool } from "../../compat/runtime/pool.ts";
import type { ToolExecutor } from "../../compat/runtime/protocols.ts";
import { PersistentMcpSession } from "../../compat/runtime/session.ts";
import { contractSuite } from "./suite.ts";

contractSuite("compat/", {
  McpRuntimePool,
  PersistentMcpSession,
  PersistentSessionFactory,
  connectionRuntimeFingerprint,
  executor: (pool): ToolExecutor => pool,
});
