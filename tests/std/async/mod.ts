/**
 * A local stand-in for `@std/async`: the few functions these tests use, under the same names and signatures.
 */

export { abortable } from "./abortable.ts";
export { deadline, type DeadlineOptions } from "./deadline.ts";
export { delay, type DelayOptions } from "./delay.ts";
