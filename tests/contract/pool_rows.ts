/** Rows 8 to 12: the pool and what makes it replace a session. */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { McpRuntimeError } from "../../mod.ts";
import type {
  AuthRecord,
  McpSourceConnection,
  PersistentMcpSession,
  SessionFactory,
  ToolClient,
} from "../../runtime/mod.ts";
import { statefulConnection } from "../fixtures/stateful_connection.ts";
import { isAlive } from "../transport/stdio_harness.ts";
import type { DeclareRow, Runtime } from "./runtime.ts";

interface Source {
  connection: McpSourceConnection;
  auth: AuthRecord | null;
}

const ids = { id: "source.one", provider: "source", account: "one" };
const stdio = {
  kind: "stdio" as const,
  command: "server",
  args: ["--quiet"],
  env: { LEVEL: "low", PLACE: "here" },
  cwd: "/srv",
};
const http = {
  kind: "http" as const,
  url: "https://example.com/mcp",
  headers: { "x-level": "low", "x-place": "here" },
};
const record = { connectionId: ids.id, scheme: "bearer", payload: { token: "one", env: { A: "1" } } };

const overStdio: Source = { connection: { ...ids, transport: stdio }, auth: record };
const overHttp: Source = { connection: { ...ids, transport: http }, auth: record };
const stdioWith = (change: object) => ({ ...overStdio, connection: { ...ids, transport: { ...stdio, ...change } } });
const httpWith = (change: object) => ({ ...overHttp, connection: { ...ids, transport: { ...http, ...change } } });

/** What changed, before and after. All of them keep the connection's id. */
const CHANGES: [string, Source, Source][] = [
  ["command", overStdio, stdioWith({ command: "other-server" })],
  ["args", overStdio, stdioWith({ args: ["--loud"] })],
  ["env", overStdio, stdioWith({ env: { LEVEL: "high", PLACE: "here" } })],
  ["cwd", overStdio, stdioWith({ cwd: "/home" })],
  ["URL", overHttp, httpWith({ url: "https://example.com/mcp/v2" })],
  ["headers", overHttp, httpWith({ headers: { "x-level": "high", "x-place": "here" } })],
  ["auth payload", overHttp, { ...overHttp, auth: { ...record, payload: { ...record.payload, token: "two" } } }],
  ["auth scheme", overHttp, { ...overHttp, auth: { ...record, scheme: "basic" } }],
  ["auth, from a record to none", overHttp, { ...overHttp, auth: null }],
];

const otherAccount = { ...overStdio.connection, id: "source.two", account: "two" };

/** Declares the rows of the pool. */
export function poolRows(row: DeclareRow, runtime: Runtime): void {
  const { McpRuntimePool, PersistentMcpSession, PersistentSessionFactory, connectionRuntimeFingerprint } = runtime;

  /** A factory of sessions that answer with their number, and a record of what it made. */
  function counting() {
    const made: { session: PersistentMcpSession; closes: number }[] = [];
    const factory = (connection: McpSourceConnection, auth: AuthRecord | null) => {
      const number = made.length + 1;
      const session = new PersistentMcpSession({
        connection,
        auth,
        callCallback: () => ({ structuredContent: { number } }),
        closeCallback: () => void made[number - 1].closes++,
      });
      made.push({ session, closes: 0 });
      return session;
    };
    return { factory, closes: () => made.map(({ closes }) => closes), states: () => made.map((m) => m.session.state) };
  }

  row(8, "the page that a first call opened is there for the second", async () => {
    await using pool = new McpRuntimePool();
    const connection = statefulConnection();
    await pool.callTool(connection, null, "open_page", { url: "https://example.com/" });
    const { output } = await pool.callTool({ ...connection }, null, "current_page", {});
    assertEquals(output, { page: "https://example.com/" });
  });

  row(8, "an unchanged connection has one session and one process, however many calls are made", async () => {
    await using pool = new McpRuntimePool();
    const facts = () => pool.callTool(statefulConnection(), null, "facts", {});
    const pids = [await facts(), ...await Promise.all(Array.from({ length: 20 }, facts))].map(({ output }) =>
      output.pid
    );
    assertEquals(new Set(pids).size, 1);
    assertEquals(pool.stats().opened, 1);
  });

  for (const [what, before, after] of CHANGES) {
    row(9, `a changed ${what} replaces the session, and the old one's close callback ran once`, async () => {
      const { factory, closes, states } = counting();
      const pool = new McpRuntimePool(factory);
      const call = ({ connection, auth }: Source) => pool.callTool(connection, auth, "which", {});
      assertEquals((await call(before)).output, { number: 1 });
      const { output, session } = await call(after);
      assertEquals([output, session], [{ number: 2 }, { generation: 2 }]);
      assertEquals([closes(), states()], [[1, 0], ["closed", "ready"]]);
      await pool.closeAll();
      assertEquals(closes(), [1, 1]);
    });
  }

  row(9, "another account is another connection: it never runs on the session of the first", async () => {
    const { factory } = counting();
    await using pool = new McpRuntimePool(factory);
    assertEquals((await pool.callTool(overStdio.connection, null, "which", {})).output, { number: 1 });
    assertEquals((await pool.callTool(otherAccount, null, "which", {})).output, { number: 2 });
    // The account is a part of the id; a connection that says otherwise is refused.
    const contradiction = { ...overStdio.connection, account: "two" };
    const error = await assertRejects(() => pool.callTool(contradiction, null, "which", {}), McpRuntimeError);
    assertEquals(error.code, "CONNECTION_INVALID");
  });

  row(9, "a replaced server has ended, and its state is not there for the next", async () => {
    await using pool = new McpRuntimePool();
    const call = (mark: string, tool: string) => pool.callTool(statefulConnection([mark]), null, tool, { url: "x" });
    await call("before", "open_page");
    const { pid } = (await call("before", "facts")).output;
    assertEquals((await call("after", "current_page")).output, { page: null });
    assertEquals(await isAlive(Number(pid)), false);
  });

  row(9, "nothing changed, nothing is replaced", async () => {
    const { factory, closes } = counting();
    await using pool = new McpRuntimePool(factory);
    for (const { connection, auth } of [overHttp, structuredClone(overHttp)]) {
      assertEquals((await pool.callTool(connection, auth, "which", {})).output, { number: 1 });
    }
    assertEquals(closes(), [0]);
  });

  class SeamFactory extends PersistentSessionFactory {
    protected override createClient(): Promise<ToolClient> {
      const result = { structuredContent: { number: 1 } };
      return Promise.resolve({ callTool: () => Promise.resolve(result), close: () => Promise.resolve() });
    }
  }
  const FACTORIES: [string, () => SessionFactory | SeamFactory][] = [
    ["a synchronous function", () => counting().factory],
    ["an asynchronous function", () => {
      const { factory } = counting();
      return (...source: Parameters<typeof factory>) => Promise.resolve(factory(...source));
    }],
    ["a PersistentSessionFactory", () => new SeamFactory()],
  ];
  for (const [what, make] of FACTORIES) {
    row(10, `the session factory may be ${what}`, async () => {
      await using pool = new McpRuntimePool(make());
      assertEquals((await pool.callTool(overStdio.connection, null, "which", {})).output, { number: 1 });
    });
  }

  row(11, "closeConnection closes what is live and forgets it; the next call opens a new session", async () => {
    const { factory, closes } = counting();
    await using pool = new McpRuntimePool(factory);
    const call = (connection: McpSourceConnection, scope?: string) =>
      pool.callTool(connection, null, "which", {}, scope === undefined ? {} : { scope });
    await call(overStdio.connection);
    await call(overStdio.connection, "tenant");
    await call(otherAccount);
    await pool.closeConnection(ids.id);
    assertEquals(closes(), [1, 1, 0]);
    assertEquals(pool.sessions().map(({ connectionId }) => connectionId), ["source.two"]);
    assertEquals((await call(overStdio.connection)).output, { number: 4 });
  });

  row(11, "closeConnection of a connection without session does nothing", async () => {
    await using pool = new McpRuntimePool(counting().factory);
    await pool.closeConnection("nobody.knows");
    assertEquals(pool.sessions(), []);
  });

  row(11, "closeAll closes what is live and forgets it", async () => {
    const { factory, closes } = counting();
    const pool = new McpRuntimePool(factory);
    await pool.callTool(overStdio.connection, null, "which", {});
    await pool.callTool(otherAccount, null, "which", {});
    await pool.closeAll();
    assertEquals([closes(), pool.sessions()], [[1, 1], []]);
  });

  const fingerprint = ({ connection, auth }: Source) => connectionRuntimeFingerprint(connection, auth);
  const changes = [...CHANGES, ["account", overStdio, { ...overStdio, connection: otherAccount }] as const];
  for (const [what, before, after] of changes) {
    row(12, `fingerprints differ when ${what} differs`, () => {
      assertNotEquals(fingerprint(after), fingerprint(before));
    });
  }

  for (const [what, source] of [["stdio", overStdio], ["HTTP", overHttp]] as const) {
    row(12, `fingerprints are equal when nothing differs, over ${what}`, () => {
      assertEquals(fingerprint(structuredClone(source)), fingerprint(source));
    });

    row(12, `fingerprints do not depend on key order, over ${what}`, () => {
      const turned = reversed(source) as Source;
      assert(JSON.stringify(turned) !== JSON.stringify(source));
      assertEquals(fingerprint(turned), fingerprint(source));
    });
  }
}

/** The same value with the keys of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, reversed(item)]).reverse());
}
