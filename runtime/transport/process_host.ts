/**
 * Which runtime starts the processes.
 *
 * @module
 */
import type { ProcessHost } from "./process.ts";
import { denoHost } from "./process_deno.ts";
import { nodeHost } from "./process_node.ts";

/**
 * The host this program runs on, decided at run time: the same files are imported everywhere.
 *
 * @returns the host, or `undefined` in a browser
 */
export function processHost(): ProcessHost | undefined {
  return denoHost() ?? nodeHost();
}
