/** An HTTP server that is killed and comes back at the same port. */
import { type ServerProcess, startServerProcess } from "../bench/server_process.ts";
import { kill } from "./harness.ts";

/** See the file. */
export class KilledServer {
  readonly #program: URL;
  readonly #args: readonly string[];
  #process: ServerProcess | undefined;
  #running: Promise<void> | undefined;
  #wanted = false;
  #port = 0;

  constructor(program: URL, args: readonly string[]) {
    this.#program = program;
    this.#args = args;
  }

  get port(): number {
    return this.#port;
  }

  /** Starts it; from then on it is started again whenever it ends. */
  async start(): Promise<void> {
    this.#wanted = true;
    const first = await this.#open();
    this.#running = this.#keep(first);
  }

  /** Ends it for good, or until it is started again. */
  async stop(): Promise<void> {
    this.#wanted = false;
    this.kill();
    await this.#running;
  }

  kill(): void {
    kill(this.#process?.pid, "SIGKILL");
  }

  /** Makes it forget its sessions. */
  async forget(): Promise<void> {
    await this.#process?.tell("forget");
  }

  async #open(): Promise<ServerProcess> {
    const opened = await startServerProcess(this.#program, [...this.#args, String(this.#port)]);
    this.#port = opened.port;
    return this.#process = opened;
  }

  async #keep(opened: ServerProcess): Promise<void> {
    for (;;) {
      await opened.ended;
      this.#process = undefined;
      if (!this.#wanted) return;
      // Somebody may have its port for a moment.
      opened = await this.#open().catch(() => this.#open());
      // Told to stop while it started.
      if (!this.#wanted) this.kill();
    }
  }
}
