/**
 * How the objects of the runtime are printed: what may be shown of them, and nothing else.
 *
 * @module
 */

/** `inspect` as Deno and Node hand it to a custom inspection. */
export type Inspect = (value: unknown, options?: unknown) => string;

/** Prints as its `toJSON`, in Deno and in Node, so that no private part of it can show. */
export abstract class Inspectable {
  /**
   * What may be shown.
   *
   * @returns a plain object without secrets
   */
  abstract toJSON(): Record<string, unknown>;

  /** How Deno prints it. */
  [Symbol.for("Deno.customInspect")](inspect: Inspect, options: unknown): string {
    return `${this.constructor.name} ${inspect(this.toJSON(), options)}`;
  }

  /** How Node prints it. */
  [Symbol.for("nodejs.util.inspect.custom")](_depth: number, options: unknown, inspect: Inspect): string {
    return `${this.constructor.name} ${inspect(this.toJSON(), options)}`;
  }
}
