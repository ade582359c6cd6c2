/**
 * Starts the processes of the comparison: a worker for each contender, and the HTTP server that all of them share.
 *
 * @module
 */
import type { Answer, Command } from "./worker.ts";

const path = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);

/** The stdio server of the benchmarks. */
export const STDIO_TARGET = {
  kind: "stdio" as const,
  command: Deno.execPath(),
  args: ["run", "--no-config", "-A", path("../stdio_server.mjs")],
};

/** One contender's process. */
export class Worker implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  #rest = "";

  private constructor(adapter: string) {
    const config = adapter.startsWith("../peers/") ? "../peers/deno.json" : "../../../deno.json";
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--v8-flags=--expose-gc",
        "--config",
        path(config),
        path("./worker.ts"),
        adapter,
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /**
   * Starts a worker and waits until its adapter is imported.
   *
   * @param adapter path of the adapter's module, from this folder
   * @returns the worker, and how long the import took, in ms
   */
  static async start(adapter: string): Promise<{ worker: Worker; importMs: number }> {
    const worker = new Worker(adapter);
    const importMs = await worker.#answer();
    if (importMs === undefined) throw new Error(`${adapter} told no import time`);
    return { worker, importMs };
  }

  /**
   * Gives a command and waits for its answer.
   *
   * @param command what to do
   * @param limitMs a worker that takes longer is ended
   * @throws {Error} what went wrong in the worker, in its words
   */
  async ask(command: Command, limitMs = 60_000): Promise<number | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new GaveUp(`no answer within ${limitMs / 1_000} s`)), limitMs);
    });
    try {
      const told = this.#writer.write(new TextEncoder().encode(JSON.stringify(command) + "\n"));
      return await Promise.race([told.then(() => this.#answer()), limit]);
    } catch (error) {
      if (error instanceof GaveUp) this.#child.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #answer(): Promise<number | undefined> {
    while (!this.#rest.includes("\n")) {
      const { value, done } = await this.#lines.read();
      if (done) throw new GaveUp("the process ended");
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const answer: Answer = JSON.parse(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end + 1);
    if ("error" in answer) throw new Error(answer.error);
    return answer.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {}); // It may be gone already.
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await this.#child.status;
    clearTimeout(timer);
    await this.#lines.cancel().catch(() => {});
  }
}

/** The worker is gone: another has to be started for what comes next. */
export class GaveUp extends Error {}

/** Starts the HTTP server. */
export async function startHttpServer(): Promise<{ url: string } & AsyncDisposable> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "-A", path("../../fixtures/http/bench_server.ts")],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const output = child.stdout.getReader();
  const port = Number(new TextDecoder().decode((await output.read()).value));
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      await output.cancel();
      await child.stdin.close();
      await child.status;
    },
  };
}
