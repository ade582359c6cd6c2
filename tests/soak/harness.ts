/** What the soaks share: chance, the end of a process, and a look at what is left. */

/** Mulberry32: small, seeded, good enough to choose moments. */
export function random(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Sends a signal to a process that may have ended by itself. */
export function kill(pid: number | undefined, signal: Deno.Signal): void {
  try {
    if (pid !== undefined) Deno.kill(pid, signal);
  } catch {
    // It has ended by itself.
  }
}

/**
 * Processes that run and should not.
 *
 * @param mark an argument that every server was started with
 * @returns children of this process, and whatever has the mark
 */
export async function leftProcesses(mark: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-e", "-o", "pid=,ppid=,stat=,args="] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => {
    const [, parent, state, program] = line.trim().split(/\s+/);
    if (program === undefined || state.startsWith("Z")) return false;
    return (Number(parent) === Deno.pid && !/(^|\/)ps$/.test(program)) || line.includes(mark);
  });
}
