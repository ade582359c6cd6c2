/**
 * Child processes on Deno.
 *
 * @module
 */
import type { ExitStatus, OutputHandlers, ProcessHost, ServerProcess, SpawnRequest } from "./process.ts";
import { SpawnFailure } from "./process.ts";
import { hasRunningMember } from "./process_group.ts";

type DenoApi = typeof Deno;

/** A read of a pipe that has much to say: large enough for throughput, small enough to stay in the cache. */
const READ_BYTES = 64 * 1024;
/** A read of any other pipe; each holds its buffer as long as the session lives, and most sessions are idle. */
const FIRST_READ_BYTES = 4 * 1024;

/** Turns of the microtask queue between an answer and the next request of its caller, and some of the caller's own. */
const TURNS_OF_CALLERS = 12;

/**
 * The host on Deno.
 *
 * @returns the host, or `undefined` elsewhere
 */
export function denoHost(): ProcessHost | undefined {
  const deno = (globalThis as { Deno?: DenoApi }).Deno;
  return typeof deno?.Command === "function" ? new DenoHost(deno) : undefined;
}

class DenoHost implements ProcessHost {
  readonly #deno: DenoApi;
  readonly windows: boolean;

  constructor(deno: DenoApi) {
    this.#deno = deno;
    this.windows = deno.build.os === "windows";
  }

  ownsGroups(): boolean {
    // Deno.kill needs the unscoped permission; with `--allow-run=<program>` only the child itself can be signalled.
    return !this.windows && this.#granted({ name: "run" });
  }

  getEnv(name: string): string | undefined {
    return this.#granted({ name: "env", variable: name }) ? this.#deno.env.get(name) : undefined;
  }

  isFile(path: string): boolean {
    if (!this.#granted({ name: "read", path })) return true;
    try {
      return this.#deno.statSync(path).isFile;
    } catch {
      return false; // Not there, or not reachable: the same for who looks for a program.
    }
  }

  onExit(callback: () => void): () => void {
    globalThis.addEventListener("unload", callback);
    return () => globalThis.removeEventListener("unload", callback);
  }

  spawn(request: SpawnRequest, handlers?: OutputHandlers): Promise<ServerProcess> {
    return new Promise((resolve) => resolve(this.#spawn(request, handlers)));
  }

  #spawn(request: SpawnRequest, handlers: OutputHandlers | undefined): ServerProcess {
    const { command, cwd } = request;
    // Asked, never prompted for: a service has nobody to answer, and a prompt would block the whole program.
    if (!this.#granted({ name: "run", command })) {
      throw new SpawnFailure({ kind: "permission", flag: `--allow-run=${command}` });
    }
    if (cwd !== undefined && this.#isDirectory(cwd) === false) throw new SpawnFailure({ kind: "cwd" });
    let child: Deno.ChildProcess;
    try {
      child = new this.#deno.Command(command, {
        args: [...request.args],
        env: { ...request.env },
        clearEnv: request.clearEnv,
        cwd,
        detached: request.ownGroup,
        windowsRawArguments: request.verbatim === true,
        stdin: "piped",
        stdout: request.stdout === "pipe" ? "piped" : "null",
        stderr: request.stderr === "pipe" ? "piped" : request.stderr === "inherit" ? "inherit" : "null",
      }).spawn();
    } catch (error) {
      throw spawnFailure(error, cwd !== undefined && this.#isDirectory(cwd) === undefined);
    }
    return new DenoProcess(this.#deno, child, request, handlers);
  }

  /** `undefined` when it may not be looked up. */
  #isDirectory(path: string): boolean | undefined {
    if (!this.#granted({ name: "read", path })) return undefined;
    try {
      return this.#deno.statSync(path).isDirectory;
    } catch {
      return false; // Not there, or not reachable: no process can start in it.
    }
  }

  #granted(permission: Deno.PermissionDescriptor): boolean {
    return this.#deno.permissions.querySync(permission).state === "granted";
  }
}

function spawnFailure(error: unknown, cwdUnknown: boolean): SpawnFailure {
  const { name, message } = error as Error;
  if (name === "NotCapable") return new SpawnFailure({ kind: "permission", flag: "--allow-run" }, error);
  // Deno has one error for a missing program and a missing directory; where the directory may not be looked up, only
  // the message tells them apart, and a wrong guess costs a word of the explanation.
  if (cwdUnknown && /\bcwd\b/.test(message)) return new SpawnFailure({ kind: "cwd" }, error);
  if (name === "NotFound") return new SpawnFailure({ kind: "command-missing" }, error);
  if (name === "PermissionDenied") return new SpawnFailure({ kind: "not-executable" }, error);
  return new SpawnFailure({ kind: "other" }, error);
}

class DenoProcess implements ServerProcess {
  readonly #deno: DenoApi;
  readonly #child: Deno.ChildProcess;
  readonly #request: SpawnRequest;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #readers: ReadableStreamBYOBReader[] = [];
  readonly pid: number;
  readonly exited: Promise<ExitStatus>;
  readonly stdoutEnded: Promise<void>;
  readonly stderrEnded: Promise<void>;

  constructor(deno: DenoApi, child: Deno.ChildProcess, request: SpawnRequest, handlers?: OutputHandlers) {
    this.#deno = deno;
    this.#child = child;
    this.#request = request;
    this.#stdin = child.stdin.getWriter();
    this.pid = child.pid;
    this.exited = child.status.then(({ code, signal }) => ({ code: signal === null ? code : null, signal }));
    this.stdoutEnded = request.stdout === "pipe"
      ? this.#read(child.stdout, (chunk) => handlers?.onstdout(chunk))
      : Promise.resolve();
    this.stderrEnded = request.stderr === "pipe"
      ? this.#read(child.stderr, (chunk) => handlers?.onstderr(chunk))
      : Promise.resolve();
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#stdin.write(bytes);
  }

  endStdin(): void {
    // It fails when the pipe is broken already; then there is nothing left to end.
    this.#stdin.close().catch(() => {});
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    try {
      if (this.#request.ownGroup) this.#deno.kill(-this.pid, name);
      else if (!this.#taskkill()) this.#child.kill(name);
    } catch {
      // It has ended just now, which is what was wanted.
    }
  }

  /** Windows has no groups; its own tool follows the tree from parent to child while the parent lives. */
  #taskkill(): boolean {
    if (this.#deno.build.os !== "windows") return false;
    if (this.#deno.permissions.querySync({ name: "run", command: "taskkill" }).state !== "granted") return false;
    const args = ["/T", "/F", "/PID", String(this.pid)];
    return new this.#deno.Command("taskkill", { args, stdout: "null", stderr: "null" }).outputSync().success;
  }

  groupAlive(): boolean {
    if (!this.#request.ownGroup) return false;
    try {
      // Signal 0 only asks (POSIX kill). Deno's types do not know it, its runtime does.
      this.#deno.kill(-this.pid, 0 as unknown as Deno.Signal);
    } catch {
      return false; // No such group.
    }
    const deno = this.#deno;
    return hasRunningMember(this.pid, function* () {
      for (const { name } of deno.readDirSync("/proc")) yield name;
    }, (path) => deno.readTextFileSync(path));
  }

  release(): void {
    // Ends the reads although another process may still hold the pipe. A pipe that has ended refuses to be cancelled.
    for (const reader of this.#readers) reader.cancel().catch(() => {});
    this.#stdin.abort().catch(() => {});
  }

  ref(): void {
    this.#hold("ref");
  }

  unref(): void {
    this.#hold("unref");
  }

  #hold(how: "ref" | "unref"): void {
    try {
      this.#child[how]();
    } catch {
      // Deno throws BadResource when the child has ended and its status is still on its way: it holds nothing any more.
    }
  }

  async #read(stream: ReadableStream<Uint8Array>, onchunk: (chunk: Uint8Array) => void): Promise<void> {
    const reader = stream.getReader({ mode: "byob" });
    this.#readers.push(reader);
    let buffer = new Uint8Array(FIRST_READ_BYTES);
    try {
      for (;;) {
        const { value, done } = await reader.read(buffer);
        if (done || value === undefined) return;
        onchunk(value);
        // Whoever has got an answer goes first: a caller that calls again has its next request on the way before the next
        // read is prepared. A server that waits for it has not gone to sleep yet, and waking it costs more than all of
        // this.
        for (let turn = 0; turn < TURNS_OF_CALLERS; turn++) await undefined;
        const full = value.length === value.buffer.byteLength;
        buffer = full ? new Uint8Array(READ_BYTES) : new Uint8Array(value.buffer);
      }
    } catch {
      // The pipe was given up while it was read; what ended the process is told by its status.
    }
  }
}
