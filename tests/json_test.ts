import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { runInNewContext } from "node:vm";
import { McpRuntimeError } from "../runtime/errors.ts";
import { assertJson, canonicalJson, frozenCopy, isPlainObject, jsonText } from "../runtime/json.ts";

Deno.test("isPlainObject: literals, null prototypes and objects of another realm; no arrays, no instances", () => {
  for (const yes of [{}, Object.create(null), runInNewContext("({ a: 1 })"), JSON.parse('{"__proto__": 1}')]) {
    assert(isPlainObject(yes));
  }
  for (const no of [null, undefined, [], 1, "", () => {}, new Date(), new Map(), new (class Own {})()]) {
    assert(!isPlainObject(no), String(no));
  }
});

Deno.test("P19 assertJson: names the path of the first misfit and never its value", () => {
  const cases: [unknown, string][] = [
    [() => "secret", "x is a function, which JSON cannot carry"],
    [{ a: Symbol("secret") }, "x.a is a symbol, which JSON cannot carry"],
    [[1, [undefined]], "x[1][0] is a undefined, which JSON cannot carry"],
    [{ "odd key": 1n }, 'x["odd key"] is a bigint, which JSON cannot carry'],
    [{ n: -Infinity }, "x.n is -Infinity, which JSON cannot carry"],
    [{ d: new Date(0) }, "x.d is a Date, not a plain object"],
    [{ u: new Uint8Array(2) }, "x.u is a Uint8Array, not a plain object"],
    [{ toJSON: () => "secret" }, "x is a Object, not a plain object"],
    // deno-lint-ignore no-sparse-arrays -- the hole is the point
    [[1, , 2], "x[1] is a undefined, which JSON cannot carry"],
  ];
  for (const [value, message] of cases) {
    const error = assertThrows(() => assertJson(value, "x", "INPUT_INVALID"), McpRuntimeError);
    assertEquals([error.code, error.message], ["INPUT_INVALID", message]);
  }
});

Deno.test("P19 assertJson: a cycle is refused, the same object twice is not; depth is bounded", () => {
  const cycle: Record<string, unknown> = {};
  cycle.again = [cycle];
  const error = assertThrows(() => assertJson(cycle, "x", "INPUT_INVALID"), McpRuntimeError);
  assertEquals(error.message, "x.again[0] contains itself");
  const shared = { a: 1 };
  assertJson({ one: shared, two: [shared, shared] }, "x", "INPUT_INVALID");
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const tooDeep = assertThrows(() => assertJson(deep, "x", "INPUT_INVALID"), McpRuntimeError);
  assert(tooDeep.message.endsWith("is nested more than 500 levels deep"));
});

Deno.test("P19 assertJson: what JSON carries passes, undefined properties count as absent (property)", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assertJson(value, "x", "INPUT_INVALID")));
  assertJson({ a: undefined }, "x", "INPUT_INVALID");
});

Deno.test("frozenCopy: equal, frozen to the bottom, and cut off from the original (property)", () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const copy = frozenCopy(value);
    assertEquals(JSON.stringify(copy), JSON.stringify(value));
    assert(isFrozen(copy));
    if (typeof value === "object" && value !== null) assertNotStrictEquals(copy, value);
  }));
});

Deno.test("frozenCopy: an own __proto__ key stays data", () => {
  const copy = frozenCopy(JSON.parse('{"a": {"__proto__": {"admin": true}}}'));
  assertEquals(Object.keys(copy.a), ["__proto__"]);
  assertStrictEquals(Object.getPrototypeOf(copy.a), Object.prototype);
  assertEquals(copy.a.admin, undefined);
});

Deno.test("jsonText: undefined for what is longer than a string can be, which is no reason to end a session", () => {
  // As V8 does at 512 MiB, which is too much for a test.
  const tooLong = { toJSON: () => "x".repeat(2 ** 30) };
  assertEquals(jsonText(tooLong), undefined);
  assertEquals(jsonText({ a: [1, undefined, "é"] }), '{"a":[1,null,"é"]}');
});

Deno.test("canonicalJson: is JSON, and does not depend on the order of keys (property)", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).reverse().map(([key, item]) => [key, shuffled(item)]));
  };
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    assertEquals(canonicalJson(shuffled(value)), canonicalJson(value));
    assertEquals(JSON.stringify(JSON.parse(canonicalJson(value))).length, JSON.stringify(value).length);
  }));
});

Deno.test("canonicalJson: different values give different text (property)", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
    const same = canonicalJson(a) === canonicalJson(b);
    assertEquals(same, isSame(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))));
  }));
});

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length &&
    keys.every((key) =>
      Object.hasOwn(b, key) && isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
    );
}
