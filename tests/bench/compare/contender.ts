/**
 * What is compared: one way to call tools, behind the same few functions for all of them.
 *
 * An adapter is a module that imports its library and exports a `contender`. It runs in a process of its own, so that
 * importing it costs what importing the library costs.
 *
 * @module
 */

/** Where the tools are. */
export type Target =
  | { kind: "stdio"; command: string; args: string[] }
  | { kind: "http"; url: string };

/** One server, ready for calls. */
export interface Session {
  /** Calls a tool and returns the text of its answer. */
  call(tool: string, args: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/** One way to call tools. */
export interface Contender {
  /** Opens what the contender keeps between calls, handshake included. */
  open(target: Target): Promise<Session>;
  /** Whether it keeps nothing between calls: then `open` has done nothing yet. */
  keepsNothing?: true;
}

/** The text of a raw tool result; refuses anything else, so that no contender wins by not reading its answer. */
export function textOf(result: unknown): string {
  const { content } = result as { content?: { type: string; text?: string }[] };
  const text = content?.[0]?.text;
  if (typeof text !== "string") throw new Error("the answer has no text");
  return text;
}
