/**
 * What the servers of the pool's soak do with a call. The log outlives them: a call is in it before anything else
 * happens, so a call that ran is counted even when its server is killed in the next moment.
 *
 * @module
 */

/** Arguments of the one tool. */
export interface SoakArguments {
  id: number;
  /** What happens after it ran; without one it is answered. */
  fate?: "error" | "rpc-error" | "never" | "break" | "crash";
  delayMs?: number;
  /** Makes the request large. */
  padding?: string;
}

/** The members of the response; `undefined` for none. */
export type SoakAnswer = { result: Record<string, unknown> } | { error: { code: number; message: string } } | undefined;

/**
 * Makes the tool.
 *
 * @param log a file that gets the id of each call that ran
 * @returns runs a call
 */
export function soakTool(log: string): (args: SoakArguments) => Promise<SoakAnswer> {
  const file = Deno.openSync(log, { append: true });
  return async ({ id, fate, delayMs }) => {
    file.writeSync(new TextEncoder().encode(`${id}\n`));
    if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (fate === "crash") Deno.exit(3);
    if (fate === "never") await new Promise(() => {});
    if (fate === "break") return undefined;
    if (fate === "rpc-error") return { error: { code: -32000, message: "refused" } };
    return { result: { content: [], structuredContent: { id }, ...(fate === "error" ? { isError: true } : {}) } };
  };
}
