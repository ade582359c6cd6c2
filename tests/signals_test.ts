import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async";
import { closeOnSignals } from "../runtime/signals.ts";
import { fromFileUrl } from "./transport/file_url.ts";
import { isAlive, isGoneWithin } from "./transport/stdio_harness.ts";

const BOUND_MS = 30_000;

/** How long the slow tool takes: long enough that a signal comes while it runs. */
const SLOW = { entry: "slow", delayMs: 500 };

/** The program of the fixture, and the lines it prints. */
class Program implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(...args: string[]) {
    const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--config", path("../deno.json"), "-A", path("./fixtures/signals_program.ts"), ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next line, or `undefined` at the end. */
  async line(): Promise<[string, unknown] | undefined> {
    while (!this.#rest.includes("\n")) {
      const { value, done } = await deadline(this.#lines.read(), BOUND_MS);
      if (done) return undefined;
      this.#rest += value;
    }
    const at = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, at);
    this.#rest = this.#rest.slice(at + 1);
    return JSON.parse(line);
  }

  /** All lines that are left. */
  async rest(): Promise<[string, unknown][]> {
    const lines = [];
    for (let line = await this.line(); line; line = await this.line()) lines.push(line);
    return lines;
  }

  /** Waits until the call is with the server; the server's process id. */
  async ready(): Promise<number> {
    const line = await this.line();
    assertEquals(line?.[0], "ready");
    const server = line![1] as number;
    assert(await isAlive(server));
    return server;
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  async status(): Promise<{ code: number; signal: Deno.Signal | null }> {
    const { code, signal } = await deadline(this.#child.status, BOUND_MS);
    return { code, signal };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended, as it should.
    }
    await this.#child.status;
    await this.#lines.cancel();
  }
}

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  Deno.test(`closeOnSignals: ${signal} drains the running call, ends the server and exits with ${code}`, async () => {
    await using program = new Program("append", JSON.stringify(SLOW));
    const server = await program.ready();
    program.kill(signal);
    assertEquals(await program.rest(), [["closing", null], ["answered", { entries: ["slow"] }], ["closed", null]]);
    assertEquals(await program.status(), { code, signal: null });
    assert(await isGoneWithin(server, 5_000));
  });

  Deno.test(`closeOnSignals: a second ${signal} aborts what is still draining, and exits with ${code}`, async () => {
    await using program = new Program("never", "{}");
    const server = await program.ready();
    program.kill(signal);
    assertEquals(await program.line(), ["closing", null]);
    assert(await isAlive(server));
    program.kill(signal);
    assertEquals(await program.rest(), [
      ["aborting", `Error: got ${signal}`],
      ["failed", ["SESSION_CLOSED", "unknown"]],
      ["closed", null],
    ]);
    assertEquals(await program.status(), { code, signal: null });
    assert(await isGoneWithin(server, 5_000));
  });

  Deno.test(`closeOnSignals: after its function was called, ${signal} ends the program as if it had not been`, async () => {
    await using program = new Program("never", "{}", "{}", "forget");
    const server = await program.ready();
    program.kill(signal);
    assertEquals(await program.rest(), []);
    assertEquals((await program.status()).signal, signal);
    assert(await isGoneWithin(server, 5_000));
  });
}

Deno.test("closeOnSignals: `signals` says which; others are left alone, and the number makes the code", async () => {
  const options = JSON.stringify({ signals: ["SIGHUP"] });
  await using hung = new Program("append", JSON.stringify(SLOW), options);
  const server = await hung.ready();
  hung.kill("SIGHUP");
  await hung.rest();
  assertEquals(await hung.status(), { code: 129, signal: null });
  assert(await isGoneWithin(server, 5_000));
  await using other = new Program("never", "{}", options);
  await other.ready();
  other.kill("SIGTERM");
  assertEquals((await other.status()).signal, "SIGTERM");
});

Deno.test("closeOnSignals: with `exit: false` the pool is closed and the program goes on", async () => {
  await using program = new Program("append", JSON.stringify(SLOW), JSON.stringify({ exit: false }));
  const server = await program.ready();
  program.kill("SIGTERM");
  assertEquals([await program.line(), await program.line(), await program.line()], [
    ["closing", null],
    ["answered", { entries: ["slow"] }],
    ["closed", null],
  ]);
  assert(await isGoneWithin(server, 5_000));
  // It still hears signals, so it runs.
  program.kill("SIGTERM");
  assertEquals(await program.line(), ["aborting", "Error: got SIGTERM"]);
});

Deno.test("closeOnSignals: a program that takes the listeners away ends by itself", async () => {
  await using program = new Program("append", JSON.stringify(SLOW), "{}", "forget later");
  const server = await program.ready();
  assertEquals(await program.rest(), [["answered", { entries: ["slow"] }], ["closed", null]]);
  assertEquals(await program.status(), { code: 0, signal: null });
  assert(await isGoneWithin(server, 5_000));
});

Deno.test("closeOnSignals: where there are no signals, nothing is hooked and its function does nothing", () => {
  const process = Object.getOwnPropertyDescriptor(globalThis, "process")!;
  const pool = { closeAll: () => Promise.resolve(), abort: () => Promise.resolve() };
  Object.defineProperty(globalThis, "process", { value: undefined, configurable: true, writable: true });
  try {
    closeOnSignals(pool)();
  } finally {
    Object.defineProperty(globalThis, "process", process);
  }
});
