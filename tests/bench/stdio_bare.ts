/**
 * The yardstick of the stdio benchmark: the least that a client must do. The same server in a process of its own, the
 * same messages, BYOB reads into one 64 KiB buffer, full `JSON.parse`, no checks, one call at a time.
 *
 * @module
 */

/** A client without a library. */
export class BareClient {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamBYOBReader;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  #buffer = new Uint8Array(64 * 1024);
  #id = 0;

  /**
   * @param args what Deno is started with
   * @param ownGroup whether the server gets a process group of its own, as the library's servers do
   */
  constructor(args: string[], ownGroup = false) {
    const pipes = { stdin: "piped", stdout: "piped", stderr: "null" } as const;
    this.#child = new Deno.Command(Deno.execPath(), { args, ...pipes, detached: ownGroup }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.getReader({ mode: "byob" });
  }

  /** Sends one request and reads until its response. */
  async request(method: string, params: unknown): Promise<{ result: unknown }> {
    const text = JSON.stringify({ jsonrpc: "2.0", id: this.#id++, method, params }) + "\n";
    await this.#writer.write(this.#encoder.encode(text));
    const parts: Uint8Array[] = [];
    for (;;) {
      const { value } = await this.#reader.read(this.#buffer);
      if (value === undefined) throw new Error("the server ended");
      this.#buffer = new Uint8Array(value.buffer);
      const end = value.indexOf(10);
      if (end === -1) {
        parts.push(value.slice());
        continue;
      }
      const last = value.subarray(0, end);
      return JSON.parse(this.#decoder.decode(parts.length === 0 ? last : join([...parts, last])));
    }
  }

  /** Calls a tool as the library does, progress token included. */
  callTool(name: string, args: Record<string, unknown>): Promise<{ result: unknown }> {
    return this.request("tools/call", { name, arguments: args, _meta: { progressToken: this.#id } });
  }

  async initialize(): Promise<void> {
    const clientInfo = { name: "bare", version: "1.0.0" };
    await this.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#reader.cancel();
    await this.#child.status;
  }
}

function join(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
