/**
 * What ends the children that are left when the program ends: one hook, installed with the first child and removed with
 * the last, and a guard for the endings that no hook sees.
 *
 * @module
 */
import { Guard } from "./guard.ts";
import type { ProcessHost, ServerProcess } from "./process.ts";

/** Children of one host that must not outlive the program. */
class OwnedChildren {
  readonly #host: ProcessHost;
  readonly #guard: Guard;
  readonly #children = new Set<ServerProcess>();
  #uninstall: (() => void) | undefined;

  constructor(host: ProcessHost) {
    this.#host = host;
    this.#guard = new Guard(host);
  }

  add(child: ServerProcess, leadsGroup: boolean): () => Promise<void> {
    this.#children.add(child);
    this.#uninstall ??= this.#host.onExit(() => this.#killAll());
    if (leadsGroup) this.#guard.watch(child.pid);
    return () => this.#remove(child);
  }

  async #remove(child: ServerProcess): Promise<void> {
    this.#children.delete(child);
    if (this.#children.size === 0) {
      this.#uninstall?.();
      this.#uninstall = undefined;
    }
    await this.#guard.forget(child.pid);
  }

  #killAll(): void {
    // The program is ending: nothing can be waited for any more, so there is no gentler way.
    for (const child of this.#children) child.signal("SIGKILL");
  }
}

let owned: OwnedChildren | undefined;

/**
 * Makes sure that a child does not outlive the program.
 *
 * @param host where the child runs
 * @param child the child
 * @param leadsGroup whether it leads a process group
 * @returns takes that back when the child and its group have ended; resolves when nothing of it is left
 */
export function ownChild(host: ProcessHost, child: ServerProcess, leadsGroup: boolean): () => Promise<void> {
  // One for the whole program: every transport runs on the same host.
  owned ??= new OwnedChildren(host);
  return owned.add(child, leadsGroup);
}
