/**
 * The runtime's face: persistent MCP sessions for tool calls. What `wf_sources_mcp.runtime` was.
 *
 * @module
 */
export { McpRuntimePool } from "./pool.ts";
export { PersistentMcpSession } from "./session.ts";
export { PersistentSessionFactory } from "./factory.ts";
export { connectionRuntimeFingerprint } from "./fingerprint.ts";

export type { AuthRecord } from "./auth.ts";
export type { CallToolOptions, ClientInfo, OpenSessionOptions, ToolCallProgress, ToolClient } from "./client.ts";
export type { HttpSourceTransport, McpSourceConnection, SourceTransport, StdioSourceTransport } from "./connection.ts";
export type { Delivery, McpErrorCode, McpErrorInit } from "./errors.ts";
export type * from "./events.ts";
export type { SessionContext, SessionFactoryOptions } from "./factory.ts";
export type { SessionEnd, SessionState } from "./owner.ts";
export type {
  GetSessionOptions,
  PoolCallOptions,
  PoolOptions,
  PoolStats,
  SessionFactory,
  SessionInfo,
} from "./pool.ts";
export type { ToolExecutor } from "./protocols.ts";
export type { ContentBlock, RawCallToolResult, ToolCallResult } from "./result.ts";
export type { RawToolCaller, SessionInit } from "./session.ts";
export type {
  CallTelemetry,
  OpeningTelemetry,
  RequestTelemetry,
  RuntimeTelemetry,
  TelemetryCall,
  TelemetryOpening,
  TelemetrySession,
} from "./telemetry_hooks.ts";
export type * from "./transport/mod.ts";
