/**
 * The limit: the least that a client must do, without a library. See stdio_bare.ts for stdio; over HTTP it is one
 * `fetch` for each call, with the body and headers that the library sends too, and `JSON.parse` of the answer.
 *
 * @module
 */
import { BareClient } from "../stdio_bare.ts";
import { type Contender, type Session, type Target, textOf } from "./contender.ts";

async function openStdio(args: string[]): Promise<Session> {
  const client = new BareClient(args);
  await client.initialize();
  return {
    call: async (tool, payload) => textOf((await client.callTool(tool, payload)).result),
    close: () => client.close(),
  };
}

async function openHttp(url: string): Promise<Session> {
  let id = 0;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
  };
  const post = async (message: Record<string, unknown>) => {
    const body = new Blob([JSON.stringify({ jsonrpc: "2.0", ...message })]);
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (text === "") return { response, message: {} };
    const json = text.startsWith("{") ? text : text.slice(text.indexOf("data: ") + 6);
    return { response, message: JSON.parse(json) };
  };
  const clientInfo = { name: "bare", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { response, message } = await post({ id: id++, method: "initialize", params });
  headers["mcp-session-id"] = response.headers.get("mcp-session-id") ?? "";
  headers["mcp-protocol-version"] = message.result.protocolVersion;
  await post({ method: "notifications/initialized" });
  return {
    async call(name, args) {
      const params = { name, arguments: args, _meta: { progressToken: ++id } };
      return textOf((await post({ id, method: "tools/call", params })).message.result);
    },
    close: async () => void await (await fetch(url, { method: "DELETE", headers })).body?.cancel(),
  };
}

/** No library at all. */
export const contender: Contender = {
  open: (target: Target) => target.kind === "http" ? openHttp(target.url) : openStdio(target.args),
};
