/**
 * The shape of an OAuth provider: the SDK's `OAuthClientProvider`, typed by us. Types only; a test shows that each is
 * assignable to the other.
 *
 * @module
 */

/** Tokens as an authorization server issues them (RFC 6749, section 5.1). */
export interface OAuthTokensLike {
  /** Sent with each request as `Bearer`. */
  access_token: string;
  /** Kind of the token, `Bearer`. */
  token_type: string;
  /** Identity token of OpenID Connect. */
  id_token?: string;
  /** Seconds until the access token expires. */
  expires_in?: number;
  /** What the access token allows. */
  scope?: string;
  /** Gets the next access token. */
  refresh_token?: string;
  /** The authorization server that issued them, added by the SDK. */
  issuer?: string;
}

/** What an authorization server knows this program as (RFC 7591, section 3.2.1). */
export interface OAuthClientInformationLike {
  /** The client's id. */
  client_id: string;
  /** Its secret, for confidential clients. */
  client_secret?: string;
  /** When the id was issued, in seconds since 1970. */
  client_id_issued_at?: number;
  /** When the secret expires, in seconds since 1970; `0` for never. */
  client_secret_expires_at?: number;
  /** The authorization server that registered the client, added by the SDK. */
  issuer?: string;
}

/** What this program says of itself when it registers (RFC 7591, section 2). */
export interface OAuthClientMetadataLike {
  /** Where the authorization server may send a person back to. */
  redirect_uris: string[];
  /** How the client authenticates at the token endpoint. */
  token_endpoint_auth_method?: string;
  /** Grants it uses. */
  grant_types?: string[];
  /** Response types it uses. */
  response_types?: string[];
  /** Name shown to people. */
  client_name?: string;
  /** Home page. */
  client_uri?: string;
  /** Logo. */
  logo_uri?: string;
  /** Scopes it asks for when the server names none. */
  scope?: string;
  /** How to reach the people responsible. */
  contacts?: string[];
  /** Terms of service. */
  tos_uri?: string;
  /** Privacy policy. */
  policy_uri?: string;
  /** Where its keys are. */
  jwks_uri?: string;
  /** Its keys. */
  // deno-lint-ignore no-explicit-any -- the SDK has it so, and anything narrower would not be assignable both ways.
  jwks?: any;
  /** Name of the software. */
  software_id?: string;
  /** Its version. */
  software_version?: string;
  /** A signed statement about it. */
  software_statement?: string;
}

/** Metadata of an authorization server (RFC 8414), as far as it is always there. */
export interface OAuthServerMetadataLike {
  /** Name of the server, a URL. */
  issuer: string;
  /** Where a person authorizes. */
  authorization_endpoint: string;
  /** Where tokens are issued. */
  token_endpoint: string;
  /** Response types it knows. */
  response_types_supported: string[];
  /** Whatever else it says. */
  [name: string]: unknown;
}

/** What discovery found, for a provider that keeps it. */
export interface OAuthDiscoveryStateLike {
  /** The authorization server. */
  authorizationServerUrl: string;
  /** Its metadata. */
  authorizationServerMetadata?: OAuthServerMetadataLike;
  /** Metadata of the protected resource (RFC 9728). */
  resourceMetadata?: { resource: string; authorization_servers?: string[]; scopes_supported?: string[] };
  /** Where that came from. */
  resourceMetadataUrl?: string;
}

/**
 * Keeps what an OAuth client must remember and sends people to the authorization server: the SDK's
 * `OAuthClientProvider`. Whatever it keeps is secret.
 */
export interface OAuthProviderLike {
  /** Where a person comes back to; `undefined` for flows without a person. */
  get redirectUrl(): string | URL | undefined;
  /** A URL that serves as the client's id, for servers that know client id metadata documents. */
  clientMetadataUrl?: string;
  /** What this program says of itself. */
  get clientMetadata(): OAuthClientMetadataLike;
  /** A value that comes back with the person. */
  state?(): string | Promise<string>;
  /** The registered client, if there is one. */
  clientInformation(): OAuthClientInformationLike | undefined | Promise<OAuthClientInformationLike | undefined>;
  /** Keeps a registration. */
  saveClientInformation?(clientInformation: OAuthClientInformationLike): void | Promise<void>;
  /** The tokens, if there are any. */
  tokens(): OAuthTokensLike | undefined | Promise<OAuthTokensLike | undefined>;
  /** Keeps tokens. */
  saveTokens(tokens: OAuthTokensLike): void | Promise<void>;
  /** Sends a person to the authorization server, or keeps the URL for the program to do so. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>;
  /** Keeps the PKCE verifier. */
  saveCodeVerifier(codeVerifier: string): void | Promise<void>;
  /** The PKCE verifier. */
  codeVerifier(): string | Promise<string>;
  /** Authenticates the client at the token endpoint in a way of its own. */
  addClientAuthentication?: (
    headers: Headers,
    params: URLSearchParams,
    url: string | URL,
    metadata?: OAuthServerMetadataLike,
  ) => void | Promise<void>;
  /** Decides which resource tokens are asked for. */
  validateResourceURL?(serverUrl: string | URL, resource?: string): Promise<URL | undefined>;
  /** Forgets what the authorization server no longer takes. */
  invalidateCredentials?(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void | Promise<void>;
  /** The token request of flows without a person. */
  prepareTokenRequest?(scope?: string): URLSearchParams | Promise<URLSearchParams | undefined> | undefined;
  /** Keeps what discovery found. */
  saveDiscoveryState?(state: OAuthDiscoveryStateLike): void | Promise<void>;
  /** What discovery found before. */
  discoveryState?(): OAuthDiscoveryStateLike | undefined | Promise<OAuthDiscoveryStateLike | undefined>;
}
