import { assert, assertEquals, assertLess, assertRejects, assertStringIncludes } from "@std/assert";
import { openMcpSession } from "../../runtime/client.ts";
import { type AuthRejectedError, McpTimeoutError } from "../../runtime/errors.ts";
import { PersistentSessionFactory, type SessionFactoryOptions } from "../../runtime/factory.ts";
import { McpRuntimePool } from "../../runtime/pool.ts";
import {
  type CredentialsHook,
  type CredentialsRequest,
  CredentialsSource,
} from "../../runtime/transport/credentials.ts";
import { failureOf } from "../fixtures/http/failure.ts";
import { connectionTo, type Seen, startServer, type TestServer } from "../fixtures/http/server.ts";

const poolWith = (options: SessionFactoryOptions) => new McpRuntimePool(new PersistentSessionFactory(options));
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const tokenOf = (seen: Seen) => seen.headers.get("authorization")?.replace("Bearer ", "") ?? null;

/** A server that takes one token, which a test may change. */
function guardedServer(valid: { token: string }, challenge = 'Bearer error="invalid_token"'): TestServer {
  return startServer({
    request: (seen) =>
      tokenOf(seen) === valid.token
        ? undefined
        : new Response("no", { status: 401, headers: { "www-authenticate": challenge } }),
  });
}

/** A hook that keeps a token and gets a newer one when told that it was rejected. */
function rotatingHook(tokens: string[]): { hook: CredentialsHook; asked: CredentialsRequest[]; refreshes(): number } {
  const asked: CredentialsRequest[] = [];
  let current = tokens.shift()!;
  return {
    asked,
    refreshes: () => asked.filter(({ rejected }) => rejected).length,
    hook: async (request) => {
      asked.push(request);
      if (request.rejected) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        current = tokens.shift() ?? current;
      }
      return { Authorization: `Bearer ${current}` };
    },
  };
}

Deno.test("H12 credentials: a new token for each request, on one session", async () => {
  await using server = startServer();
  let count = 0;
  const pool = poolWith({ credentials: () => ({ authorization: `Bearer token-${++count}` }) });
  for (const n of range(3)) await pool.callTool(connectionTo(server.url), null, "echo", { n });
  await pool.closeAll();
  assertEquals(server.of("initialize").length, 1);
  assertEquals(server.seen.map(tokenOf), range(server.seen.length).map((n) => `token-${n + 1}`));
  assertEquals(server.seen.length, 6);
});

Deno.test("credentials: laid over the auth record and the configured headers, never two of one name", async () => {
  await using server = startServer();
  await using pool = poolWith({ credentials: () => ({ AUTHORIZATION: "Bearer hook", "X-A": "hook" }) });
  const connection = connectionTo(server.url, { Authorization: "Bearer configured", "x-a": "configured", "X-B": "b" });
  const auth = {
    connectionId: connection.id,
    scheme: "bearer",
    payload: { token: "auth", headers: { "x-b": "auth" } },
  };
  await pool.callTool(connection, auth, "echo", {});
  const { headers } = server.of("tools/call")[0];
  assertEquals(["authorization", "x-a", "x-b"].map((name) => headers.get(name)), ["Bearer hook", "hook", "auth"]);
});

Deno.test("HttpTransport: headers of the auth record win over those of the transport, whatever their case", async () => {
  await using server = startServer();
  await using pool = poolWith({});
  const connection = connectionTo(server.url, { AUTHORIZATION: "Bearer configured", "X-Only": "1" });
  const auth = { connectionId: connection.id, scheme: "bearer", payload: { token: "record" } };
  await pool.callTool(connection, auth, "echo", {});
  const { headers } = server.of("tools/call")[0];
  assertEquals([headers.get("authorization"), headers.get("x-only")], ["Bearer record", "1"]);
});

Deno.test("HttpTransport: user info in the URL becomes Basic authorization unless one is configured", async () => {
  await using server = startServer();
  const url = server.url.replace("http://", "http://user:p%40ss@");
  await using pool = poolWith({});
  await pool.callTool(connectionTo(url), null, "echo", {});
  await pool.callTool(connectionTo(url, { authorization: "Bearer own" }), null, "echo", {});
  const sent = server.of("tools/call").map(({ headers }) => headers.get("authorization"));
  assertEquals(sent, [`Basic ${btoa("user:p@ss")}`, "Bearer own"]);
});

for (const concurrency of [1, 10]) {
  Deno.test(`H13 credentials: a token expires under ten parallel calls: one refresh, concurrency ${concurrency}`, async () => {
    const valid = { token: "one" };
    await using server = guardedServer(valid);
    const { hook, asked, refreshes } = rotatingHook(["one", "two"]);
    await using pool = poolWith({ credentials: hook, concurrency });
    const connection = connectionTo(server.url);
    await pool.callTool(connection, null, "echo", {});
    valid.token = "two";
    const results = await Promise.all(range(10).map((n) => pool.callTool(connection, null, "echo", { n })));
    assertEquals(results.map(({ output }) => output.n), range(10));
    assertEquals(refreshes(), 1);
    assertEquals(asked.find(({ rejected }) => rejected)?.rejected, {
      status: 401,
      sentHeaders: { authorization: "Bearer one" },
      challenge: 'Bearer error="invalid_token"',
    });
    for (const n of range(10)) {
      const sent = server.of("tools/call").filter(({ message }) =>
        (message.params?.arguments as { n?: number }).n === n
      );
      assert(sent.length <= 2, `call ${n} was sent ${sent.length} times`);
      assertEquals(tokenOf(sent.at(-1)!), "two");
    }
    assertEquals(server.of("initialize").length, 1);
  });
}

Deno.test("H13 credentials: the hook returns the same again: AUTH_REJECTED, no loop", async () => {
  await using server = guardedServer({ token: "other" }, 'Bearer error="invalid_token", scope="a b"');
  const { hook, asked } = rotatingHook(["one"]);
  await using pool = poolWith({ credentials: hook });
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery, error.status as unknown], ["AUTH_REJECTED", "not-sent", 401]);
  assertEquals((error as unknown as AuthRejectedError).challenge, {
    scheme: "Bearer",
    error: "invalid_token",
    scope: "a b",
  });
  assertEquals(server.seen.length, 1);
  assertEquals(asked.length, 2);
});

Deno.test("H13 credentials: a renewed token that is refused too: AUTH_REJECTED, no loop", async () => {
  await using server = guardedServer({ token: "other" });
  const { hook } = rotatingHook(["one", "two", "three", "four"]);
  await using pool = poolWith({ credentials: hook });
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals(error.code, "AUTH_REJECTED");
  assertEquals(server.seen.map(tokenOf), ["one", "two"]);
});

Deno.test("H13 credentials: ten parallel calls and a hook that has no newer token: one refresh, ten rejections", async () => {
  const valid = { token: "one" };
  await using server = guardedServer(valid);
  const { hook, refreshes } = rotatingHook(["one"]);
  await using pool = poolWith({ credentials: hook, concurrency: 10 });
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  valid.token = "two";
  const calls = range(10).map(() => failureOf(pool.callTool(connectionTo(server.url), null, "echo", {})));
  assertEquals((await Promise.all(calls)).map(({ code }) => code), range(10).map(() => "AUTH_REJECTED"));
  assertEquals(refreshes(), 1);
  assertEquals(server.of("tools/call").length, 11);
});

Deno.test("H13 credentials: a newer token than the rejected one is used without refreshing again", async () => {
  const valid = { token: "one" };
  let release!: () => void;
  const held = new Promise<void>((resolve) => release = resolve);
  let arrived!: () => void;
  const slowArrived = new Promise<void>((resolve) => arrived = resolve);
  const server = startServer({
    request: async (seen) => {
      const refused = tokenOf(seen) !== valid.token;
      if (refused && (seen.message.params as { name?: string })?.name === "slow") {
        arrived();
        await held;
      }
      return refused ? new Response("no", { status: 401 }) : undefined;
    },
  });
  await using _server = server;
  const { hook, refreshes } = rotatingHook(["one", "two", "three"]);
  await using pool = poolWith({ credentials: hook, concurrency: 2 });
  const connection = connectionTo(server.url);
  await pool.callTool(connection, null, "warm", {});
  valid.token = "two";
  const slow = pool.callTool(connection, null, "slow", {});
  await slowArrived;
  await pool.callTool(connection, null, "fast", {});
  assertEquals(refreshes(), 1);
  release();
  assertEquals((await slow).outcome, "ok");
  assertEquals(refreshes(), 1);
});

Deno.test("H13 credentials: two scopes never share a refresh, two sessions of one scope do", async () => {
  const valid = { token: "one" };
  await using server = guardedServer(valid);
  const asked: (string | undefined)[] = [];
  const hook: CredentialsHook = async ({ scope, rejected }) => {
    if (!rejected) return { authorization: "Bearer one" };
    asked.push(scope);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return { authorization: "Bearer two" };
  };
  const factory = new PersistentSessionFactory({ credentials: hook });
  await using a = new McpRuntimePool(factory);
  await using b = new McpRuntimePool(factory);
  const connection = connectionTo(server.url);
  const call = (pool: McpRuntimePool, scope: string) => pool.callTool(connection, null, "echo", {}, { scope });
  await Promise.all([call(a, "x"), call(a, "y"), call(b, "x")]);
  valid.token = "two";
  await Promise.all([call(a, "x"), call(a, "y"), call(b, "x")]);
  assertEquals(asked.sort(), ["x", "y"]);
});

Deno.test("H13 credentials: 403 is asked again only with insufficient_scope, once", async () => {
  for (const [challenge, expected] of [['Bearer error="insufficient_scope", scope="write"', 2], [null, 1]] as const) {
    await using server = startServer({
      call: () =>
        new Response("no", { status: 403, headers: challenge === null ? {} : { "www-authenticate": challenge } }),
    });
    const { hook, refreshes } = rotatingHook(["one", "two", "three"]);
    await using pool = poolWith({ credentials: hook });
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.status as unknown], ["AUTH_REJECTED", 403]);
    assertEquals([server.of("tools/call").length, refreshes()], [expected, expected - 1]);
  }
});

Deno.test("H13 CredentialsSource: a newer answer serves a call that was refused with 401, not one that needs more rights", async () => {
  const asked: (number | undefined)[] = [];
  const hook: CredentialsHook = ({ rejected }) => ({ authorization: `Bearer token-${asked.push(rejected?.status)}` });
  const source = new CredentialsSource(hook, { connection: connectionTo("http://127.0.0.1:9"), auth: null });
  const { signal } = new AbortController();
  const refused = await source.headers(signal);
  const newer = await source.headers(signal);
  assertEquals(await source.renew(refused, 401, null, signal), newer);
  const stepped = await source.renew(refused, 403, 'Bearer error="insufficient_scope"', signal);
  assertEquals([stepped?.headers, asked], [{ authorization: "Bearer token-3" }, [undefined, undefined, 403]]);
});

Deno.test("H13 credentials: a step-up after 403 insufficient_scope is sent once more and answered", async () => {
  await using server = startServer({
    call: (seen) =>
      tokenOf(seen) === "two" ? undefined : new Response("no", {
        status: 403,
        headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="write"' },
      }),
  });
  const { hook, asked } = rotatingHook(["one", "two"]);
  await using pool = poolWith({ credentials: hook });
  assertEquals((await pool.callTool(connectionTo(server.url), null, "echo", { a: 1 })).output, { a: 1 });
  assertEquals(asked.find(({ rejected }) => rejected)?.rejected?.status, 403);
});

for (const when of ["first", "refresh"] as const) {
  Deno.test(`H13 credentials: a hook that never answers ends at its limit, ${when}`, async () => {
    await using server = guardedServer({ token: "two" });
    let aborted = false;
    const hook: CredentialsHook = ({ signal, rejected }) => {
      if (when === "refresh" && !rejected) return { authorization: "Bearer one" };
      signal.addEventListener("abort", () => aborted = true, { once: true });
      return new Promise(() => {});
    };
    await using pool = poolWith({ credentials: hook, credentialsTimeoutMs: 50 });
    const started = performance.now();
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assert(error instanceof McpTimeoutError);
    assertEquals([error.code, error.delivery, error.limitMs], ["AUTH_REJECTED", "not-sent", 50]);
    assertLess(performance.now() - started, 5_000);
    assert(aborted);
  });
}

Deno.test("credentials: a call that times out while the hook is asked was not sent", async () => {
  await using server = startServer();
  let waiting = false;
  const hook: CredentialsHook = () => waiting ? new Promise(() => {}) : {};
  await using pool = poolWith({ credentials: hook, closeTimeoutMs: 50, credentialsTimeoutMs: 200 });
  await pool.callTool(connectionTo(server.url), null, "echo", {});
  waiting = true;
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}, { timeoutMs: 50 }));
  assertEquals([error.code, error.delivery], ["CALL_TIMEOUT", "not-sent"]);
  assertEquals(server.of("tools/call").length, 1);
  assertEquals(server.of("notifications/cancelled").length, 0);
});

for (const how of ["timeout", "close"] as const) {
  Deno.test(`H13 credentials: a call whose ${how} comes while a refused token is renewed was not sent`, async () => {
    const valid = { token: "one" };
    await using server = guardedServer(valid);
    let asked!: () => void;
    const renewing = new Promise<void>((resolve) => asked = resolve);
    const credentials: CredentialsHook = ({ rejected }) => {
      if (!rejected) return { authorization: "Bearer one" };
      asked();
      return new Promise(() => {});
    };
    const session = await openMcpSession(connectionTo(server.url), null, { credentials, closeTimeoutMs: 50 });
    valid.token = "two";
    const call = failureOf(session.callTool("echo", {}, how === "timeout" ? { timeoutMs: 100 } : {}));
    await renewing;
    if (how === "close") await session.close();
    const error = await call;
    assertEquals([error.code, error.delivery], [how === "timeout" ? "CALL_TIMEOUT" : "SESSION_CLOSED", "not-sent"]);
    await session.close();
    // The server never took the call, so there is nothing to cancel.
    assertEquals(server.of("notifications/cancelled").length, 0);
  });
}

Deno.test("H13 credentials: a call that times out after it was sent again may have run", async () => {
  await using server = startServer({
    call: async (seen) => {
      if (tokenOf(seen) === "two") await new Promise((resolve) => seen.signal.addEventListener("abort", resolve));
      return new Response("no", { status: 401 });
    },
  });
  const { hook } = rotatingHook(["one", "two"]);
  await using pool = poolWith({ credentials: hook });
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}, { timeoutMs: 300 }));
  assertEquals([error.code, error.delivery], ["CALL_TIMEOUT", "unknown"]);
});

Deno.test("credentials: a hook that throws is AUTH_REJECTED with a clean cause, and nothing is sent", async () => {
  await using server = startServer();
  const hook: CredentialsHook = () => {
    throw new Error("vault is sealed: https://vault.example/v1?token=query-secret");
  };
  await using pool = poolWith({ credentials: hook });
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  assertEquals([error.code, error.delivery], ["AUTH_REJECTED", "not-sent"]);
  assertStringIncludes(error.message, "vault is sealed");
  assert(!Deno.inspect(error, { depth: 9 }).includes("query-secret"));
  assertEquals(server.seen.length, 0);
});

const BAD_HEADERS: Record<string, unknown> = {
  "Mcp-Session-Id": { "Mcp-Session-Id": "mine" },
  "content-LENGTH": { "content-LENGTH": "5" },
  host: { host: "other" },
  "last-event-id": { "last-event-id": "1" },
  "a line break": { "x-a": "s3cret\r\nx-b: 1" },
  "a number": { "x-a": 5 },
  "no object": "Bearer x",
};

for (const [name, headers] of Object.entries(BAD_HEADERS)) {
  Deno.test(`H16 credentials: hook headers are refused before sending: ${name}`, async () => {
    await using server = startServer();
    await using pool = poolWith({ credentials: () => headers as Record<string, string> });
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    assertEquals([error.code, error.delivery], ["INPUT_INVALID", "not-sent"]);
    assert(!error.message.includes("s3cret"));
    assertEquals(server.seen.length, 0);
  });
}

Deno.test("H16 connection: a configured header that belongs to the protocol is refused before sending", async () => {
  await using server = startServer();
  await using pool = poolWith({});
  for (const name of ["Mcp-Session-Id", "MCP-Protocol-Version", "Accept", "Content-Type", "Host"]) {
    const error = await failureOf(pool.callTool(connectionTo(server.url, { [name]: "x" }), null, "echo", {}));
    assertEquals(error.code, "CONNECTION_INVALID");
    const auth = { connectionId: "test.http", scheme: "x", payload: { headers: { [name]: "x" } } };
    const other = await failureOf(pool.callTool(connectionTo(server.url), auth, "echo", {}));
    assertEquals(other.code, "CONNECTION_INVALID");
  }
  assertEquals(server.seen.length, 0);
});

Deno.test("credentials: no error shows a token that a hook gave, even when the server repeats it", async () => {
  const token = "hook-token-0123456789";
  for (const status of [401, 500, 400]) {
    await using server = startServer({
      call: (seen) =>
        new Response(`you sent ${tokenOf(seen)}`, {
          status,
          headers: { "www-authenticate": `Bearer realm="${token}", error_description="${token}"` },
        }),
    });
    await using pool = poolWith({ credentials: () => ({ authorization: `Bearer ${token}` }) });
    const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
    const shown = `${Deno.inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${error.stack}`;
    assert(!shown.includes(token), shown);
  }
});

Deno.test("credentials: a JSON-RPC error that repeats a hook's token is cleaned", async () => {
  const token = "hook-token-0123456789";
  await using server = startServer({
    call: (seen) =>
      Response.json({
        jsonrpc: "2.0",
        id: seen.message.id,
        error: { code: -32000, message: `bad token ${tokenOf(seen)}`, data: { token: tokenOf(seen) } },
      }),
  });
  await using pool = poolWith({ credentials: () => ({ authorization: `Bearer ${token}` }) });
  const error = await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  const shown = `${Deno.inspect(error, { depth: 9 })} ${JSON.stringify(error)}`;
  assert(!shown.includes(token), shown);
});

Deno.test("credentials: a waiter that aborts during a shared refresh leaves; the others are served", async () => {
  const valid = { token: "one" };
  await using server = guardedServer(valid);
  let renew!: () => void;
  const renewed = new Promise<void>((resolve) => renew = resolve);
  let asked!: () => void;
  const refreshing = new Promise<void>((resolve) => asked = resolve);
  let current = "one";
  const hook: CredentialsHook = async ({ rejected }) => {
    if (rejected) {
      asked();
      await renewed;
      current = "two";
    }
    return { authorization: `Bearer ${current}` };
  };
  await using pool = poolWith({ credentials: hook, concurrency: 2 });
  const connection = connectionTo(server.url);
  await pool.callTool(connection, null, "warm", {});
  valid.token = "two";
  const controller = new AbortController();
  const leaves = pool.callTool(connection, null, "echo", { n: 1 }, { signal: controller.signal });
  const stays = pool.callTool(connection, null, "echo", { n: 2 });
  await refreshing;
  controller.abort(new Error("gone"));
  await assertRejects(() => leaves, Error, "gone");
  renew();
  assertEquals((await stays).output, { n: 2 });
});

Deno.test("credentials: a refresh that nobody waits for any more is aborted", async () => {
  const valid = { token: "one" };
  await using server = guardedServer(valid);
  let asked!: (signal: AbortSignal) => void;
  const refreshing = new Promise<AbortSignal>((resolve) => asked = resolve);
  const hook: CredentialsHook = ({ rejected, signal }) => {
    if (!rejected) return { authorization: `Bearer ${valid.token}` };
    asked(signal);
    return new Promise(() => {});
  };
  await using pool = poolWith({ credentials: hook });
  const connection = connectionTo(server.url);
  await pool.callTool(connection, null, "warm", {});
  const stale = poolWith({
    credentials: (request) => request.rejected ? hook(request) : { authorization: "Bearer old" },
  });
  await using _stale = stale;
  const controller = new AbortController();
  const call = stale.callTool(connection, null, "echo", {}, { signal: controller.signal });
  call.catch(() => {});
  const signal = await refreshing;
  controller.abort(new Error("gone"));
  await assertRejects(() => call, Error, "gone");
  // The shared opening is given up only when its pool closes.
  await stale.abort();
  assert(signal.aborted);
});

Deno.test("McpRuntimePool: abort during a credentials hook tells the call that it was not sent", async () => {
  await using server = startServer();
  const asked = Promise.withResolvers<void>();
  let calls = 0;
  const pool = poolWith({
    credentials: () => {
      if (++calls < 3) return {}; // initialize and initialized
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const call = failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  await asked.promise;
  await pool.abort(new Error("enough"));
  const error = await call;
  assertEquals([error.code, error.delivery], ["SESSION_CLOSED", "not-sent"]);
  assertEquals(server.of("tools/call"), []);
});
