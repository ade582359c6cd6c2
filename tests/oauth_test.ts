// @ts-types="@modelcontextprotocol/sdk/client/auth"
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { AuthRejectedError } from "../runtime/errors.ts";
import { PersistentSessionFactory } from "../runtime/factory.ts";
import { oauthCredentials } from "../runtime/oauth.ts";
import type { OAuthClientInformationLike, OAuthProviderLike, OAuthTokensLike } from "../runtime/oauth.ts";
import { guardedFetch, isPrivateHost, targetProblem } from "../runtime/oauth/guarded_fetch.ts";
import { McpRuntimePool } from "../runtime/pool.ts";
import type { auth } from "../runtime/sdk.ts";
import { failureOf } from "./fixtures/http/failure.ts";
import { connectionTo, type Seen, startServer, type TestServer } from "./fixtures/http/server.ts";

// Types: each must compile.
// In tuples: of a module that was not resolved, a bare condition is `any` again, and fits both answers.
type IsAny<T> = [0] extends [1 & T] ? true : false;
const sdkIsTyped: [IsAny<OAuthClientProvider>, IsAny<typeof auth>] = [false, false];
const toSdk = (provider: OAuthProviderLike): OAuthClientProvider => provider;
const fromSdk = (provider: OAuthClientProvider): OAuthProviderLike => provider;

Deno.test("OAuthProviderLike: assignable to and from the SDK's OAuthClientProvider, and the SDK's types are no any", () => {
  assertEquals(sdkIsTyped, [false, false]);
  const provider = new MemoryProvider();
  assertEquals(fromSdk(toSdk(provider)), provider);
});

class MemoryProvider implements OAuthProviderLike {
  readonly redirectUrl = "http://127.0.0.1:9/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "test" };
  readonly sentTo: URL[] = [];
  client: OAuthClientInformationLike | undefined;
  stored: OAuthTokensLike | undefined;
  #verifier = "";
  clientInformation = () => this.client;
  saveClientInformation = (client: OAuthClientInformationLike) => void (this.client = client);
  tokens = () => this.stored;
  saveTokens = (tokens: OAuthTokensLike) => void (this.stored = tokens);
  redirectToAuthorization = (url: URL) => void this.sentTo.push(url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
}

interface OAuthServer extends TestServer {
  /** The access token that the MCP server takes now. */
  valid: string;
  /** Grants that the token endpoint saw. */
  grants: Record<string, string>[];
}

/** An MCP server that is its own authorization server. */
function startOAuthServer(): OAuthServer {
  let issued = 0;
  const state = { valid: "token-0", grants: [] as Record<string, string>[] };
  const server = startServer({
    request: (seen) => {
      if (seen.path === "/mcp") {
        const refused = seen.headers.get("authorization") !== `Bearer ${state.valid}`;
        const metadata = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
        const challenge = `Bearer error="invalid_token", resource_metadata="${metadata}"`;
        return refused ? new Response("no", { status: 401, headers: { "www-authenticate": challenge } }) : undefined;
      }
      return authorizationServer(seen);
    },
  });
  const authorizationServer = (seen: Seen): Response => {
    const { origin } = server;
    switch (seen.path) {
      case "/.well-known/oauth-protected-resource/mcp":
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      case "/.well-known/oauth-authorization-server":
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        });
      case "/register":
        return Response.json({ client_id: "registered", redirect_uris: ["http://127.0.0.1:9/callback"] }, {
          status: 201,
        });
      case "/token": {
        const grant = Object.fromEntries(new URLSearchParams(seen.text));
        state.grants.push(grant);
        if (grant.grant_type === "authorization_code" && grant.code !== "good-code") {
          return Response.json({ error: "access_denied", error_description: `bad ${grant.code}` }, { status: 400 });
        }
        state.valid = `token-${++issued}`;
        return Response.json({ access_token: state.valid, token_type: "Bearer", refresh_token: `refresh-${issued}` });
      }
      default:
        return new Response(null, { status: 404 });
    }
  };
  return Object.defineProperties(server, {
    valid: { get: () => state.valid, set: (value) => state.valid = value },
    grants: { get: () => state.grants },
  }) as OAuthServer;
}

const poolWith = (
  credentials: ReturnType<typeof oauthCredentials>,
  fetch?: (input: string, init: RequestInit) => Promise<Response>,
) => new McpRuntimePool(new PersistentSessionFactory({ credentials, ...(fetch === undefined ? {} : { fetch }) }));

Deno.test("H13 oauthCredentials: a provider that must redirect: AUTH_REJECTED with the URL, then finish(code)", async () => {
  await using server = startOAuthServer();
  const provider = new MemoryProvider();
  const credentials = oauthCredentials(provider);
  await using pool = poolWith(credentials);
  const connection = connectionTo(server.url);
  const error = await failureOf(pool.callTool(connection, null, "echo", {})) as unknown as AuthRejectedError;
  assertEquals([error.code, error.delivery, error.connectionId], ["AUTH_REJECTED", "not-sent", connection.id]);
  assertEquals(error.authorizationUrl, provider.sentTo[0].href);
  assertStringIncludes(error.authorizationUrl!, `${server.origin}/authorize?`);
  assertEquals(error.challenge?.error, "invalid_token");
  await credentials.finish("good-code");
  assertEquals(server.grants.map(({ grant_type }) => grant_type), ["authorization_code"]);
  assertEquals((await pool.callTool(connection, null, "echo", { a: 1 })).output, { a: 1 });
});

Deno.test("H13 oauthCredentials: an expired token is refreshed once for ten parallel calls", async () => {
  await using server = startOAuthServer();
  const provider = new MemoryProvider();
  provider.client = { client_id: "registered", issuer: server.origin };
  provider.stored = {
    access_token: "token-0",
    token_type: "Bearer",
    refresh_token: "refresh-0",
    issuer: server.origin,
  };
  await using pool = poolWith(oauthCredentials(provider));
  const connection = connectionTo(server.url);
  await pool.callTool(connection, null, "echo", {});
  server.valid = "none";
  const calls = Array.from({ length: 10 }, (_, n) => pool.callTool(connection, null, "echo", { n }));
  assertEquals((await Promise.all(calls)).map(({ output }) => output.n), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assertEquals(server.grants.map(({ grant_type, refresh_token }) => [grant_type, refresh_token]), [
    ["refresh_token", "refresh-0"],
  ]);
  assertEquals(server.of("initialize").length, 1);
});

Deno.test("oauthCredentials: finish with a refused code is AUTH_REJECTED, and shows neither code nor tokens", async () => {
  await using server = startOAuthServer();
  const credentials = oauthCredentials(new MemoryProvider());
  await using pool = poolWith(credentials);
  await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  const error = await failureOf(credentials.finish("stolen-code"));
  assertEquals(error.code, "AUTH_REJECTED");
  assert(!Deno.inspect(error, { depth: 9 }).includes("stolen-code"), Deno.inspect(error, { depth: 9 }));
});

Deno.test("oauthCredentials: finish without an authorization is refused", async () => {
  const error = await failureOf(oauthCredentials(new MemoryProvider()).finish("code"));
  assertEquals(error.code, "INPUT_INVALID");
});

Deno.test("oauthCredentials: the OAuth requests go through the injected fetch", async () => {
  await using server = startOAuthServer();
  const paths: string[] = [];
  const fetch = (input: string, init: RequestInit) => {
    paths.push(new URL(input).pathname);
    return globalThis.fetch(input, init);
  };
  await using pool = poolWith(oauthCredentials(new MemoryProvider()), fetch);
  await failureOf(pool.callTool(connectionTo(server.url), null, "echo", {}));
  for (const path of ["/.well-known/oauth-protected-resource/mcp", "/register"]) {
    assert(paths.includes(path), `${paths}`);
  }
});

const REFUSED = [
  "http://meta.example/x",
  "https://127.0.0.1/x",
  "https://10.1.2.3/x",
  "https://169.254.169.254/latest",
  "https://[::1]/x",
  "https://[fd00::1]/x",
  "https://metadata.internal/x",
  "https://localhost:8443/x",
  "https://2130706433/x",
];

for (const url of REFUSED) {
  Deno.test(`H16 oauthCredentials: a public server's resource_metadata ${url} is not fetched`, async () => {
    const fetched: string[] = [];
    const fetch = (input: string) => {
      fetched.push(input);
      const headers = { "www-authenticate": `Bearer resource_metadata="${url}"` };
      return Promise.resolve(new Response("no", { status: 401, headers }));
    };
    await using pool = poolWith(oauthCredentials(new MemoryProvider()), fetch);
    const error = await failureOf(pool.callTool(connectionTo("https://mcp.example/mcp"), null, "echo", {}));
    assertEquals(error.code, "AUTH_REJECTED");
    assertMatch(error.message, /resource_metadata .* (plain HTTP|private address)/);
    assertEquals(fetched, ["https://mcp.example/mcp"]);
  });
}

Deno.test("H16 guardedFetch: a redirect to a private address is not followed, and a token request never", async () => {
  const fetched: string[] = [];
  const fetch = (input: string) => {
    fetched.push(input);
    return Promise.resolve(new Response(null, { status: 307, headers: { location: "https://192.168.0.1/x" } }));
  };
  const refused: string[] = [];
  const guarded = guardedFetch(new URL("https://mcp.example/mcp"), fetch, undefined, (reason) => refused.push(reason));
  const get = await guarded("https://auth.example/meta").then(() => "", (error) => String(error));
  assertStringIncludes(get, "private address");
  const post = await guarded("https://auth.example/token", { method: "POST" }).then(() => "", (error) => String(error));
  assertStringIncludes(post, "redirect");
  assertEquals(fetched, ["https://auth.example/meta", "https://auth.example/token"]);
  assertEquals(refused.length, 1);
});

Deno.test("targetProblem: a local server may point to local addresses and to the internet", () => {
  const local = new URL("http://127.0.0.1:3000/mcp");
  assertEquals(targetProblem(new URL("http://127.0.0.1:4000/x"), local), undefined);
  assertEquals(targetProblem(new URL("https://auth.example/x"), local), undefined);
  assertEquals(targetProblem(new URL("http://auth.example/x"), local), "is plain HTTP");
  assertEquals(targetProblem(new URL("file:///etc/passwd"), local), "is not a web address");
});

Deno.test("isPrivateHost: addresses and names", () => {
  const hosts = [
    "172.16.0.1",
    "172.31.9.9",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "intranet",
    "a.local",
    "[::]",
    "[fe80::1]",
    "[::ffff:7f00:1]",
  ];
  for (const host of hosts) assert(isPrivateHost(host), host);
  for (const host of ["172.32.0.1", "8.8.8.8", "100.128.0.1", "example.com", "[2606:4700::1111]", "local.example"]) {
    assert(!isPrivateHost(host), host);
  }
});
