/** What the tests of the stdio transport share: the fixture server, a session over it, and a look at processes. */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "./file_url.ts";
import { type McpSourceConnection, openMcpSession, type OpenSessionOptions, parseConnection } from "../../mod.ts";
import { StdioTransport } from "../../runtime/transport/stdio.ts";
import type { StdioSourceTransport } from "../../runtime/connection.ts";
import type { JsonRpcMessage } from "../../runtime/transport/message.ts";
import type { TransportOptions } from "../../runtime/transport/mod.ts";

/** Path of a fixture server. */
export function fixture(name: string): string {
  return fromFileUrl(new URL(`../fixtures/stdio/${name}`, import.meta.url));
}

/** Arguments that run the fixture server on Deno. */
export function serverArgs(settings: Record<string, string | number> = {}): string[] {
  const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return ["run", "--no-config", "--no-lock", "-A", fixture("server.mjs"), ...given];
}

/** A connection to whatever is given. */
export function stdioConnection(transport: Omit<StdioSourceTransport, "kind">): McpSourceConnection {
  return parseConnection({
    id: "fixture.local",
    provider: "fixture",
    account: "local",
    transport: { kind: "stdio", ...transport },
  });
}

/** A connection to the fixture server on Deno. */
export function fixtureConnection(settings: Record<string, string | number> = {}): McpSourceConnection {
  return stdioConnection({ command: Deno.execPath(), args: serverArgs(settings) });
}

/** A session over a transport that the test can look at. */
export async function openFixture(
  connection: McpSourceConnection,
  options: OpenSessionOptions = {},
) {
  let transport: StdioTransport | undefined;
  const errors: Error[] = [];
  const client = await openMcpSession(connection, null, {
    ...options,
    createTransport: (checked, auth, transportOptions) => {
      transport = new StdioTransport(checked, checked.transport as StdioSourceTransport, auth, transportOptions);
      transport.onerror = (error) => errors.push(error);
      return transport;
    },
  });
  return {
    client,
    transport: transport!,
    /** What `onerror` was told. */
    errors,
    /** Calls a tool and returns the text of its answer. */
    call: async (tool: string, args: Record<string, unknown> = {}, callOptions = {}): Promise<string> => {
      const result = await client.callTool(tool, args, callOptions) as { content: { text: string }[] };
      return result.content[0].text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A transport that is driven with messages of the test's own. */
export class RawConversation implements AsyncDisposable {
  readonly transport: StdioTransport;
  readonly messages: JsonRpcMessage[] = [];
  closeEvents = 0;
  #waiting = new Map<unknown, (message: JsonRpcMessage) => void>();
  #closed = Promise.withResolvers<void>();

  constructor(connection: McpSourceConnection, options: TransportOptions = {}) {
    this.transport = new StdioTransport(connection, connection.transport as StdioSourceTransport, null, options);
    this.transport.onmessage = (message) => {
      this.messages.push(message);
      if ("id" in message) this.#waiting.get(message.id)?.(message);
    };
    this.transport.onclose = () => {
      this.closeEvents++;
      this.#closed.resolve();
    };
  }

  /** Resolves at the close event. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Sends a request; resolves with its response. */
  request(id: number, method: string, params: Record<string, unknown> = {}): Promise<JsonRpcMessage> {
    const response = new Promise<JsonRpcMessage>((resolve) => this.#waiting.set(id, resolve));
    return this.transport.send({ jsonrpc: "2.0", id, method, params }).then(() => response);
  }

  /** Starts the server and does the handshake. */
  async open(): Promise<void> {
    await this.transport.start();
    await this.request(-1, "initialize", { protocolVersion: "2025-11-25" });
    this.transport.setProtocolVersion("2025-11-25");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transport.close();
  }
}

/** Whether a process runs; one that ended and was not reaped by its parent yet counts as gone. */
export async function isAlive(pid: number): Promise<boolean> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "stat=", "-p", String(pid)] }).output();
  const state = new TextDecoder().decode(stdout).trim();
  return state !== "" && !state.startsWith("Z");
}

/** Waits until a process is gone; false when it still runs after the bound. */
export async function isGoneWithin(pid: number, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (await isAlive(pid)) {
    if (performance.now() > end) return false;
  }
  return true;
}

/** Number of this process's open descriptors, where that can be known. */
export function openDescriptors(): number | undefined {
  try {
    return [...Deno.readDirSync("/proc/self/fd")].length;
  } catch {
    return undefined;
  }
}

/** A file to log into that is removed with the test. */
export async function logFile() {
  const path = await Deno.makeTempFile();
  return {
    path,
    lines: async () => (await Deno.readTextFile(path)).split("\n").filter((line) => line !== ""),
    [Symbol.asyncDispose]: () => Deno.remove(path),
  };
}

/**
 * Runs the scenarios of the contract in a program of their own.
 *
 * @param command the runtime
 * @param args its arguments, up to the program
 */
export async function runContract(command: string, args: string[]): Promise<void> {
  const { stdout, stderr } = await new Deno.Command(command, {
    args: [...args, Deno.execPath(), ...serverArgs()],
  }).output();
  const results = JSON.parse(new TextDecoder().decode(stdout) || `"${new TextDecoder().decode(stderr)}"`);
  assertEquals(results, Object.fromEntries(Object.keys(results).map((name) => [name, "ok"])));
  assertEquals(Object.keys(results).length, 13);
}
