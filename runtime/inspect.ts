/**
 * How the objects of the runtime are printed: what may be shown of them, and nothing else.
 *
 * @module
 */

/** `inspect` as Deno and Node hand it to a custom inspection. */
type Inspect = (value: unknown, options?: unknown) => string;

/**
 * Makes Deno and Node print the objects of a class as their `toJSON`, so that no private part of them can show.
 *
 * @param shown the class; its `toJSON` returns a plain object without secrets
 */
export function printAsJson(shown: { name: string; prototype: { toJSON(): Record<string, unknown> } }): void {
  const print = (object: { toJSON(): Record<string, unknown> }, inspect: Inspect, options: unknown) =>
    `${shown.name} ${inspect(object.toJSON(), options)}`;
  Object.defineProperties(shown.prototype, {
    [Symbol.for("Deno.customInspect")]: {
      value(this: { toJSON(): Record<string, unknown> }, inspect: Inspect, options: unknown) {
        return print(this, inspect, options);
      },
    },
    [Symbol.for("nodejs.util.inspect.custom")]: {
      value(this: { toJSON(): Record<string, unknown> }, _depth: number, options: unknown, inspect: Inspect) {
        return print(this, inspect, options);
      },
    },
  });
}
