/**
 * JSON values: what may go on the wire, and frozen copies of it. Pure.
 *
 * @module
 */
import { type McpErrorCode, McpRuntimeError } from "./errors.ts";

/** Deeper than any real payload, shallow enough that neither this walk nor `JSON.stringify` runs out of stack. */
const MAX_DEPTH = 500;

/**
 * Whether a value is an object literal (or null-prototype object), not a class instance and not an array.
 *
 * @param value anything
 * @returns true for plain objects, also those of another realm
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/**
 * Refuses what JSON cannot carry faithfully: functions, symbols, bigints, NaN and infinities, class instances (Date,
 * Map, …), cycles, holes in arrays. A property that is `undefined` counts as absent, as in `JSON.stringify`.
 *
 * @param value the value to look at
 * @param path how to call it in the message, such as `payload`
 * @param code code of the error
 * @throws {McpRuntimeError} with `code`, naming the path of the first misfit and never its value
 */
export function assertJson(value: unknown, path: string, code: McpErrorCode): void {
  let misfit: ReturnType<typeof findMisfit>;
  try {
    misfit = findMisfit(value, []);
  } catch {
    misfit = { path: "", why: "cannot be read" }; // A getter threw, and what it threw may show anything.
  }
  if (misfit) throw new McpRuntimeError(`${path}${misfit.path} ${misfit.why}`, { code });
}

function findMisfit(value: unknown, ancestors: unknown[]): { path: string; why: string } | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { path: "", why: `is ${value}, which JSON cannot carry` };
    case "object":
      break;
    default:
      return { path: "", why: `is a ${typeof value}, which JSON cannot carry` };
  }
  if (value === null) return undefined;
  if (ancestors.includes(value)) return { path: "", why: "contains itself" };
  if (ancestors.length >= MAX_DEPTH) return { path: "", why: `is nested more than ${MAX_DEPTH} levels deep` };
  ancestors.push(value);
  const misfit = Array.isArray(value) ? misfitInArray(value, ancestors) : misfitInObject(value, ancestors);
  ancestors.pop();
  return misfit;
}

function misfitInArray(array: unknown[], ancestors: unknown[]): { path: string; why: string } | undefined {
  for (let i = 0; i < array.length; i++) {
    const misfit = findMisfit(array[i], ancestors);
    if (misfit) return { path: `[${i}]${misfit.path}`, why: misfit.why };
  }
}

function misfitInObject(object: object, ancestors: unknown[]): { path: string; why: string } | undefined {
  if (!isPlainObject(object) || typeof object.toJSON === "function") {
    return { path: "", why: `is a ${object.constructor?.name ?? "class instance"}, not a plain object` };
  }
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === undefined) continue;
    const misfit = findMisfit(value, ancestors);
    if (misfit) return { path: keyPath(key) + misfit.path, why: misfit.why };
  }
}

function keyPath(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 60))}]`;
}

/**
 * A deep copy of plain objects and arrays, every one of them frozen. Own `__proto__` keys stay data. Values that are
 * neither (class instances, functions) are kept as they are, not frozen: they are not ours.
 *
 * @param value the value to copy; must not contain itself
 * @returns the frozen copy
 */
export function frozenCopy<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  if (!isPlainObject(value)) return value;
  // fromEntries defines own properties, so a `__proto__` key cannot reach the prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozenCopy(item)]))) as T;
}

/**
 * A value that {@linkcode assertJson} has passed, as JSON text.
 *
 * @param value a JSON value
 * @returns its text; `undefined` when that is longer than a string of this runtime can be
 */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * JSON with sorted keys and without spaces: equal values give equal text, whatever the order of their keys.
 *
 * @param value a JSON value
 * @returns its canonical text; `undefined` properties are left out
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const object = value as Record<string, unknown>;
  const members = Object.keys(object).filter((key) => object[key] !== undefined).sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  return `{${members.join(",")}}`;
}
