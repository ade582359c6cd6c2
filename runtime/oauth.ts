/**
 * OAuth for HTTP servers (MCP 2025-11-25, Authorization): a provider of the SDK as a credentials hook.
 *
 * An entry point of its own, `@wf/sources-mcp/oauth`: only programs that use OAuth load the SDK's part for it.
 *
 * @module
 */
import { type AuthChallenge, AuthRejectedError, McpRuntimeError } from "./errors.ts";
import { checkOptions, checkValue } from "./input.ts";
import { guardedFetch, targetProblem } from "./oauth/guarded_fetch.ts";
import type { FetchLike } from "./oauth/guarded_fetch.ts";
import type { OAuthProviderLike, OAuthTokensLike } from "./oauth/provider.ts";
import { auth, type OAuthClientProvider } from "./sdk.ts";
import { Redactor, safeCause, showUrl } from "./secrets.ts";
import { parseChallenge } from "./transport/challenge.ts";
import type { CredentialsHook, CredentialsRequest } from "./transport/credentials.ts";

export type { AuthRecord } from "./auth.ts";
export type { HttpSourceTransport, McpSourceConnection, SourceTransport, StdioSourceTransport } from "./connection.ts";
export type * from "./oauth/provider.ts";
export type { FetchLike } from "./oauth/guarded_fetch.ts";
export type { CredentialsHook, CredentialsRequest, RejectedCredentials } from "./transport/credentials.ts";

/** Options of {@linkcode oauthCredentials}. */
export interface OAuthCredentialsOptions {
  /** URL of the MCP server, for a `finish` in a program that did not begin the authorization itself. */
  serverUrl?: string;
  /** Does the OAuth requests. Default: the `fetch` of the session, else the global one. */
  fetch?: FetchLike;
}

/** A credentials hook that can finish an authorization for which a person had to be asked. */
export type OAuthCredentials = CredentialsHook & {
  /**
   * Exchanges the code that the person came back with for tokens. The calls after it use them.
   *
   * @param authorizationCode `code` of the redirect
   * @returns resolves when the provider has the tokens
   * @throws {McpRuntimeError} `AUTH_REJECTED` when the authorization server refuses; `INPUT_INVALID` when no
   * authorization was begun and no `serverUrl` was given
   */
  finish(authorizationCode: string): Promise<void>;
};

/** What one run of the SDK's `auth` is about. */
interface Attempt {
  serverUrl: string;
  scope?: string;
  resourceMetadataUrl?: URL;
  fetch: FetchLike;
}

/**
 * Makes a credentials hook of an OAuth provider. Discovery, registration, PKCE, refresh and the grants are the SDK's
 * `auth()`; it runs when the server refuses what the provider has, once for all calls that wait.
 *
 * When a person has to authorize, the calls reject with `AUTH_REJECTED` and `authorizationUrl`; send the person there,
 * pass the code to `finish`, and call again. 403 with `insufficient_scope` asks for the scopes of the challenge beside
 * those that the token has.
 *
 * Where the server points to is fetched only if a server may point there: from a public server neither plain HTTP nor
 * a private address, also not by a redirect.
 *
 * @param provider keeps tokens, client and verifier; one for each server and user
 * @param options server URL and fetch
 * @returns the hook, for `credentials` of a factory or transport
 * @throws {McpRuntimeError} `INPUT_INVALID` for a provider or an option of a wrong kind
 *
 * @example
 * ```ts
 * import { AuthRejectedError, McpRuntimePool, PersistentSessionFactory } from "@wf/sources-mcp";
 * import { oauthCredentials, type OAuthProviderLike } from "@wf/sources-mcp/oauth";
 *
 * // The provider is such as the SDK's InMemoryOAuthClientProvider.
 * async function search(provider: OAuthProviderLike) {
 *   const credentials = oauthCredentials(provider);
 *   await using pool = new McpRuntimePool(new PersistentSessionFactory({ credentials }));
 *   const docs = {
 *     id: "docs.me",
 *     provider: "docs",
 *     account: "me",
 *     transport: { kind: "http" as const, url: "https://example.com/mcp" },
 *   };
 *   try {
 *     return await pool.callTool(docs, null, "search", { query: "sessions" });
 *   } catch (error) {
 *     if (!(error instanceof AuthRejectedError) || !error.authorizationUrl) throw error;
 *     console.log("Please open", error.authorizationUrl);
 *     await credentials.finish(prompt("Code:") ?? "");
 *   }
 * }
 * ```
 */
export function oauthCredentials(provider: OAuthProviderLike, options: OAuthCredentialsOptions = {}): OAuthCredentials {
  checkValue("provider", provider, "oauthProvider");
  checkOptions(options, { serverUrl: "string", fetch: "function" });
  const client = new OAuthClient(provider, options);
  const hook = (request: CredentialsRequest) => client.headers(request);
  return Object.assign(hook, { finish: (authorizationCode: string) => client.finish(authorizationCode) });
}

class OAuthClient {
  readonly #provider: OAuthProviderLike;
  readonly #options: OAuthCredentialsOptions;
  /** The authorization that waits for a person. */
  #begun: Attempt | undefined;

  constructor(provider: OAuthProviderLike, options: OAuthCredentialsOptions) {
    this.#provider = provider;
    this.#options = options;
  }

  async headers(request: CredentialsRequest): Promise<Record<string, string>> {
    const tokens = await this.#provider.tokens();
    const { rejected } = request;
    const current = headersOf(tokens);
    if (!rejected) return current;
    // Another session, or the program itself, may have renewed the token meanwhile.
    const newer = current.authorization !== undefined && current.authorization !== rejected.sentHeaders.authorization;
    if (rejected.status === 401 && newer) return current;
    const challenge = parseChallenge(rejected.challenge, new Redactor([]));
    const attempt = this.#attemptOf(request, challenge, tokens);
    const authorizationUrl = await this.#authorize(attempt, challenge, rejected.status, request.signal);
    if (authorizationUrl === undefined) return headersOf(await this.#provider.tokens());
    this.#begun = attempt;
    throw rejection("a person has to authorize", rejected.status, challenge, { authorizationUrl });
  }

  async finish(authorizationCode: string): Promise<void> {
    const { serverUrl, fetch = globalFetch } = this.#options;
    const attempt = this.#begun ?? (serverUrl === undefined ? undefined : { serverUrl, fetch });
    if (!attempt) {
      throw new McpRuntimeError("no authorization was begun that could be finished, and no serverUrl was given", {
        code: "INPUT_INVALID",
      });
    }
    await this.#run(this.#provider, attempt, { authorizationCode });
    this.#begun = undefined;
  }

  #attemptOf(request: CredentialsRequest, challenge: AuthChallenge | undefined, tokens?: OAuthTokensLike): Attempt {
    const { transport } = request.connection;
    const serverUrl = transport?.kind === "http" ? withoutUserInfo(transport.url) : this.#options.serverUrl ?? "";
    const status = request.rejected?.status ?? null;
    const resourceMetadataUrl = metadataUrlOf(challenge, serverUrl, status);
    const scope = status === 403 ? union(tokens?.scope, challenge?.scope) : challenge?.scope;
    return {
      serverUrl,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      fetch: this.#options.fetch ?? request.fetch ?? globalFetch,
    };
  }

  /** @returns where a person has to go, or `undefined` when the provider has new tokens */
  async #authorize(
    attempt: Attempt,
    challenge: AuthChallenge | undefined,
    status: number,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    let authorizationUrl: string | undefined;
    const provider = overlaid(this.#provider, {
      redirectToAuthorization: async (url: URL) => {
        authorizationUrl = url.href;
        await this.#provider.redirectToAuthorization(url);
      },
      // A refresh gives the scopes of before, so for more of them the authorization begins anew.
      ...(status === 403 ? { tokens: () => undefined } : {}),
    });
    const result = await this.#run(provider, attempt, { signal, status, challenge });
    return result === "AUTHORIZED" ? undefined : authorizationUrl ?? "";
  }

  async #run(
    provider: OAuthProviderLike,
    { fetch, ...attempt }: Attempt,
    about: { authorizationCode?: string; signal?: AbortSignal; status?: number; challenge?: AuthChallenge },
  ): Promise<"AUTHORIZED" | "REDIRECT"> {
    const refusals: string[] = [];
    const { authorizationCode, signal, status = null, challenge } = about;
    const fetchFn = guardedFetch(new URL(attempt.serverUrl), fetch, signal, (reason) => refusals.push(reason));
    try {
      return await auth(provider as OAuthClientProvider, {
        ...attempt,
        fetchFn,
        ...(authorizationCode === undefined ? {} : { authorizationCode }),
      });
    } catch (error) {
      const redactor = await this.#redactor(authorizationCode);
      const cause = safeCause(error, redactor);
      const said = refusals[0] === undefined
        ? redactor.redact(cause instanceof Error ? cause.message || cause.name : String(cause))
        : `${refusals[0]}, so it was not fetched`;
      throw rejection(`authorization failed: ${said}`, status, challenge, { cause });
    }
  }

  /** Knows what the provider keeps, at the time of a failure. */
  async #redactor(authorizationCode: string | undefined): Promise<Redactor> {
    const secrets: (string | undefined)[] = [authorizationCode];
    try {
      const tokens = await this.#provider.tokens();
      const client = await this.#provider.clientInformation();
      secrets.push(tokens?.access_token, tokens?.refresh_token, tokens?.id_token, client?.client_secret);
      secrets.push(await this.#provider.codeVerifier());
    } catch {
      // A provider without verifier may throw; what it does not have cannot be shown.
    }
    return new Redactor(secrets.filter((secret) => secret !== undefined));
  }
}

function headersOf(tokens: OAuthTokensLike | undefined): Record<string, string> {
  return tokens === undefined ? {} : { authorization: `Bearer ${tokens.access_token}` };
}

function metadataUrlOf(
  challenge: AuthChallenge | undefined,
  serverUrl: string,
  status: number | null,
): URL | undefined {
  const given = challenge?.resourceMetadataUrl;
  if (given === undefined) return undefined;
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    return undefined; // The SDK looks at the well-known places then (RFC 9728, section 3.1).
  }
  const problem = targetProblem(url, new URL(serverUrl));
  if (problem === undefined) return url;
  const what = `the server's resource_metadata ${showUrl(given)} ${problem}, so it was not fetched`;
  throw rejection(what, status, challenge, {});
}

function rejection(
  what: string,
  status: number | null,
  challenge: AuthChallenge | undefined,
  more: { authorizationUrl?: string; cause?: unknown },
): AuthRejectedError {
  return new AuthRejectedError(`no OAuth credentials: ${what}`, {
    code: "AUTH_REJECTED",
    status,
    ...(challenge === undefined ? {} : { challenge }),
    ...more,
  });
}

/** The provider with some members replaced; its own keep their `this`, private fields included. */
function overlaid(provider: OAuthProviderLike, members: Partial<OAuthProviderLike>): OAuthProviderLike {
  return new Proxy(provider, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof OAuthProviderLike];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function union(...scopes: (string | undefined)[]): string | undefined {
  const words = new Set(scopes.flatMap((scope) => scope?.split(" ") ?? []).filter((word) => word !== ""));
  return words.size === 0 ? undefined : [...words].join(" ");
}

function withoutUserInfo(text: string): string {
  const url = new URL(text);
  url.username = url.password = "";
  return url.href;
}

function globalFetch(input: string, init: RequestInit): Promise<Response> {
  return globalThis.fetch(input, init);
}
