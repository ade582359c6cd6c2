/**
 * Child processes on Node and Bun.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import type { ExitStatus, OutputHandlers, ProcessHost, ServerProcess, SpawnRequest } from "./process.ts";
import { SpawnFailure } from "./process.ts";
import { hasRunningMember } from "./process_group.ts";

interface NodeProcess {
  platform: string;
  env: Record<string, string | undefined>;
  kill(pid: number, signal: string | number): boolean;
  once(event: "exit", listener: () => void): void;
  off(event: "exit", listener: () => void): void;
  getBuiltinModule?: (name: string) => unknown;
}

interface NodeModules {
  process: NodeProcess;
  spawn: typeof import("node:child_process").spawn;
  spawnSync: typeof import("node:child_process").spawnSync;
  statSync: typeof import("node:fs").statSync;
  readdirSync: typeof import("node:fs").readdirSync;
  readFileSync: typeof import("node:fs").readFileSync;
}

/** What Node's sockets can do beyond the streams that its types promise for a child. */
interface Refable {
  ref?: () => void;
  unref?: () => void;
}

/**
 * The host on Node 20.16 or newer, and on Bun.
 *
 * @returns the host, or `undefined` elsewhere
 */
export function nodeHost(): ProcessHost | undefined {
  const process = (globalThis as { process?: NodeProcess }).process;
  const childProcess = process?.getBuiltinModule?.("node:child_process");
  const fs = process?.getBuiltinModule?.("node:fs");
  if (process === undefined || !childProcess || !fs) return undefined;
  const { spawn, spawnSync } = childProcess as NodeModules;
  const { statSync, readdirSync, readFileSync } = fs as NodeModules;
  return new NodeHost({ process, spawn, spawnSync, statSync, readdirSync, readFileSync });
}

class NodeHost implements ProcessHost {
  readonly #node: NodeModules;
  readonly windows: boolean;

  constructor(node: NodeModules) {
    this.#node = node;
    this.windows = node.process.platform === "win32";
  }

  ownsGroups(): boolean {
    return !this.windows;
  }

  getEnv(name: string): string | undefined {
    return this.#node.process.env[name];
  }

  isFile(path: string): boolean {
    return this.#node.statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  }

  onExit(callback: () => void): () => void {
    this.#node.process.once("exit", callback);
    return () => this.#node.process.off("exit", callback);
  }

  spawn(request: SpawnRequest, handlers?: OutputHandlers): Promise<ServerProcess> {
    return new Promise((resolve, reject) => {
      // Node reports a missing directory and a missing program alike, as ENOENT of the program.
      if (request.cwd !== undefined && !this.#isDirectory(request.cwd)) {
        return reject(new SpawnFailure({ kind: "cwd" }));
      }
      let child: ChildProcess;
      try {
        child = this.#node.spawn(request.command, [...request.args], {
          cwd: request.cwd,
          env: request.clearEnv ? { ...request.env } : { ...this.#node.process.env, ...request.env },
          detached: request.ownGroup,
          windowsHide: true,
          windowsVerbatimArguments: request.verbatim === true,
          stdio: ["pipe", request.stdout, request.stderr],
        });
      } catch (error) {
        return reject(spawnFailure(error));
      }
      const onerror = (error: unknown) => reject(spawnFailure(error));
      child.once("error", onerror);
      child.once("spawn", () => {
        child.off("error", onerror);
        resolve(new NodeServerProcess(this.#node, child, request, handlers));
      });
    });
  }

  #isDirectory(path: string): boolean {
    try {
      return this.#node.statSync(path).isDirectory();
    } catch {
      return false; // Not there, or not reachable: no process can start in it.
    }
  }
}

function spawnFailure(error: unknown): SpawnFailure {
  const code = (error as { code?: unknown }).code;
  if (code === "ENOENT") return new SpawnFailure({ kind: "command-missing" }, error);
  if (code === "EACCES" || code === "EPERM") return new SpawnFailure({ kind: "not-executable" }, error);
  return new SpawnFailure({ kind: "other" }, error);
}

class NodeServerProcess implements ServerProcess {
  readonly #node: NodeModules;
  readonly #child: ChildProcess;
  readonly #request: SpawnRequest;
  readonly pid: number;
  readonly exited: Promise<ExitStatus>;
  readonly stdoutEnded: Promise<void>;
  readonly stderrEnded: Promise<void>;

  constructor(node: NodeModules, child: ChildProcess, request: SpawnRequest, handlers?: OutputHandlers) {
    this.#node = node;
    this.#child = child;
    this.#request = request;
    this.pid = child.pid!;
    // A failed kill is reported here; the exit tells what became of the process.
    child.on("error", () => {});
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    // A broken pipe is reported to the write's callback as well.
    child.stdin!.on("error", () => {});
    this.stdoutEnded = read(child.stdout, (chunk) => handlers?.onstdout(chunk));
    this.stderrEnded = read(child.stderr, (chunk) => handlers?.onstderr(chunk));
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.stdin!.write(bytes, (error) => error ? reject(error) : resolve());
    });
  }

  endStdin(): void {
    this.#child.stdin!.end();
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    try {
      if (this.#request.ownGroup) this.#node.process.kill(-this.pid, name);
      else if (!this.#taskkill()) this.#child.kill(name);
    } catch {
      // It has ended just now, which is what was wanted.
    }
  }

  /** Windows has no groups; its own tool follows the tree from parent to child while the parent lives. */
  #taskkill(): boolean {
    if (this.#node.process.platform !== "win32") return false;
    const args = ["/T", "/F", "/PID", String(this.pid)];
    return this.#node.spawnSync("taskkill", args, { stdio: "ignore", windowsHide: true }).status === 0;
  }

  groupAlive(): boolean {
    if (!this.#request.ownGroup) return false;
    try {
      this.#node.process.kill(-this.pid, 0);
    } catch {
      return false; // No such group.
    }
    const { readdirSync, readFileSync } = this.#node;
    return hasRunningMember(this.pid, () => readdirSync("/proc"), (path) => readFileSync(path, "latin1"));
  }

  release(): void {
    for (const stream of this.#pipes()) stream?.destroy();
  }

  ref(): void {
    this.#child.ref();
    for (const stream of this.#pipes()) (stream as Refable | null)?.ref?.();
  }

  unref(): void {
    this.#child.unref();
    for (const stream of this.#pipes()) (stream as Refable | null)?.unref?.();
  }

  #pipes() {
    return [this.#child.stdin, this.#child.stdout, this.#child.stderr];
  }
}

function read(stream: ChildProcess["stdout"], onchunk: (chunk: Uint8Array) => void): Promise<void> {
  if (stream === null) return Promise.resolve();
  return new Promise((resolve) => {
    stream.on("data", onchunk);
    stream.on("error", () => {}); // Followed by "close".
    stream.once("close", () => resolve());
    stream.once("end", () => resolve());
  });
}
