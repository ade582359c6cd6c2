import { openMcpSession } from "../../runtime/client.ts";
import type { OpenSessionOptions, ToolClient } from "../../runtime/client.ts";
import { ScriptedTransport, type ScriptOptions } from "./scripted_transport.ts";

/** A connection whose transport the test plays. */
export const scripted = {
  id: "scripted.test",
  provider: "scripted",
  account: "test",
  transport: { kind: "stdio" as const, command: "scripted", env: { API_KEY: "key-of-the-scripted" } },
};

/** A client after its handshake, and the transport under it. */
export async function openScripted(
  script: ScriptOptions = {},
  options: OpenSessionOptions = {},
): Promise<{ client: ToolClient & AsyncDisposable; transport: ScriptedTransport }> {
  const transport = new ScriptedTransport(script);
  const client = await openMcpSession(scripted, null, { createTransport: () => transport, ...options });
  return { client, transport };
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}
