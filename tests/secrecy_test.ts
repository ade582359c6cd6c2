/** A marked secret stands in every place that may hold one; nothing that a person may read shows the mark. */
import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { inspect } from "node:util";
import type { AuthRecord } from "../runtime/auth.ts";
import { openMcpSession, type ToolClient } from "../runtime/client.ts";
import type { HttpSourceTransport, McpSourceConnection } from "../runtime/connection.ts";
import { McpRuntimeError, ProcessError } from "../runtime/errors.ts";
import type { RuntimeEvent } from "../runtime/events.ts";
import { PersistentSessionFactory, type SessionFactoryOptions } from "../runtime/factory.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import { PersistentMcpSession } from "../runtime/session.ts";
import { FakeMcpServer } from "../runtime/testing.ts";
import { createTransport } from "../runtime/transport/mod.ts";
import { ScriptedTransport } from "./fakes/scripted_transport.ts";
import { failureOf } from "./fixtures/http/failure.ts";
import { type Script, type Seen, startServer } from "./fixtures/http/server.ts";
import { fixture } from "./transport/stdio_harness.ts";

/** Part of every secret, so that one look finds a whole one and a piece. */
const MARK = "s3cret";
const USER_INFO = `${MARK}-user:${MARK}-password`;
/** Of Basic credentials the encoded form is secret too. */
const ENCODED_USER_INFO = btoa(USER_INFO);

const auth = {
  connectionId: "vault.main",
  scheme: "custom",
  payload: {
    token: `${MARK}-auth-token`,
    headers: { "x-auth-key": `${MARK}-auth-header` },
    env: { AUTH_KEY: `${MARK}-auth-env` },
    nested: [{ note: `${MARK}-nested` }],
  },
} satisfies AuthRecord;

const vault = { id: "vault.main", provider: "vault", account: "main" };

/** A child process with secrets in its environment. */
const stdio = (args: string[] = []) => ({
  ...vault,
  transport: {
    kind: "stdio" as const,
    command: Deno.execPath(),
    args,
    env: { API_KEY: `${MARK}-env`, NO_COLOR: "1" },
  },
});

/** A server with secrets in its URL and headers. */
function http(url: string): McpSourceConnection & { transport: HttpSourceTransport } {
  const secretUrl = url.replace("://", `://${USER_INFO}@`) + `?key=${MARK}-query`;
  return { ...vault, transport: { kind: "http", url: secretUrl, headers: { "x-api-key": `${MARK}-header` } } };
}

const hook = () => ({ "x-hook-key": `${MARK}-hook` });

/** All secrets of a connection, as foreign code may quote them. */
function quoted({ transport }: ReturnType<typeof stdio | typeof http>): string {
  const own = transport.kind === "http"
    ? [transport.url, ...Object.values(transport.headers!)]
    : Object.values(transport.env);
  const { token, headers, env, nested } = auth.payload;
  return [...own, token, ...Object.values(headers), ...Object.values(env), nested[0].note].join(" ");
}

/** An error as foreign code throws it: secrets in message, stack, cause and a field of its own. */
function foreignError(connection: ReturnType<typeof stdio | typeof http>): Error {
  const secrets = quoted(connection);
  const error = new TypeError(`cannot reach ${secrets}`, { cause: new Error(`below: ${secrets}`) });
  return Object.assign(error, { request: { headers: secrets } });
}

/** Each way to look at a value. */
function formsOf(value: unknown): string[] {
  const forms = [
    String(value),
    JSON.stringify(value) ?? "",
    Deno.inspect(value, { depth: 10, showHidden: true, getters: true }),
    inspect(value, { depth: 10, showHidden: true, getters: true }),
  ];
  for (let at = value; at instanceof Error; at = at.cause) forms.push(at.message, at.stack ?? "", JSON.stringify(at));
  if (value instanceof AggregateError) forms.push(...value.errors.flatMap(formsOf));
  return forms;
}

/** Fails when any way to look at one of the values shows a secret. */
function assertSecret(...values: unknown[]): void {
  for (const form of values.flatMap(formsOf)) {
    assert(!form.includes(MARK) && !form.includes(ENCODED_USER_INFO), form);
  }
}

/** A pool with all it tells. */
function observed(options: SessionFactoryOptions) {
  const events: RuntimeEvent[] = [];
  const onEvent = (event: RuntimeEvent) => void events.push(event);
  const factory = new PersistentSessionFactory({ ...options, onEvent });
  const pool = new McpRuntimePool(factory, { onEvent });
  const assertAll = (...values: unknown[]) =>
    assertSecret(...values, ...events, pool, factory, pool.stats(), pool.sessions());
  return { pool, events, assertAll };
}

Deno.test("secrets: the mark is found in a value that shows it, so that these tests can fail", () => {
  const error = foreignError(stdio());
  for (const value of [error, { deep: { error } }, new Error("safe", { cause: error }), stdio(), auth]) {
    let found = false;
    try {
      assertSecret(value);
    } catch {
      found = true;
    }
    assert(found);
  }
});

for (const connection of [stdio(), http("http://127.0.0.1:9")]) {
  const { kind } = connection.transport;
  const options = { credentials: hook, createTransport: new FakeMcpServer({ tools: { a: () => {} } }).createTransport };

  Deno.test(`secrets, ${kind}: session, pool and factory show none, before, during and after their life`, async () => {
    const { pool, assertAll } = observed(options);
    assertAll();
    const opening = pool.getSession(connection, auth);
    assertAll();
    const session = await opening;
    assertAll(session);
    const call = pool.callTool(connection, auth, "a", {});
    assertAll(session);
    await call;
    await pool.closeAll();
    assertAll(session, await session.closed);
  });

  Deno.test(`secrets, ${kind}: a client opened by hand shows none`, async () => {
    const client = await openMcpSession(connection, auth, options);
    assertSecret(client);
    await client.close();
    assertSecret(client);
  });

  Deno.test(`secrets, ${kind}: a transport shows none`, async () => {
    const transport = createTransport(connection, auth, { credentials: hook });
    assertSecret(transport);
    await transport.close();
    assertSecret(transport);
  });

  Deno.test(`secrets, ${kind}: what createTransport throws is told without them`, async () => {
    const { pool, assertAll } = observed({
      createTransport: () => {
        throw foreignError(connection);
      },
    });
    const error = await failureOf(pool.callTool(connection, auth, "a", {}));
    assertStringIncludes(error.message, "cannot reach");
    assertAll(error);
    await pool.closeAll();
  });

  Deno.test(`secrets, ${kind}: what an overriding createClient or a factory function throws is told without them`, async () => {
    class Broken extends PersistentSessionFactory {
      protected override createClient = () => Promise.reject(foreignError(connection));
    }
    const pools = [
      new McpRuntimePool(new Broken()),
      new McpRuntimePool(() => Promise.reject(foreignError(connection))),
    ];
    for (const pool of pools) {
      const error = await failureOf(pool.callTool(connection, auth, "a", {}));
      assertStringIncludes(error.message, "cannot reach");
      assertSecret(error, pool);
      await pool.closeAll();
    }
  });

  Deno.test(`secrets, ${kind}: what a client from elsewhere throws, and dies of, is told without them`, async () => {
    const events: RuntimeEvent[] = [];
    const dying = Promise.withResolvers<unknown>();
    const client: ToolClient = {
      callTool: () => Promise.reject(foreignError(connection)),
      close: () => Promise.reject(foreignError(connection)),
      closed: dying.promise,
    };
    const session = new PersistentMcpSession({ connection, auth, client });
    const pool = new McpRuntimePool(() => session, { onEvent: (event) => void events.push(event) });
    const failed = await failureOf(pool.callTool(connection, auth, "a", {}));
    assertStringIncludes(failed.message, "cannot reach");
    dying.resolve(foreignError(connection));
    const { reason } = await session.closed;
    assertStringIncludes(String(reason?.cause), "cannot reach");
    assertSecret(failed, session, await session.closed, await failureOf(session.callTool("a", {})), ...events);
    await pool.closeAll();
  });

  Deno.test(`secrets, ${kind}: what a close callback throws is the caller's as it is, and in the event without them`, async () => {
    const events: RuntimeEvent[] = [];
    const own = foreignError(connection);
    const pool = new McpRuntimePool(
      (connection, auth) =>
        new PersistentMcpSession({
          connection,
          auth,
          callCallback: () => ({}),
          closeCallback: () => Promise.reject(own),
        }),
      { onEvent: (event) => void events.push(event) },
    );
    const session = await pool.getSession(connection, auth);
    assertEquals(await session.close().catch((error) => error), own);
    const closed = events.find(({ type }) => type === "session-closed") as { error?: unknown };
    assertInstanceOf(closed.error, Error);
    assertStringIncludes(closed.error.message, "cannot reach");
    assertSecret(session, pool, ...events);
    await pool.closeAll();
  });

  Deno.test(`secrets, ${kind}: a server's JSON-RPC error is told without them, its data too`, async () => {
    const transport = new ScriptedTransport();
    const { pool, assertAll } = observed({ createTransport: () => transport });
    const call = failureOf(pool.callTool(connection, auth, "a", {}));
    await pool.getSession(connection, auth);
    const { id } = transport.of("tools/call")[0];
    const said = quoted(connection);
    transport.receive({ id, error: { code: -32000, message: `no: ${said}`, data: { [said]: [said] } } });
    const error = await call;
    assertStringIncludes(error.message, "no: ");
    assertAll(error);
    await pool.closeAll();
  });
}

Deno.test("secrets: a credentials hook that throws, or gives a header that cannot be sent, is told without them", async () => {
  await using server = startServer();
  const connection = http(server.url);
  const hooks = [
    () => Promise.reject(foreignError(connection)),
    () => ({ "x-key": `${MARK}\r\nx: y` }),
    () => ({ [`authorization: ${MARK}`]: "x" }),
    () => MARK as unknown as Record<string, string>,
  ];
  for (const credentials of hooks) {
    const { pool, assertAll } = observed({ credentials });
    assertAll(await failureOf(pool.callTool(connection, auth, "a", {})));
    await pool.closeAll();
  }
  assertEquals(server.seen, []);
});

/** Prints all of its environment that is secret, then exits. */
const PRINTING =
  `for (const name of ["API_KEY", "AUTH_KEY"]) console.error("with " + Deno.env.get(name)); Deno.exit(3)`;

Deno.test("secrets: a real process that prints its environment and exits is told without them", async () => {
  const { pool, assertAll } = observed({});
  const error = await failureOf(pool.callTool(stdio(["eval", "--no-config", PRINTING]), auth, "a", {}));
  assertInstanceOf(error, ProcessError);
  assertEquals([error.exitCode, error.stderrTail], [3, "with [redacted]\nwith [redacted]"]);
  assertAll(error);
  await pool.closeAll();
});

Deno.test("secrets: a real process that prints them while it runs, and ends during a call, is told without them", async () => {
  const lines: string[] = [];
  for (const stderr of ["tail" as const, (line: string) => void lines.push(line)]) {
    const { pool, assertAll } = observed({ stderr });
    const connection = stdio(["run", "--no-config", "--no-lock", "-A", fixture("server.mjs")]);
    const session = await pool.getSession(connection, auth);
    const said = { stderr: `with ${MARK}-env and ${MARK}-auth-env`, code: 4 };
    const error = await failureOf(pool.callTool(connection, auth, "exit", said));
    assertEquals([error.code, error.delivery], ["SESSION_LOST", "unknown"]);
    assertAll(error, session, await session.closed);
    await pool.closeAll();
  }
  assertEquals(lines, ["with [redacted] and [redacted]"]);
});

Deno.test("secrets: a program that cannot be started is told without them", async () => {
  const { pool, assertAll } = observed({});
  const connection = stdio();
  const transport = { ...connection.transport, command: fixture("no-such-program") };
  assertAll(await failureOf(pool.callTool({ ...connection, transport }, auth, "a", {})));
  await pool.closeAll();
});

/** All that the server was sent, as a careless error page shows it. */
const echoed = (seen: Seen) => JSON.stringify([...seen.headers]) + seen.text;
const page = (seen: Seen, status: number, headers: Record<string, string> = {}) =>
  new Response(`<h1>failed</h1>${echoed(seen)}`, { status, headers: { "content-type": "text/html", ...headers } });

const isCall = (seen: Seen) => seen.message.method === "tools/call";
const CARELESS: [string, Script][] = [
  ["refuses the opening with a page", { request: (seen) => page(seen, 500) }],
  ["refuses the call with a page", { request: (seen) => isCall(seen) ? page(seen, 502) : undefined }],
  ["answers a call in no JSON", {
    call: (seen) => new Response(echoed(seen), { headers: { "content-type": "application/json" } }),
  }],
  ["answers a call in another media type", { call: (seen) => page(seen, 200) }],
  ["refuses the credentials", {
    request: (seen) =>
      page(seen, 401, {
        "www-authenticate": `Bearer error="invalid_token", error_description="${seen.headers.get("x-auth-key")} ${
          seen.headers.get("authorization")
        } ${seen.headers.get("x-hook-key")}"`,
      }),
  }],
  ["answers with a JSON-RPC error", {
    call: (seen) =>
      Response.json({
        jsonrpc: "2.0",
        id: seen.message.id,
        error: { code: -32000, message: echoed(seen), data: Object.fromEntries(seen.headers) },
      }),
  }],
  ["redirects elsewhere", {
    request: (seen) =>
      new Response(null, {
        status: 307,
        headers: { location: `http://${USER_INFO}@localhost:9/${seen.path}?k=${MARK}` },
      }),
  }],
  ["redirects to a path that repeats a header", {
    request: (seen) =>
      new Response(null, { status: 302, headers: { location: `/login/${seen.headers.get("x-hook-key")}` } }),
  }],
  ["repeats a header in its media type", {
    call: (seen) => new Response("x", { headers: { "content-type": `text/${seen.headers.get("x-hook-key")}` } }),
  }],
  ["gives an unusable session id", {
    response: (response) => {
      response.headers.set("mcp-session-id", `${MARK} with a space`);
      return response;
    },
  }],
];
for (const [what, script] of CARELESS) {
  for (const record of [auth, null]) {
    Deno.test(`secrets: an HTTP server that ${what}, ${record ? "with" : "without"} an auth record, is told without them`, async () => {
      await using server = startServer(script);
      const { pool, events, assertAll } = observed({ credentials: hook });
      const error = await failureOf(pool.callTool(http(server.url), record, "a", {}));
      assertAll(error);
      assert(events.length > 0);
      // The server was sent what it could have shown.
      assertEquals(server.seen[0].headers.get("x-hook-key"), `${MARK}-hook`);
      assertStringIncludes(
        server.seen[0].headers.get("authorization")!,
        record ? auth.payload.token : ENCODED_USER_INFO,
      );
      await pool.closeAll();
    });
  }
}

Deno.test("secrets: a server that cannot be reached is told without them", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const connection = http(`http://127.0.0.1:${port}`);
  for (const fetch of [undefined, () => Promise.reject(foreignError(connection))]) {
    const { pool, assertAll } = observed({ credentials: hook, ...(fetch ? { fetch } : {}) });
    const error = await failureOf(pool.callTool(connection, auth, "a", {}));
    assertInstanceOf(error, McpRuntimeError);
    assertAll(error);
    await pool.closeAll();
  }
});
