/**
 * Row 16 of the contract: each legacy path exports the very same values and the same types as the canonical one, name by
 * name. What the paths export is pinned in exports_test.ts; the tables here must name all of it.
 */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import type * as legacyRoot from "../../compat/mod.ts";
import type * as legacyFactory from "../../compat/runtime/factory.ts";
import type * as legacyRuntime from "../../compat/runtime/mod.ts";
import type * as legacyPool from "../../compat/runtime/pool.ts";
import type * as legacyProtocols from "../../compat/runtime/protocols.ts";
import type * as legacySession from "../../compat/runtime/session.ts";
import type * as root from "../../mod.ts";
import type * as factory from "../../runtime/factory.ts";
import type * as runtime from "../../runtime/mod.ts";
import type * as pool from "../../runtime/pool.ts";
import type * as session from "../../runtime/session.ts";
import { exportedNames } from "../structure/exports.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;
/** True when each is assignable to the other and neither is `any`. */
type Same<A, B> = IsAny<A> extends true ? false
  : IsAny<B> extends true ? false
  : [A, B] extends [B, A] ? true
  : false;

/** Does not compile when the types differ. */
function same<A, B>(..._proof: Same<A, B> extends true ? [] : [never]): true {
  return true;
}

const VALUES = [
  "McpRuntimePool",
  "PersistentMcpSession",
  "PersistentSessionFactory",
  "connectionRuntimeFingerprint",
];

const rootTypes: Record<string, true> = {
  AuthRecord: same<legacyRoot.AuthRecord, runtime.AuthRecord>(),
  CallEventBase: same<legacyRoot.CallEventBase, runtime.CallEventBase>(),
  CallSettledEvent: same<legacyRoot.CallSettledEvent, runtime.CallSettledEvent>(),
  CallStartedEvent: same<legacyRoot.CallStartedEvent, runtime.CallStartedEvent>(),
  CallTelemetry: same<legacyRoot.CallTelemetry, runtime.CallTelemetry>(),
  CallToolOptions: same<legacyRoot.CallToolOptions, runtime.CallToolOptions>(),
  ClientInfo: same<legacyRoot.ClientInfo, runtime.ClientInfo>(),
  ContentBlock: same<legacyRoot.ContentBlock, runtime.ContentBlock>(),
  CredentialsHook: same<legacyRoot.CredentialsHook, runtime.CredentialsHook>(),
  CredentialsRequest: same<legacyRoot.CredentialsRequest, runtime.CredentialsRequest>(),
  CredentialsSource: same<legacyRoot.CredentialsSource, runtime.CredentialsSource>(),
  CredentialsSourceInit: same<legacyRoot.CredentialsSourceInit, runtime.CredentialsSourceInit>(),
  Delivery: same<legacyRoot.Delivery, runtime.Delivery>(),
  EventBase: same<legacyRoot.EventBase, runtime.EventBase>(),
  GetSessionOptions: same<legacyRoot.GetSessionOptions, runtime.GetSessionOptions>(),
  GivenCredentials: same<legacyRoot.GivenCredentials, runtime.GivenCredentials>(),
  HttpSourceTransport: same<legacyRoot.HttpSourceTransport, runtime.HttpSourceTransport>(),
  InheritEnv: same<legacyRoot.InheritEnv, runtime.InheritEnv>(),
  JsonRpcErrorResponse: same<legacyRoot.JsonRpcErrorResponse, runtime.JsonRpcErrorResponse>(),
  JsonRpcMessage: same<legacyRoot.JsonRpcMessage, runtime.JsonRpcMessage>(),
  JsonRpcNotification: same<legacyRoot.JsonRpcNotification, runtime.JsonRpcNotification>(),
  JsonRpcRequest: same<legacyRoot.JsonRpcRequest, runtime.JsonRpcRequest>(),
  JsonRpcResultResponse: same<legacyRoot.JsonRpcResultResponse, runtime.JsonRpcResultResponse>(),
  McpErrorCode: same<legacyRoot.McpErrorCode, runtime.McpErrorCode>(),
  McpErrorInit: same<legacyRoot.McpErrorInit, runtime.McpErrorInit>(),
  McpRuntimePool: same<legacyRoot.McpRuntimePool, runtime.McpRuntimePool>(),
  McpSourceConnection: same<legacyRoot.McpSourceConnection, runtime.McpSourceConnection>(),
  McpTransport: same<legacyRoot.McpTransport, runtime.McpTransport>(),
  OpenSessionOptions: same<legacyRoot.OpenSessionOptions, runtime.OpenSessionOptions>(),
  OpeningTelemetry: same<legacyRoot.OpeningTelemetry, runtime.OpeningTelemetry>(),
  PersistentMcpSession: same<legacyRoot.PersistentMcpSession, runtime.PersistentMcpSession>(),
  PersistentSessionFactory: same<legacyRoot.PersistentSessionFactory, runtime.PersistentSessionFactory>(),
  PoolCallOptions: same<legacyRoot.PoolCallOptions, runtime.PoolCallOptions>(),
  PoolOptions: same<legacyRoot.PoolOptions, runtime.PoolOptions>(),
  PoolStats: same<legacyRoot.PoolStats, runtime.PoolStats>(),
  RawCallToolResult: same<legacyRoot.RawCallToolResult, runtime.RawCallToolResult>(),
  RawToolCaller: same<legacyRoot.RawToolCaller, runtime.RawToolCaller>(),
  RejectedCredentials: same<legacyRoot.RejectedCredentials, runtime.RejectedCredentials>(),
  RequestId: same<legacyRoot.RequestId, runtime.RequestId>(),
  RequestTelemetry: same<legacyRoot.RequestTelemetry, runtime.RequestTelemetry>(),
  RuntimeEvent: same<legacyRoot.RuntimeEvent, runtime.RuntimeEvent>(),
  RuntimeEventListener: same<legacyRoot.RuntimeEventListener, runtime.RuntimeEventListener>(),
  RuntimeTelemetry: same<legacyRoot.RuntimeTelemetry, runtime.RuntimeTelemetry>(),
  SessionClosedEvent: same<legacyRoot.SessionClosedEvent, runtime.SessionClosedEvent>(),
  SessionContext: same<legacyRoot.SessionContext, runtime.SessionContext>(),
  SessionEnd: same<legacyRoot.SessionEnd, runtime.SessionEnd>(),
  SessionEvictedEvent: same<legacyRoot.SessionEvictedEvent, runtime.SessionEvictedEvent>(),
  SessionFactory: same<legacyRoot.SessionFactory, runtime.SessionFactory>(),
  SessionFactoryOptions: same<legacyRoot.SessionFactoryOptions, runtime.SessionFactoryOptions>(),
  SessionInfo: same<legacyRoot.SessionInfo, runtime.SessionInfo>(),
  SessionInit: same<legacyRoot.SessionInit, runtime.SessionInit>(),
  SessionLostEvent: same<legacyRoot.SessionLostEvent, runtime.SessionLostEvent>(),
  SessionOpenFailedEvent: same<legacyRoot.SessionOpenFailedEvent, runtime.SessionOpenFailedEvent>(),
  SessionOpenedEvent: same<legacyRoot.SessionOpenedEvent, runtime.SessionOpenedEvent>(),
  SessionOpeningEvent: same<legacyRoot.SessionOpeningEvent, runtime.SessionOpeningEvent>(),
  SessionReplacedEvent: same<legacyRoot.SessionReplacedEvent, runtime.SessionReplacedEvent>(),
  SessionState: same<legacyRoot.SessionState, runtime.SessionState>(),
  SourceTransport: same<legacyRoot.SourceTransport, runtime.SourceTransport>(),
  StdioSourceTransport: same<legacyRoot.StdioSourceTransport, runtime.StdioSourceTransport>(),
  TelemetryCall: same<legacyRoot.TelemetryCall, runtime.TelemetryCall>(),
  TelemetryOpening: same<legacyRoot.TelemetryOpening, runtime.TelemetryOpening>(),
  TelemetrySession: same<legacyRoot.TelemetrySession, runtime.TelemetrySession>(),
  ToolCallProgress: same<legacyRoot.ToolCallProgress, runtime.ToolCallProgress>(),
  ToolCallResult: same<legacyRoot.ToolCallResult, runtime.ToolCallResult>(),
  ToolClient: same<legacyRoot.ToolClient, runtime.ToolClient>(),
  ToolExecutor: same<legacyRoot.ToolExecutor, runtime.ToolExecutor>(),
  TransportOptions: same<legacyRoot.TransportOptions, runtime.TransportOptions>(),
  TransportSendOptions: same<legacyRoot.TransportSendOptions, runtime.TransportSendOptions>(),
  connectionRuntimeFingerprint: same<
    typeof legacyRoot.connectionRuntimeFingerprint,
    typeof runtime.connectionRuntimeFingerprint
  >(),
  createTransport: same<typeof legacyRoot.createTransport, typeof runtime.createTransport>(),
};

const runtimeTypes: Record<string, true> = {
  AuthRecord: same<legacyRuntime.AuthRecord, runtime.AuthRecord>(),
  CallEventBase: same<legacyRuntime.CallEventBase, runtime.CallEventBase>(),
  CallSettledEvent: same<legacyRuntime.CallSettledEvent, runtime.CallSettledEvent>(),
  CallStartedEvent: same<legacyRuntime.CallStartedEvent, runtime.CallStartedEvent>(),
  CallTelemetry: same<legacyRuntime.CallTelemetry, runtime.CallTelemetry>(),
  CallToolOptions: same<legacyRuntime.CallToolOptions, runtime.CallToolOptions>(),
  ClientInfo: same<legacyRuntime.ClientInfo, runtime.ClientInfo>(),
  ContentBlock: same<legacyRuntime.ContentBlock, runtime.ContentBlock>(),
  CredentialsHook: same<legacyRuntime.CredentialsHook, runtime.CredentialsHook>(),
  CredentialsRequest: same<legacyRuntime.CredentialsRequest, runtime.CredentialsRequest>(),
  CredentialsSource: same<legacyRuntime.CredentialsSource, runtime.CredentialsSource>(),
  CredentialsSourceInit: same<legacyRuntime.CredentialsSourceInit, runtime.CredentialsSourceInit>(),
  Delivery: same<legacyRuntime.Delivery, runtime.Delivery>(),
  EventBase: same<legacyRuntime.EventBase, runtime.EventBase>(),
  GetSessionOptions: same<legacyRuntime.GetSessionOptions, runtime.GetSessionOptions>(),
  GivenCredentials: same<legacyRuntime.GivenCredentials, runtime.GivenCredentials>(),
  HttpSourceTransport: same<legacyRuntime.HttpSourceTransport, runtime.HttpSourceTransport>(),
  InheritEnv: same<legacyRuntime.InheritEnv, runtime.InheritEnv>(),
  JsonRpcErrorResponse: same<legacyRuntime.JsonRpcErrorResponse, runtime.JsonRpcErrorResponse>(),
  JsonRpcMessage: same<legacyRuntime.JsonRpcMessage, runtime.JsonRpcMessage>(),
  JsonRpcNotification: same<legacyRuntime.JsonRpcNotification, runtime.JsonRpcNotification>(),
  JsonRpcRequest: same<legacyRuntime.JsonRpcRequest, runtime.JsonRpcRequest>(),
  JsonRpcResultResponse: same<legacyRuntime.JsonRpcResultResponse, runtime.JsonRpcResultResponse>(),
  McpErrorCode: same<legacyRuntime.McpErrorCode, runtime.McpErrorCode>(),
  McpErrorInit: same<legacyRuntime.McpErrorInit, runtime.McpErrorInit>(),
  McpRuntimePool: same<legacyRuntime.McpRuntimePool, runtime.McpRuntimePool>(),
  McpSourceConnection: same<legacyRuntime.McpSourceConnection, runtime.McpSourceConnection>(),
  McpTransport: same<legacyRuntime.McpTransport, runtime.McpTransport>(),
  OpenSessionOptions: same<legacyRuntime.OpenSessionOptions, runtime.OpenSessionOptions>(),
  OpeningTelemetry: same<legacyRuntime.OpeningTelemetry, runtime.OpeningTelemetry>(),
  PersistentMcpSession: same<legacyRuntime.PersistentMcpSession, runtime.PersistentMcpSession>(),
  PersistentSessionFactory: same<legacyRuntime.PersistentSessionFactory, runtime.PersistentSessionFactory>(),
  PoolCallOptions: same<legacyRuntime.PoolCallOptions, runtime.PoolCallOptions>(),
  PoolOptions: same<legacyRuntime.PoolOptions, runtime.PoolOptions>(),
  PoolStats: same<legacyRuntime.PoolStats, runtime.PoolStats>(),
  RawCallToolResult: same<legacyRuntime.RawCallToolResult, runtime.RawCallToolResult>(),
  RawToolCaller: same<legacyRuntime.RawToolCaller, runtime.RawToolCaller>(),
  RejectedCredentials: same<legacyRuntime.RejectedCredentials, runtime.RejectedCredentials>(),
  RequestId: same<legacyRuntime.RequestId, runtime.RequestId>(),
  RequestTelemetry: same<legacyRuntime.RequestTelemetry, runtime.RequestTelemetry>(),
  RuntimeEvent: same<legacyRuntime.RuntimeEvent, runtime.RuntimeEvent>(),
  RuntimeEventListener: same<legacyRuntime.RuntimeEventListener, runtime.RuntimeEventListener>(),
  RuntimeTelemetry: same<legacyRuntime.RuntimeTelemetry, runtime.RuntimeTelemetry>(),
  SessionClosedEvent: same<legacyRuntime.SessionClosedEvent, runtime.SessionClosedEvent>(),
  SessionContext: same<legacyRuntime.SessionContext, runtime.SessionContext>(),
  SessionEnd: same<legacyRuntime.SessionEnd, runtime.SessionEnd>(),
  SessionEvictedEvent: same<legacyRuntime.SessionEvictedEvent, runtime.SessionEvictedEvent>(),
  SessionFactory: same<legacyRuntime.SessionFactory, runtime.SessionFactory>(),
  SessionFactoryOptions: same<legacyRuntime.SessionFactoryOptions, runtime.SessionFactoryOptions>(),
  SessionInfo: same<legacyRuntime.SessionInfo, runtime.SessionInfo>(),
  SessionInit: same<legacyRuntime.SessionInit, runtime.SessionInit>(),
  SessionLostEvent: same<legacyRuntime.SessionLostEvent, runtime.SessionLostEvent>(),
  SessionOpenFailedEvent: same<legacyRuntime.SessionOpenFailedEvent, runtime.SessionOpenFailedEvent>(),
  SessionOpenedEvent: same<legacyRuntime.SessionOpenedEvent, runtime.SessionOpenedEvent>(),
  SessionOpeningEvent: same<legacyRuntime.SessionOpeningEvent, runtime.SessionOpeningEvent>(),
  SessionReplacedEvent: same<legacyRuntime.SessionReplacedEvent, runtime.SessionReplacedEvent>(),
  SessionState: same<legacyRuntime.SessionState, runtime.SessionState>(),
  SourceTransport: same<legacyRuntime.SourceTransport, runtime.SourceTransport>(),
  StdioSourceTransport: same<legacyRuntime.StdioSourceTransport, runtime.StdioSourceTransport>(),
  TelemetryCall: same<legacyRuntime.TelemetryCall, runtime.TelemetryCall>(),
  TelemetryOpening: same<legacyRuntime.TelemetryOpening, runtime.TelemetryOpening>(),
  TelemetrySession: same<legacyRuntime.TelemetrySession, runtime.TelemetrySession>(),
  ToolCallProgress: same<legacyRuntime.ToolCallProgress, runtime.ToolCallProgress>(),
  ToolCallResult: same<legacyRuntime.ToolCallResult, runtime.ToolCallResult>(),
  ToolClient: same<legacyRuntime.ToolClient, runtime.ToolClient>(),
  ToolExecutor: same<legacyRuntime.ToolExecutor, runtime.ToolExecutor>(),
  TransportOptions: same<legacyRuntime.TransportOptions, runtime.TransportOptions>(),
  TransportSendOptions: same<legacyRuntime.TransportSendOptions, runtime.TransportSendOptions>(),
  connectionRuntimeFingerprint: same<
    typeof legacyRuntime.connectionRuntimeFingerprint,
    typeof runtime.connectionRuntimeFingerprint
  >(),
  createTransport: same<typeof legacyRuntime.createTransport, typeof runtime.createTransport>(),
};

const sessionTypes: Record<string, true> = {
  AuthRecord: same<legacySession.AuthRecord, session.AuthRecord>(),
  CallToolOptions: same<legacySession.CallToolOptions, session.CallToolOptions>(),
  ContentBlock: same<legacySession.ContentBlock, session.ContentBlock>(),
  Delivery: same<legacySession.Delivery, session.Delivery>(),
  HttpSourceTransport: same<legacySession.HttpSourceTransport, session.HttpSourceTransport>(),
  McpErrorCode: same<legacySession.McpErrorCode, session.McpErrorCode>(),
  McpErrorInit: same<legacySession.McpErrorInit, session.McpErrorInit>(),
  McpRuntimeError: same<legacySession.McpRuntimeError, session.McpRuntimeError>(),
  McpSourceConnection: same<legacySession.McpSourceConnection, session.McpSourceConnection>(),
  PersistentMcpSession: same<legacySession.PersistentMcpSession, session.PersistentMcpSession>(),
  RawCallToolResult: same<legacySession.RawCallToolResult, session.RawCallToolResult>(),
  RawToolCaller: same<legacySession.RawToolCaller, session.RawToolCaller>(),
  SessionEnd: same<legacySession.SessionEnd, session.SessionEnd>(),
  SessionInit: same<legacySession.SessionInit, session.SessionInit>(),
  SessionState: same<legacySession.SessionState, session.SessionState>(),
  SourceTransport: same<legacySession.SourceTransport, session.SourceTransport>(),
  StdioSourceTransport: same<legacySession.StdioSourceTransport, session.StdioSourceTransport>(),
  ToolCallProgress: same<legacySession.ToolCallProgress, session.ToolCallProgress>(),
  ToolCallResult: same<legacySession.ToolCallResult, session.ToolCallResult>(),
  ToolClient: same<legacySession.ToolClient, session.ToolClient>(),
};

const factoryTypes: Record<string, true> = {
  PersistentSessionFactory: same<legacyFactory.PersistentSessionFactory, factory.PersistentSessionFactory>(),
  SessionContext: same<legacyFactory.SessionContext, factory.SessionContext>(),
  SessionFactoryOptions: same<legacyFactory.SessionFactoryOptions, factory.SessionFactoryOptions>(),
};

const poolTypes: Record<string, true> = {
  GetSessionOptions: same<legacyPool.GetSessionOptions, pool.GetSessionOptions>(),
  McpRuntimePool: same<legacyPool.McpRuntimePool, pool.McpRuntimePool>(),
  PoolCallOptions: same<legacyPool.PoolCallOptions, pool.PoolCallOptions>(),
  PoolOptions: same<legacyPool.PoolOptions, pool.PoolOptions>(),
  PoolStats: same<legacyPool.PoolStats, pool.PoolStats>(),
  SessionFactory: same<legacyPool.SessionFactory, pool.SessionFactory>(),
  SessionInfo: same<legacyPool.SessionInfo, pool.SessionInfo>(),
  connectionRuntimeFingerprint: same<
    typeof legacyPool.connectionRuntimeFingerprint,
    typeof pool.connectionRuntimeFingerprint
  >(),
};

const protocolTypes: Record<string, true> = {
  ToolExecutor: same<legacyProtocols.ToolExecutor, root.ToolExecutor>(),
};

/** Legacy path, canonical path, the types compared above, the values that must be identical. */
const PATHS: [legacy: string, canonical: string, types: Record<string, true>, values: string[]][] = [
  ["mod.ts", "runtime/mod.ts", rootTypes, VALUES],
  ["runtime/mod.ts", "runtime/mod.ts", runtimeTypes, VALUES],
  ["runtime/session.ts", "runtime/session.ts", sessionTypes, ["PersistentMcpSession"]],
  ["runtime/factory.ts", "runtime/factory.ts", factoryTypes, ["PersistentSessionFactory"]],
  ["runtime/pool.ts", "runtime/pool.ts", poolTypes, ["McpRuntimePool", "connectionRuntimeFingerprint"]],
  ["runtime/protocols.ts", "mod.ts", protocolTypes, []],
];

for (const [legacy, canonical, types, values] of PATHS) {
  for (const name of values) {
    Deno.test(`contract 16 compat/${legacy}: ${name} is the very same value as in ${canonical}`, async () => {
      const [before, now] = await Promise.all([import(`../../compat/${legacy}`), import(`../../${canonical}`)]);
      assert(now[name] !== undefined);
      assertStrictEquals(before[name], now[name]);
    });
  }

  Deno.test(`contract 16 compat/${legacy}: every name is compared here with ${canonical}, as value and as type`, async () => {
    const exported = await exportedNames(`./compat/${legacy}`);
    assertEquals(exported.values, values.toSorted());
    assertEquals([...exported.values, ...exported.types].sort(), Object.keys(types).sort());
  });
}

Deno.test("contract 16 same: differs for any, a narrower and an unrelated type", () => {
  const results: [Same<string, string>, Same<unknown, string>, Same<"a", string>, Same<number, string>] = [
    true,
    false,
    false,
    false,
  ];
  // deno-lint-ignore no-explicit-any -- what the comparison must not take for the same.
  const ofAny: [Same<any, string>, Same<string, any>, Same<any, any>] = [false, false, false];
  assertEquals([...results, ...ofAny], [true, false, false, false, false, false, false]);
});
