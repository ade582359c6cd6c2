/** Bytes in use, as a benchmark or a soak compares them. */
export interface Memory {
  heap: number;
  /** Outside the heap, but held by objects in it. */
  external: number;
}

/**
 * Memory in use once everything that has ended is collected. Needs `--v8-flags=--expose-gc`.
 *
 * @returns bytes
 */
export async function collectedMemory(): Promise<Memory> {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("run it with --v8-flags=--expose-gc");
  for (let i = 0; i < 5; i++) {
    // Timers of what has just become idle end first.
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return { heap: heapUsed, external };
}
