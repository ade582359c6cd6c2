/**
 * A local stand-in for `@std/testing/mock`: spies and stubs on functions and methods. Spies on constructors and mock
 * sessions are left out.
 */

import { assertEquals, AssertionError, assertIsError } from "@std/assert";

/** Thrown when something cannot be spied on, stubbed or restored. */
export class MockError extends Error {
  /** Makes a mock error with a message. */
  constructor(message: string) {
    super(message);
    this.name = "MockError";
  }
}

/** One call made to a spy. */
export interface SpyCall<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  // deno-lint-ignore no-explicit-any
  Return = any,
> {
  /** What it was given. */
  args: Args;
  /** What it returned, if it did. */
  returned?: Return;
  /** What it threw, if it did. */
  error?: Error;
  /** What it was called on. */
  self?: Self;
}

/** A function that records the calls made to it. */
export interface Spy<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  // deno-lint-ignore no-explicit-any
  Return = any,
> {
  (this: Self, ...args: Args): Return;
  /** The function spied on. */
  original: (this: Self, ...args: Args) => Return;
  /** The calls made so far. */
  calls: SpyCall<Self, Args, Return>[];
  /** Whether the method spied on has been restored. */
  restored: boolean;
  /** Restores the method spied on. */
  restore(): void;
}

/** A method that records the calls made to it. */
export interface MethodSpy<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  // deno-lint-ignore no-explicit-any
  Return = any,
> extends Spy<Self, Args, Return>, Disposable {}

/** A method put in the place of another, that records the calls made to it. */
export interface Stub<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  // deno-lint-ignore no-explicit-any
  Return = any,
> extends MethodSpy<Self, Args, Return> {
  /** The function called instead of the original. */
  fake: (this: Self, ...args: Args) => Return;
}

/** The arguments of a method, or any if the property is not one. */
export type GetParametersFromProp<Self, Prop extends keyof Self> = Self[Prop] extends (...args: infer Args) => unknown
  ? Args
  : unknown[];

/** What a method returns, or anything if the property is not one. */
export type GetReturnFromProp<Self, Prop extends keyof Self> = Self[Prop] extends // deno-lint-ignore no-explicit-any
(...args: any[]) => infer Return ? Return
  : unknown;

// deno-lint-ignore no-explicit-any
type Method = (this: any, ...args: any[]) => any;

/** A function that hands its calls to another, and the list of these calls. */
function recorder(target: Method): { record: Method; calls: SpyCall[] } {
  const calls: SpyCall[] = [];
  const record: Method = function (...args) {
    const call: SpyCall = this ? { args, self: this } : { args };
    try {
      return call.returned = target.apply(this, args);
    } catch (error) {
      call.error = error as Error;
      throw error;
    } finally {
      calls.push(call);
    }
  };
  return { record, calls };
}

function functionSpy(original: Method): Spy {
  const { record, calls } = recorder(original);
  return Object.assign(record, {
    original,
    calls,
    restored: false,
    restore: () => {
      throw new MockError("A spy on a function has nothing to restore");
    },
  });
}

function replaceMethod(self: object, property: PropertyKey, fake?: Method): Stub {
  const original = Reflect.get(self, property) as Method;
  if (typeof original === "function" && "calls" in original && "restored" in original) {
    throw new MockError(`There already is a spy on ${String(property)}`);
  }
  const descriptor = Object.getOwnPropertyDescriptor(self, property);
  if (descriptor && !descriptor.configurable) throw new MockError(`${String(property)} cannot be replaced`);
  const { record, calls } = recorder(fake ?? original);
  let restored = false;
  const restore = () => {
    if (restored) throw new MockError(`${String(property)} has already been restored`);
    restored = true;
    if (descriptor) Object.defineProperty(self, property, descriptor);
    else Reflect.deleteProperty(self, property);
  };
  Object.defineProperties(record, {
    original: { value: original, enumerable: true },
    calls: { value: calls, enumerable: true },
    restored: { get: () => restored, enumerable: true },
    restore: { value: restore, enumerable: true },
    [Symbol.dispose]: { value: restore },
  });
  if (fake) Object.defineProperty(record, "fake", { value: fake, enumerable: true });
  Object.defineProperty(self, property, {
    value: record,
    configurable: true,
    enumerable: descriptor?.enumerable ?? false,
    writable: descriptor?.writable ?? false,
  });
  return record as Stub;
}

/** Makes a function that does nothing but record its calls. */
export function spy<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  Return = undefined,
>(): Spy<Self, Args, Return>;
/** Makes a function that records its calls and hands them to another. */
export function spy<Self, Args extends unknown[], Return>(
  func: (this: Self, ...args: Args) => Return,
): Spy<Self, Args, Return>;
/** Records the calls of an object's method, until restored. */
export function spy<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
): MethodSpy<Self, GetParametersFromProp<Self, Prop>, GetReturnFromProp<Self, Prop>>;
export function spy(target?: unknown, property?: PropertyKey): Spy {
  if (property === undefined) return functionSpy((target ?? (() => {})) as Method);
  if (typeof Reflect.get(target as object, property) !== "function") {
    throw new MockError(`${String(property)} is not a method to spy on`);
  }
  return replaceMethod(target as object, property);
}

/** Puts a function that does nothing in the place of an object's method, until restored. */
export function stub<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
): Stub<Self, GetParametersFromProp<Self, Prop>, GetReturnFromProp<Self, Prop>>;
/** Puts a function in the place of an object's method, until restored. */
export function stub<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
  func: (this: Self, ...args: GetParametersFromProp<Self, Prop>) => GetReturnFromProp<Self, Prop>,
): Stub<Self, GetParametersFromProp<Self, Prop>, GetReturnFromProp<Self, Prop>>;
export function stub(self: unknown, property: PropertyKey, func: Method = () => {}): Stub {
  const original = Reflect.get(self as object, property);
  if (original !== undefined && typeof original !== "function") {
    throw new MockError(`${String(property)} is not a method to replace`);
  }
  return replaceMethod(self as object, property, func);
}

/** What a call is expected to have been. */
export interface ExpectedSpyCall<
  // deno-lint-ignore no-explicit-any
  Self = any,
  // deno-lint-ignore no-explicit-any
  Args extends unknown[] = any[],
  // deno-lint-ignore no-explicit-any
  Return = any,
> {
  /** What it was given. */
  args?: [...Args, ...unknown[]];
  /** What it was called on. */
  self?: Self;
  /** What it returned. */
  returned?: Return;
  /** What it threw. */
  error?: {
    /** The class of the error. */
    // deno-lint-ignore no-explicit-any
    Class?: new (...args: any[]) => Error;
    /** A part of its message. */
    msgIncludes?: string;
  };
}

/** Asserts that a spy was called a number of times. */
export function assertSpyCalls<Self, Args extends unknown[], Return>(
  spy: Spy<Self, Args, Return>,
  expectedCalls: number,
): void {
  const made = spy.calls.length;
  if (made !== expectedCalls) throw new AssertionError(`The spy was called ${made} times, not ${expectedCalls}`);
}

function callAt(spy: Spy, callIndex: number): SpyCall {
  const call = spy.calls[callIndex];
  if (!call) throw new AssertionError(`The spy was called ${spy.calls.length} times, so there is no call ${callIndex}`);
  return call;
}

/** Asserts that a call was made, and what it was. */
export function assertSpyCall<Self, Args extends unknown[], Return>(
  spy: Spy<Self, Args, Return>,
  callIndex: number,
  expected: ExpectedSpyCall<Self, Args, Return> = {},
): void {
  const call = callAt(spy, callIndex);
  if ("returned" in expected && "error" in expected) {
    throw new TypeError("A call either returns or throws: expect one of them");
  }
  if (expected.args) assertEquals<unknown>(call.args, expected.args, "the arguments of the call");
  if ("self" in expected) assertEquals(call.self, expected.self, "what the call was made on");
  if ("returned" in expected) {
    if (call.error) throw new AssertionError("The call threw, and did not return", { cause: call.error });
    assertEquals(call.returned, expected.returned, "what the call returned");
  }
  if ("error" in expected) {
    if ("returned" in call) throw new AssertionError("The call returned, and did not throw");
    assertIsError(call.error, expected.error?.Class, expected.error?.msgIncludes);
  }
}

/** Asserts what one argument of a call was, and returns it. */
export function assertSpyCallArg<Self, Args extends unknown[], Return, ExpectedArg>(
  spy: Spy<Self, Args, Return>,
  callIndex: number,
  argIndex: number,
  expected: ExpectedArg,
): ExpectedArg {
  const arg = callAt(spy, callIndex).args[argIndex];
  assertEquals(arg, expected);
  return arg;
}
