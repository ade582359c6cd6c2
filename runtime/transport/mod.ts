/**
 * Makes the transport of a connection.
 *
 * @module
 */
import type { AuthRecord } from "../auth.ts";
import { parseAuthOrNull } from "../auth.ts";
import type { McpSourceConnection } from "../connection.ts";
import { parseConnection } from "../connection.ts";
import { McpRuntimeError } from "../errors.ts";
import type { CredentialsHook, CredentialsSource } from "./credentials.ts";
import { checkOpeningOptions } from "../input.ts";
import { HttpTransport } from "./http.ts";
import type { McpTransport } from "./message.ts";
import type { InheritEnv } from "./environment.ts";
import { StdioTransport } from "./stdio.ts";

export type * from "./message.ts";
export type {
  CredentialsHook,
  CredentialsRequest,
  CredentialsSource,
  CredentialsSourceInit,
  GivenCredentials,
  RejectedCredentials,
} from "./credentials.ts";
export type { InheritEnv } from "./environment.ts";

/** Options of {@linkcode createTransport}; each transport reads those that concern it. */
export interface TransportOptions {
  /** Largest message in either direction, in bytes. Default 64 MiB; `0` or `Infinity` for no limit. */
  maxMessageBytes?: number;
  /** How long ending the transport may take, in milliseconds: the process ladder, DELETE. Default 5 000. */
  closeTimeoutMs?: number;
  /**
   * stdio: how long each step of ending the process may take, in milliseconds: from the end of its stdin to SIGTERM,
   * from there to SIGKILL, from there until it is given up. Default two, two and one fifth of `closeTimeoutMs`.
   */
  terminate?: { stdinMs?: number; termMs?: number; killMs?: number };
  /** stdio: which variables of this program the child inherits. Default `"default"`: a short list, docs/stdio.md. */
  inheritEnv?: InheritEnv;
  /** stdio: keep the last 8 KiB of stderr for errors (`"tail"`, default), pass it through, or get each line. */
  stderr?: "tail" | "inherit" | ((line: string) => void);
  /** HTTP: headers for each request, asked from the program; a function, or a source shared between sessions. */
  credentials?: CredentialsHook | CredentialsSource;
  /** HTTP: how long one call of the credentials hook may take, in milliseconds. Default 30 000. */
  credentialsTimeoutMs?: number;
  /** HTTP: the scope handed to the credentials hook. */
  scope?: string;
  /** HTTP: used instead of the global `fetch`, for proxies, client certificates and tests. */
  fetch?: (input: string, init: RequestInit) => Promise<Response>;
  /** HTTP: further texts by which a server says that it does not know the session; see docs/http.md. */
  sessionUnknownTexts?: readonly (string | RegExp)[];
}

/**
 * Makes the transport of a connection. Nothing is started or dialled before its `start`.
 *
 * @param connection the connection, parsed or a literal
 * @param auth its auth record, or `null`
 * @param options limits and hooks
 * @returns the transport, not started; the caller closes it
 * @throws {McpRuntimeError} `CONNECTION_INVALID` for a bad connection, auth record or header; `INPUT_INVALID` for a bad
 * option; `NO_TRANSPORT` when the connection has none
 *
 * @example
 * ```ts
 * import { createTransport, type McpSourceConnection } from "@wf/sources-mcp";
 * import { Client } from "@modelcontextprotocol/sdk/client";
 *
 * // Discovery is the SDK client's business; it runs over our transport.
 * async function toolNames(connection: McpSourceConnection): Promise<string[]> {
 *   const client = new Client({ name: "discovery", version: "1.0.0" });
 *   await client.connect(createTransport(connection, null));
 *   try {
 *     return (await client.listTools()).tools.map((tool) => tool.name);
 *   } finally {
 *     await client.close();
 *   }
 * }
 * ```
 */
export function createTransport(
  connection: McpSourceConnection,
  auth: AuthRecord | null,
  options: TransportOptions = {},
): McpTransport {
  const checked = parseConnection(connection);
  const checkedAuth = parseAuthOrNull(auth);
  checkOpeningOptions(options, checked.id);
  switch (checked.transport?.kind) {
    case "stdio":
      return new StdioTransport(checked, checked.transport, checkedAuth, options);
    case "http":
      return new HttpTransport(checked, checked.transport, checkedAuth, options);
    default:
      throw new McpRuntimeError(`connection "${checked.id}" has no transport`, {
        code: "NO_TRANSPORT",
        connectionId: checked.id,
      });
  }
}
