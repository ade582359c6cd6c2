/**
 * Pins of what the entry points export. Red? A name was added or taken away: that is a change of the public surface, so
 * CHANGELOG.md says it, the page that explains the name is written, and only then is the pin moved.
 */
import { assertEquals } from "@std/assert";
import { entryPoints, exportedNames } from "./structure/exports.ts";

/** Values and types of each entry point. */
const EXPORTS: Record<string, { values: string; types: string }> = {
  ".": {
    values: `
      AuthRejectedError BackoffError DEFAULT_LIMITS HttpError McpRuntimeError McpRuntimePool McpTimeoutError
      PersistentMcpSession PersistentSessionFactory ProcessError RpcError closeOnSignals
      connectionRuntimeFingerprint connectionsFromMcpServers createTransport mcpAuthEnv mcpAuthHeaders
      openMcpSession parseAuth parseConnection parseConnectionId toolResultToCallResult
    `,
    types: `
      AuthChallenge AuthRecord AuthRejectedErrorInit BackoffErrorInit CallEventBase CallSettledEvent
      CallStartedEvent CallToolOptions ClientInfo Closable CloseOnSignalsOptions ContentBlock CredentialsHook
      CredentialsRequest CredentialsSource CredentialsSourceInit Delivery EventBase GetSessionOptions
      GivenCredentials HttpErrorInit HttpSourceTransport InheritEnv JsonRpcErrorResponse JsonRpcMessage
      JsonRpcNotification JsonRpcRequest JsonRpcResultResponse LimitName McpErrorCode McpErrorInit
      McpServersOptions McpServersProblem McpServersResult McpSourceConnection McpTransport OpenSessionOptions
      PoolCallOptions PoolOptions PoolStats ProcessErrorInit RawCallToolResult RawToolCaller
      RejectedCredentials RequestId RpcErrorInit RuntimeEvent RuntimeEventListener SessionClosedEvent
      SessionContext SessionEnd SessionEvictedEvent SessionFactory SessionFactoryOptions SessionInfo
      SessionInit SessionLostEvent SessionOpenFailedEvent SessionOpenedEvent SessionOpeningEvent
      SessionReplacedEvent SessionState SourceTransport StdioSourceTransport TimeoutErrorInit ToolCallProgress
      ToolCallResult ToolClient ToolExecutor TransportOptions TransportSendOptions CallTelemetry OpeningTelemetry RequestTelemetry RuntimeTelemetry
      TelemetryCall TelemetryOpening TelemetrySession
    `,
  },
  "./runtime": {
    values: "McpRuntimePool PersistentMcpSession PersistentSessionFactory connectionRuntimeFingerprint",
    types: `
      AuthRecord CallEventBase CallSettledEvent CallStartedEvent CallToolOptions ClientInfo ContentBlock
      CredentialsHook CredentialsRequest CredentialsSource CredentialsSourceInit Delivery EventBase
      GetSessionOptions GivenCredentials HttpSourceTransport InheritEnv JsonRpcErrorResponse JsonRpcMessage
      JsonRpcNotification JsonRpcRequest JsonRpcResultResponse McpErrorCode McpErrorInit McpSourceConnection
      McpTransport OpenSessionOptions PoolCallOptions PoolOptions PoolStats RawCallToolResult RawToolCaller
      RejectedCredentials RequestId RuntimeEvent RuntimeEventListener SessionClosedEvent SessionContext
      SessionEnd SessionEvictedEvent SessionFactory SessionFactoryOptions SessionInfo SessionInit
      SessionLostEvent SessionOpenFailedEvent SessionOpenedEvent SessionOpeningEvent SessionReplacedEvent
      SessionState SourceTransport StdioSourceTransport ToolCallProgress ToolCallResult ToolClient
      ToolExecutor TransportOptions TransportSendOptions createTransport CallTelemetry OpeningTelemetry RequestTelemetry RuntimeTelemetry
      TelemetryCall TelemetryOpening TelemetrySession
    `,
  },
  "./runtime/session": {
    values: "PersistentMcpSession",
    types: `
      AuthRecord CallToolOptions ContentBlock Delivery HttpSourceTransport McpErrorCode McpErrorInit
      McpRuntimeError McpSourceConnection RawCallToolResult RawToolCaller SessionEnd SessionInit SessionState
      SourceTransport StdioSourceTransport ToolCallProgress ToolCallResult ToolClient
    `,
  },
  "./runtime/factory": {
    values: "PersistentSessionFactory",
    types: "SessionContext SessionFactoryOptions",
  },
  "./runtime/pool": {
    values: "McpRuntimePool connectionRuntimeFingerprint",
    types: "GetSessionOptions PoolCallOptions PoolOptions PoolStats SessionFactory SessionInfo",
  },
  "./oauth": {
    values: "oauthCredentials",
    types: `
      AuthRecord CredentialsHook CredentialsRequest FetchLike HttpSourceTransport McpSourceConnection
      OAuthClientInformationLike OAuthClientMetadataLike OAuthCredentials OAuthCredentialsOptions
      OAuthDiscoveryStateLike OAuthProviderLike OAuthServerMetadataLike OAuthTokensLike RejectedCredentials
      SourceTransport StdioSourceTransport
    `,
  },
  "./telemetry": {
    values: "openTelemetry",
    types: `
      CallTelemetry ContentBlock Delivery HttpSourceTransport McpErrorCode McpErrorInit McpRuntimeError
      McpSourceConnection OpenTelemetryOptions OpeningTelemetry RequestTelemetry RuntimeTelemetry SourceTransport
      StdioSourceTransport TelemetryCall TelemetryOpening TelemetrySession ToolCallResult
    `,
  },
  "./testing": {
    values: "FakeMcpServer FakeRpcError",
    types: "FakeCall FakeMcpServerOptions FakeTool FakeToolContext",
  },
  "./compat/runtime/protocols": {
    values: "",
    types: "ToolExecutor",
  },
};

/** Legacy paths export what their canonical path does. */
const SAME_AS: Record<string, string> = {
  "./compat": "./runtime",
  "./compat/runtime": "./runtime",
  "./compat/runtime/session": "./runtime/session",
  "./compat/runtime/factory": "./runtime/factory",
  "./compat/runtime/pool": "./runtime/pool",
};

const entries = await entryPoints();
const sorted = (names: string) => names.split(/\s+/).filter((name) => name !== "").sort();

Deno.test("entry points: the list is pinned, and each has its pin of names", () => {
  assertEquals(Object.keys(entries).sort(), [...Object.keys(EXPORTS), ...Object.keys(SAME_AS)].sort());
});

for (const [name, file] of Object.entries(entries)) {
  const pinned = EXPORTS[SAME_AS[name] ?? name];
  Deno.test(`entry point ${name}: its exports are pinned`, async () => {
    assertEquals(await exportedNames(file), { values: sorted(pinned.values), types: sorted(pinned.types) });
  });
}

Deno.test("entry point ./runtime: its values are the four of the contract and nothing else", async () => {
  const { values } = await exportedNames(entries["./runtime"]);
  assertEquals(values, [
    "McpRuntimePool",
    "PersistentMcpSession",
    "PersistentSessionFactory",
    "connectionRuntimeFingerprint",
  ]);
});
