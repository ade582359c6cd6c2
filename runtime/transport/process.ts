/**
 * The seam between the stdio transport and the runtime that starts processes: Deno, or Node and Bun.
 *
 * @module
 */

/** How a process ended. */
export interface ExitStatus {
  /** Its exit code, or `null` when a signal ended it. */
  code: number | null;
  /** Name of that signal, or `null`. */
  signal: string | null;
}

/** What to start. */
export interface SpawnRequest {
  /** Program: a name looked up in `PATH`, or a path. */
  command: string;
  /** Its arguments, each whole. */
  args: readonly string[];
  /** Windows: `args` is one command line that is already quoted. */
  verbatim?: boolean;
  /** Variables of the child. */
  env: Readonly<Record<string, string>>;
  /** Whether the child has only those; otherwise they are laid over those of this program. */
  clearEnv: boolean;
  /** Working directory; that of this program when absent. */
  cwd?: string | undefined;
  /** Whether the child leads a process group of its own, so that its whole tree can be signalled. */
  ownGroup: boolean;
  /** What becomes of its stdout. */
  stdout: "pipe" | "ignore";
  /** What becomes of its stderr. */
  stderr: "pipe" | "inherit" | "ignore";
}

/** What is told of a child's output. A chunk may be read until the call returns; its memory is used again. */
export interface OutputHandlers {
  /** Bytes from stdout. */
  onstdout(chunk: Uint8Array): void;
  /** Bytes from stderr. */
  onstderr(chunk: Uint8Array): void;
}

/** One child process. */
export interface ServerProcess {
  /** Its id, and that of its group when it leads one. */
  readonly pid: number;
  /** How it ended; never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** Settles when nothing more can come from stdout; never rejects. */
  readonly stdoutEnded: Promise<void>;
  /** The same for stderr. */
  readonly stderrEnded: Promise<void>;
  /** Hands bytes to its stdin; settles when the pipe took them. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends its stdin, after the writes that are under way. */
  endStdin(): void;
  /** Sends a signal to its group when it leads one, else to it alone. Never throws: it may have ended just now. */
  signal(name: "SIGTERM" | "SIGKILL"): void;
  /** Whether a process of its group is left; false when it leads none. */
  groupAlive(): boolean;
  /** Gives up the pipes, whatever holds their other ends. */
  release(): void;
  /** The child keeps the program alive. */
  ref(): void;
  /** The child does not keep the program alive. */
  unref(): void;
}

/** Why a process could not be started. */
export interface SpawnProblem {
  /** The kinds that a person must tell apart. */
  kind: "command-missing" | "not-executable" | "cwd" | "permission" | "other";
  /** The permission flag to add, for `permission`. */
  flag?: string;
}

/** Thrown by {@linkcode ProcessHost.spawn}. */
export class SpawnFailure extends Error {
  /** Why. */
  readonly problem: SpawnProblem;

  /** @param problem why @param cause what the runtime threw */
  constructor(problem: SpawnProblem, cause?: unknown) {
    super(problem.kind, { cause });
    this.name = "SpawnFailure";
    this.problem = problem;
  }
}

/** What the transport needs of the runtime. */
export interface ProcessHost {
  /** Whether this is Windows. */
  readonly windows: boolean;
  /** Whether whole process groups can be signalled; false on Windows and without the permission. */
  ownsGroups(): boolean;
  /** A variable of this program; `undefined` when it is not set or may not be read. */
  getEnv(name: string): string | undefined;
  /** Whether a file is there; true when that may not be looked up. */
  isFile(path: string): boolean;
  /** Starts a process. Rejects with {@linkcode SpawnFailure}. */
  spawn(request: SpawnRequest, handlers?: OutputHandlers): Promise<ServerProcess>;
  /** Calls back when the program ends, however it does; returns the way to take that back. */
  onExit(callback: () => void): () => void;
}
