/**
 * A helper process that ends the servers of a program that could not do it itself.
 *
 * A server leads a process group of its own, so that its whole tree can be ended; the price is that Ctrl-C in a
 * terminal no longer reaches it, and that nobody ends it when this program is killed. The guard is a small shell that
 * waits for the end of its stdin: the kernel closes that pipe however this program ends. Then it sends SIGTERM to the
 * groups that are left, and after a second SIGKILL. It does nothing before, so a program that handles signals itself
 * can still finish its calls.
 *
 * @module
 */
import { settledWithin } from "../timers.ts";
import type { ProcessHost, ServerProcess } from "./process.ts";

/** How long the end of the guard is waited for, in milliseconds. It is killed, so this is the kernel's time. */
const END_MS = 1_000;

// Lines from stdin are "+ <pid>" and "- <pid>". Only the shell's own commands are used, but for `sleep`.
const SCRIPT = `
trap '' HUP INT QUIT TERM TSTP
left=' '
while read -r sign pid; do
  case $sign in
    +) left="$left$pid " ;;
    -) left="\${left%%" $pid "*} \${left#*" $pid "}" ;;
  esac
done
alive() {
  for pid in $left; do kill -s 0 -- "-$pid" && return 0; done
  return 1
}
for pid in $left; do kill -s TERM -- "-$pid"; done
tries=20
while [ "$tries" -gt 0 ] && alive; do
  tries=$((tries - 1))
  sleep 0.05 || { sleep 1; tries=0; }
done
for pid in $left; do kill -s KILL -- "-$pid"; done
`;

/** The guard of one program: started with the first group, ended with the last. */
export class Guard {
  readonly #host: ProcessHost;
  readonly #groups = new Set<number>();
  #process: Promise<ServerProcess | undefined> | undefined;

  /** @param host starts it */
  constructor(host: ProcessHost) {
    this.#host = host;
  }

  /** @param pid leader of a group that must not outlive this program */
  watch(pid: number): void {
    this.#groups.add(pid);
    this.#process ??= this.#start();
    this.#tell(`+ ${pid}\n`);
  }

  /**
   * Takes a group off the list; with the last one the guard ends.
   *
   * @param pid leader of the group
   * @returns resolves when the guard has ended, if it does
   */
  async forget(pid: number): Promise<void> {
    if (!this.#groups.delete(pid)) return;
    this.#tell(`- ${pid}\n`);
    if (this.#groups.size > 0) return;
    const starting = this.#process;
    // A group that is watched from now on gets a guard of its own.
    this.#process = undefined;
    const process = await starting;
    if (process === undefined) return;
    process.ref();
    process.signal("SIGKILL");
    process.endStdin();
    await settledWithin(process.exited, END_MS);
    process.release();
  }

  #tell(line: string): void {
    // A guard that was killed by somebody cannot be told anything; the exit hook still covers the ordinary endings.
    this.#process?.then((process) => process?.write(new TextEncoder().encode(line))).catch(() => {});
  }

  async #start(): Promise<ServerProcess | undefined> {
    try {
      const process = await this.#host.spawn({
        command: "/bin/sh",
        args: ["-c", SCRIPT, "mcp-guard"],
        env: { PATH: "/usr/bin:/bin" },
        clearEnv: true,
        cwd: "/",
        ownGroup: true,
        stdout: "ignore",
        stderr: "ignore",
      });
      process.unref();
      return process;
    } catch {
      return undefined; // No shell, as in a container with one program: the exit hook is all there is.
    }
  }
}
