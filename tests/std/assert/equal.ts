/**
 * Deep equality with the rules of `@std/assert`:
 *
 * - `0` equals `-0`, and `NaN` equals `NaN`, at every depth;
 * - a key holding `undefined` is not the same as a missing key;
 * - prototypes must agree, except that a null prototype passes for `Object.prototype`;
 * - dates, regular expressions, URLs and the like are compared by what they denote;
 * - map and set entries are matched regardless of order, with deeply equal keys;
 * - instances of other classes are compared by their own properties, hidden ones included, and by what the getters of
 *   their prototypes return. Two errors therefore differ when their `stack` does, as they do in `@std/assert`.
 *
 * `node:util`'s `isDeepStrictEqual` is not used, because it differs on the first, third and last points.
 */

type Bag = Record<PropertyKey, unknown>;
type Indexed = ArrayLike<unknown>;

const TypedArray = Object.getPrototypeOf(Uint8Array) as new () => Indexed;

/** Classes whose instances are told apart by their text alone. */
const textual = ["RegExp", "URL", "URLSearchParams"].map((name) => (globalThis as unknown as Bag)[name])
  .concat(Intl.Locale, Object.values((globalThis as unknown as { Temporal?: object }).Temporal ?? {}))
  .filter((it): it is { prototype: object } => typeof it === "function");

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function family(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function isPlain(value: object): boolean {
  return family(value) === Object.prototype || family(value) === Array.prototype;
}

/** The names to compare on an object: own enumerable ones if it is plain, else every one short of `Object.prototype`. */
function names(value: object): Set<PropertyKey> {
  if (isPlain(value)) return new Set(Reflect.ownKeys(value).filter((key) => Object.hasOwn({ ...value }, key)));
  const found = new Set<PropertyKey>();
  for (let at: object | null = value; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) found.add(key);
  }
  return found;
}

function sameItems(a: Indexed, b: Indexed): boolean {
  return a.length === b.length && Array.prototype.every.call(a, (item, i) => item === b[i] || Object.is(item, b[i]));
}

/** Whether two values are deeply equal. Throws a `TypeError` for a `WeakMap` or `WeakSet`, which cannot be compared. */
export function equal(a: unknown, b: unknown): boolean {
  const assumed = new Map<object, object>();

  function same(a: unknown, b: unknown): boolean {
    if (a === b || Object.is(a, b)) return true;
    if (!isObject(a) || !isObject(b)) return false;
    if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
    if (family(a) !== family(b)) return false;
    if (a instanceof WeakMap || a instanceof WeakSet) {
      throw new TypeError(`A ${a.constructor.name} cannot be compared by value`);
    }
    if (a instanceof WeakRef) return same(a.deref(), (b as WeakRef<WeakKey>).deref());
    if (a instanceof TypedArray) return sameItems(a, b as Indexed);
    if (a instanceof ArrayBuffer || a instanceof SharedArrayBuffer) {
      return sameItems(new Uint8Array(a), new Uint8Array(b as ArrayBuffer));
    }
    if (textual.some((it) => it.prototype === family(a))) return String(a) === String(b);
    if (assumed.get(a) === b) return true;
    if (Object.keys(a).length !== Object.keys(b).length) return false;
    assumed.set(a, b);
    if (a instanceof Map) return sameEntries(a, b as Map<unknown, unknown>);
    if (a instanceof Set) return sameEntries(a, b as Set<unknown>);
    return [...names(a).union(names(b))].every((key) => key in a && key in b && same((a as Bag)[key], (b as Bag)[key]));
  }

  function sameEntries(a: Map<unknown, unknown> | Set<unknown>, b: Map<unknown, unknown> | Set<unknown>): boolean {
    if (a.size !== b.size) return false;
    const left = [...b.entries()];
    for (const [key, value] of a.entries()) {
      const at = b.has(key)
        ? left.findIndex(([other, its]) => (other === key || Object.is(other, key)) && same(value, its))
        : left.findIndex(([other, its]) => isObject(key) && same(key, other) && same(value, its));
      if (at < 0) return false;
      left.splice(at, 1);
    }
    return true;
  }

  return same(a, b);
}
