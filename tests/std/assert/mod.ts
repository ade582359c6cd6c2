/**
 * A local stand-in for `@std/assert`: the assertions these tests use, under the same names and signatures, written over
 * `node:assert` and `node:util`. Only the texts of the failures differ.
 *
 * Known differences: `assertObjectMatch` compares an array held in a `Map` like any other array (as a prefix), where
 * `@std/assert` wants its length to agree.
 */

import { AssertionError as NodeAssertionError } from "node:assert";
import { inspect, stripVTControlCharacters } from "node:util";
import { equal } from "./equal.ts";

export { equal };

/** A value that `assertFalse` lets through. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

/** An array or anything with a length and indices, other than a string. */
export type ArrayLikeArg<T> = ArrayLike<T> & object;

// deno-lint-ignore no-explicit-any
type AbstractConstructor<T> = abstract new (...args: any[]) => T;

/** What every assertion here throws. */
export class AssertionError extends Error {
  /** Makes an assertion error with a message and, possibly, a cause. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

function show(value: unknown): string {
  return inspect(value, { depth: 20, sorted: true, breakLength: 100, maxArrayLength: 200 });
}

function refuse(what: string, msg: string | undefined): never {
  throw new AssertionError(msg ? `${what}: ${msg}` : what);
}

function difference(actual: unknown, expected: unknown, operator: string): string {
  return new NodeAssertionError({ actual, expected, operator }).message;
}

/** Asserts that an expression is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that an expression is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Fails. */
export function fail(msg?: string): never {
  refuse("The test failed", msg);
}

/** Fails, for a place that must never be reached. */
export function unreachable(msg?: string): never {
  refuse("This was not to be reached", msg);
}

/** Asserts deep equality. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  refuse("The values differ", (msg ? `${msg}\n` : "") + difference(actual, expected, "deepStrictEqual"));
}

/** Asserts the contrary of deep equality. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) refuse(`The values are equal, and should not be: ${show(actual)}`, msg);
}

/** Asserts that two values are the same one, in the sense of `Object.is`. */
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T {
  if (Object.is(actual, expected)) return;
  refuse("The values are not the same one", (msg ? `${msg}\n` : "") + difference(actual, expected, "strictEqual"));
}

/** Asserts that two values are not the same one, in the sense of `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (Object.is(actual, expected)) refuse(`The values are the same one: ${show(actual)}`, msg);
}

/** Asserts that a value is neither `null` nor `undefined`. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === null || actual === undefined) refuse(`There is no value, only ${actual}`, msg);
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<
  // deno-lint-ignore no-explicit-any
  T extends abstract new (...args: any[]) => any,
>(actual: unknown, expectedType: T, msg = ""): asserts actual is InstanceType<T> {
  if (!(actual instanceof expectedType)) refuse(`Not an instance of ${expectedType.name}: ${show(actual)}`, msg);
}

/** Asserts that a value is not an instance of a class. */
export function assertNotInstanceOf<A, T>(
  actual: A,
  unexpectedType: AbstractConstructor<T>,
  msg?: string,
): asserts actual is Exclude<A, T> {
  if (actual instanceof unexpectedType) refuse(`An instance of ${unexpectedType.name}: ${show(actual)}`, msg);
}

/** Asserts that a text matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) refuse(`${show(actual)} does not match ${expected}`, msg);
}

/** Asserts that a text does not match a pattern. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) refuse(`${show(actual)} matches ${expected}`, msg);
}

/** Asserts that a text holds another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (!actual.includes(expected)) refuse(`${show(actual)} does not hold ${show(expected)}`, msg);
}

/** Asserts that every item of one array is, by deep equality, among those of another. */
export function assertArrayIncludes<T>(actual: ArrayLikeArg<T>, expected: ArrayLikeArg<T>, msg?: string): void {
  const present = Array.from(actual);
  const missing = Array.from(expected).filter((item) => !present.some((other) => equal(item, other)));
  if (missing.length > 0) refuse(`${show(actual)} lacks ${show(missing)}`, msg);
}

/** Asserts that `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) throw new AssertionError(msg ?? `${show(actual)} is not above ${show(expected)}`);
}

/** Asserts that `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) throw new AssertionError(msg ?? `${show(actual)} is not at least ${show(expected)}`);
}

/** Asserts that `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) throw new AssertionError(msg ?? `${show(actual)} is not below ${show(expected)}`);
}

/** Asserts that `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) throw new AssertionError(msg ?? `${show(actual)} is not at most ${show(expected)}`);
}

/** Asserts that two numbers are within a tolerance, by default a ten-millionth of the expected one. */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected) * 1e-7 : 1e-7);
  const gap = Math.abs(expected - actual);
  if (!(gap <= allowed)) refuse(`${actual} is ${gap} away from ${expected}, more than ${allowed}`, msg);
}

/** Asserts that a value is an `Error`, of a class if one is given, whose message holds or matches something. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: AbstractConstructor<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) refuse(`Not an Error: ${show(error)}`, msg);
  if (ErrorClass && !(error instanceof ErrorClass)) {
    refuse(`The error is a ${error.constructor?.name}, not a ${ErrorClass.name} (its message: ${error.message})`, msg);
  }
  if (!msgMatches) return;
  const text = stripVTControlCharacters(error.message);
  const found = typeof msgMatches === "string"
    ? text.includes(stripVTControlCharacters(msgMatches))
    : msgMatches.test(text);
  if (!found) refuse(`The error's message, ${show(error.message)}, has no ${show(msgMatches)}`, msg);
}

/** What an `assertThrows` or `assertRejects` call asks of the error. */
function demands(errorClassOrMsg: unknown, msgIncludesOrMsg: string | undefined, msg: string | undefined) {
  if (typeof errorClassOrMsg === "string") return { msg: errorClassOrMsg };
  const ErrorClass = errorClassOrMsg as AbstractConstructor<Error> | null | undefined;
  if (ErrorClass === undefined || ErrorClass === Error || ErrorClass?.prototype instanceof Error) {
    return { ErrorClass, msgIncludes: msgIncludesOrMsg, msg };
  }
  // A class that is no error makes no demand.
  return { msg: msgIncludesOrMsg ?? msg };
}

function checkThrown(error: unknown, asked: ReturnType<typeof demands>, how: string): void {
  if (!asked.ErrorClass) return;
  if (!(error instanceof Error)) refuse(`What was ${how} is not an Error: ${show(error)}`, asked.msg);
  assertIsError(error, asked.ErrorClass, asked.msgIncludes, asked.msg);
}

/** Asserts that a function throws, and returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that a function throws an error of a class, whose message holds a text, and returns the error. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  // deno-lint-ignore no-explicit-any
  ErrorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  errorClassOrMsg?: AbstractConstructor<Error> | string,
  msgIncludesOrMsg?: string,
  msg?: string,
): unknown {
  const asked = demands(errorClassOrMsg, msgIncludesOrMsg, msg);
  try {
    fn();
  } catch (error) {
    checkThrown(error, asked, "thrown");
    return error;
  }
  refuse("The function did not throw", asked.msg);
}

/** Asserts that a function returns a promise that rejects, and returns the reason. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that a function returns a promise that rejects with an error of a class, and returns the error. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  // deno-lint-ignore no-explicit-any
  ErrorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  errorClassOrMsg?: AbstractConstructor<Error> | string,
  msgIncludesOrMsg?: string,
  msg?: string,
): Promise<unknown> {
  const asked = demands(errorClassOrMsg, msgIncludesOrMsg, msg);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (cause) {
    const what = "The function threw, and did not return a promise that rejects";
    throw new AssertionError(asked.msg ? `${what}: ${asked.msg}` : what, { cause });
  }
  if (typeof promise !== "object" || typeof promise?.then !== "function") {
    refuse(`The function returned no promise, but ${show(promise)}`, asked.msg);
  }
  try {
    await promise;
  } catch (error) {
    checkThrown(error, asked, "rejected");
    return error;
  }
  refuse("The promise did not reject", asked.msg);
}

/** Asserts that an object has the properties of another, nested objects being likewise compared in part. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  if (typeof actual !== "object" || actual === null) throw new TypeError(`Not an object to match: ${actual}`);
  if (covers(actual, expected, new Map())) return;
  refuse(`The object\n${show(actual)}\ndoes not match\n${show(expected)}`, msg);
}

function covers(actual: unknown, expected: unknown, assumed: Map<unknown, unknown>): boolean {
  if (actual === null || expected === null || typeof actual !== "object" || typeof expected !== "object") {
    return equal(actual, expected);
  }
  if (actual instanceof RegExp || actual instanceof Date) return equal(actual, expected);
  if (assumed.get(actual) === expected) return true;
  assumed.set(actual, expected);
  if (expected instanceof Map) {
    return actual instanceof Map &&
      [...expected].every(([key, value]) => actual.has(key) && covers(actual.get(key), value, assumed));
  }
  if (expected instanceof Set) return actual instanceof Set && expected.isSubsetOf(actual);
  if (Array.isArray(expected)) {
    // The expected items are a prefix of the actual ones.
    return Array.isArray(actual) && actual.length >= expected.length &&
      expected.every((item, i) => covers(actual[i], item, assumed));
  }
  return Reflect.ownKeys(expected).every((key) =>
    Object.hasOwn(actual, key) && covers(Reflect.get(actual, key), Reflect.get(expected, key), assumed)
  );
}
