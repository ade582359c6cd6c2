/**
 * The program under test of the conformance suite: a client made of the public API alone. The suite gives the server's
 * URL as the last argument, the scenario and its context in the environment.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/auth"
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { type OAuthClientInformationLike, oauthCredentials, type OAuthTokensLike } from "../../runtime/oauth.ts";
import { AuthRejectedError, McpRuntimePool, PersistentSessionFactory } from "../../mod.ts";

const scenario = Deno.env.get("MCP_CONFORMANCE_SCENARIO") ?? "initialize";
const context: Record<string, string> = JSON.parse(Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}");
const url = Deno.args.at(-1)!;

/** Keeps everything in memory, and goes where a person would be sent: the suite's server redirects back at once. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:3000/callback";
  readonly clientMetadataUrl = "https://conformance-test.local/client-metadata.json";
  readonly clientMetadata = {
    client_name: "conformance-client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  code: string | undefined;
  #client: OAuthClientInformationLike | undefined = context.client_id === undefined
    ? undefined
    : { client_id: context.client_id, client_secret: context.client_secret };
  #tokens: OAuthTokensLike | undefined;
  #verifier = "";

  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: OAuthClientInformationLike) {
    this.#client = client;
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: OAuthTokensLike) {
    this.#tokens = tokens;
  }
  codeVerifier() {
    return this.#verifier;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  async redirectToAuthorization(authorizationUrl: URL) {
    const response = await fetch(authorizationUrl, { redirect: "manual" });
    await response.body?.cancel();
    this.code = new URL(response.headers.get("location")!).searchParams.get("code") ?? undefined;
  }
}

const provider = new Provider();
const credentials = oauthCredentials(provider);
const options = scenario.startsWith("auth/") ? { credentials } : {};
await using pool = new McpRuntimePool(new PersistentSessionFactory(options));
const connection = {
  id: "conformance.test",
  provider: "conformance",
  account: "test",
  transport: { kind: "http" as const, url },
};

/** Makes a call, and follows at most two authorizations on the way. */
async function call(tool: string, payload: Record<string, unknown>): Promise<void> {
  for (let authorizations = 0;; authorizations++) {
    try {
      const { outcome } = await pool.callTool(connection, null, tool, payload);
      return console.log(tool, outcome);
    } catch (error) {
      if (!(error instanceof AuthRejectedError) || provider.code === undefined || authorizations === 2) throw error;
      const { code } = provider;
      provider.code = undefined;
      await credentials.finish(code);
    }
  }
}

if (scenario === "initialize") await pool.getSession(connection, null);
else if (scenario === "tools_call") await call("add_numbers", { a: 2, b: 3 });
else if (scenario === "sse-retry") await call("test_reconnection", {});
else await call("test-tool", {});
