/**
 * A local stand-in for `@std/testing/types`: assertions about types, checked when the tests are type-checked.
 */

/** Whether a type is `any`. */
export type IsAny<T> = boolean extends (T extends never ? true : false) ? true : false;

/** Whether a type is `never`. */
export type IsNever<T> = [T] extends [never] ? true : false;

/** Whether a type is `unknown`. */
export type IsUnknown<T> = IsAny<T> extends true ? false : unknown extends T ? true : false;

/** Whether a type admits `null` or `undefined`. */
export type IsNullable<T> = IsAny<T> extends true ? boolean
  : [Extract<T, null | undefined>] extends [never] ? false
  : true;

/** Whether `U` is `T` or a part of the union `T`. */
export type Has<T, U> = IsAny<T> extends true ? true
  : IsAny<U> extends true ? false
  : [Extract<T, U>] extends [never] ? false
  : true;

/** The contrary of `Has`. */
export type NotHas<T, U> = Has<T, U> extends true ? false : true;

/** A type with its intersections of object literal types merged, which is as far as `@std/testing` goes, too. */
type Merged<T> = IsAny<T> extends true ? T
  : T extends Record<PropertyKey, unknown> ? { [K in keyof T]: Merged<T[K]> }
  : T;

type Identical<T, U> = (<X>() => X extends T ? 1 : 2) extends (<X>() => X extends U ? 1 : 2) ? true : false;

/**
 * Whether two types are the same, `any` being the same as nothing else.
 *
 * A difference from `@std/testing`: tuples that differ only by an `any` after a rest of `any` are held to be the same.
 */
export type IsExact<T, U> = Identical<Merged<T>, Merged<U>>;

/** Takes only `true`. */
export type AssertTrue<T extends true> = never;

/** Takes only `false`. */
export type AssertFalse<T extends false> = never;

/** Takes only an `Expected` that is what `T` is. */
export type Assert<T extends boolean, Expected extends T> = never;

/** Takes, as its type argument, an assertion, and as its value whether it holds. */
export function assertType<T extends boolean>(_expectTrue: T): void {}
