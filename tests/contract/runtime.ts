/** What the contract suite is run on, and how its tests are named. */
import type { ToolExecutor } from "../../mod.ts";
import type {
  connectionRuntimeFingerprint,
  McpRuntimePool,
  PersistentMcpSession,
  PersistentSessionFactory,
} from "../../runtime/mod.ts";

/** The runtime under test, as one of its paths exports it. */
export interface Runtime {
  McpRuntimePool: typeof McpRuntimePool;
  PersistentMcpSession: typeof PersistentMcpSession;
  PersistentSessionFactory: typeof PersistentSessionFactory;
  connectionRuntimeFingerprint: typeof connectionRuntimeFingerprint;
  /** The pool as the path's `ToolExecutor`. */
  executor: (pool: McpRuntimePool) => ToolExecutor;
}

/** Declares the test of a row of the contract. */
export type DeclareRow = (row: number, behaviour: string, test: () => void | Promise<void>) => void;

/** Declares rows under the path they are tested through. */
export function rowsOf(path: string): DeclareRow {
  return (row, behaviour, test) => Deno.test(`contract ${row} through ${path}: ${behaviour}`, test);
}
