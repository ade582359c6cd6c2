import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertNotStrictEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
  unreachable,
} from "@std/assert";
import { abortable, deadline, delay } from "@std/async";
import { deadline as deadlineAgain } from "@std/async/deadline";
import { delay as delayAgain } from "@std/async/delay";
import { assertSpyCall, assertSpyCallArg, assertSpyCalls, MockError, spy, stub } from "@std/testing/mock";
import { FakeTime, TimeError } from "@std/testing/time";
import {
  type Assert,
  type AssertFalse,
  type AssertTrue,
  assertType,
  type Has,
  type IsAny,
  type IsExact,
  type IsNever,
  type IsNullable,
  type IsUnknown,
} from "@std/testing/types";

/** Asserts that an assertion fails, as assertions do. */
function refused(fn: () => unknown, msgIncludes?: string): void {
  assertThrows(fn, AssertionError, msgIncludes);
}

class Point {
  #x: number;
  constructor(x: number) {
    this.#x = x;
  }
  get x() {
    return this.#x;
  }
}

class Tagged {
  tag = 1;
}

Deno.test("assert: equal values", () => {
  const cycle = (): unknown => {
    const it: Record<string, unknown> = { n: 1 };
    it.self = it;
    return it;
  };
  const pairs: [unknown, unknown][] = [
    [0, -0],
    [[0], [-0]],
    [NaN, NaN],
    [{ a: NaN }, { a: NaN }],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }],
    [{ __proto__: null, a: 1 }, { a: 1 }],
    [new Date(5), new Date(5)],
    [new Date(NaN), new Date(NaN)],
    [/a/g, /a/g],
    [new URL("http://a/b"), new URL("http://a/b")],
    [new Map([["a", { b: 1 }]]), new Map([["a", { b: 1 }]])],
    [new Map([[1, 1], [2, 2]]), new Map([[2, 2], [1, 1]])],
    [new Map([[{ k: 1 }, 1]]), new Map([[{ k: 1 }, 1]])],
    [new Set([{ a: 1 }, { a: 2 }]), new Set([{ a: 2 }, { a: 1 }])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
    [new Float64Array([0, NaN]), new Float64Array([-0, NaN])],
    [new Uint8Array([1]).buffer, new Uint8Array([1]).buffer],
    [new Point(1), new Point(1)],
    [new Tagged(), new Tagged()],
    [{ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 1 }],
    [cycle(), cycle()],
    [Object.defineProperty({}, "hidden", { value: 1 }), {}],
  ];
  for (const [a, b] of pairs) {
    assertEquals(a, b);
    refused(() => assertNotEquals(a, b));
  }
});

Deno.test("assert: unequal values", () => {
  const pairs: [unknown, unknown][] = [
    [1, "1"],
    [null, undefined],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [[1, 2], [1]],
    [[undefined], new Array(1)],
    [[], {}],
    [{ tag: 1 }, new Tagged()],
    [new Date(5), new Date(6)],
    [/a/g, /a/i],
    [new URL("http://a/b"), new URL("http://a/c")],
    [new Map([["a", 1]]), new Map([["a", 2]])],
    [new Map([["a", undefined]]), new Map([["b", undefined]])],
    [new Set([1]), new Set([2])],
    [new Set([{ a: 1 }]), new Set([{ a: 2 }])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    [new Uint8Array([1]), new Uint16Array([1])],
    [new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    [new Point(1), new Point(2)],
    [{ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 2 }],
    [new Error("a"), new Error("b")],
    [new Error("a"), new TypeError("a")],
    [() => 1, () => 1],
    [Symbol("a"), Symbol("a")],
    [1n, 1],
  ];
  for (const [a, b] of pairs) {
    assertNotEquals(a, b);
    refused(() => assertEquals(a, b));
  }
  refused(() => assertEquals<unknown>({ a: 1 }, { a: 2 }, "the reason"), "the reason");
  assertThrows(() => assertEquals(new WeakSet(), new WeakSet()), TypeError);
});

Deno.test("assert: the same value", () => {
  const it = {};
  assertStrictEquals(it, it);
  assertStrictEquals(NaN, NaN);
  assertNotStrictEquals(it, {});
  assertNotStrictEquals(0, -0);
  refused(() => assertStrictEquals(it, {}));
  refused(() => assertStrictEquals(0, -0, "the reason"), "the reason");
  refused(() => assertNotStrictEquals(it, it));
});

Deno.test("assert: conditions, kinds and texts", () => {
  assert(1);
  assertFalse("");
  assertEquals(assertThrows(() => assert(0, "just this"), AssertionError).message, "just this");
  refused(() => assertFalse(1));
  assertExists(0);
  refused(() => assertExists(null));
  refused(() => assertExists(undefined));
  assertInstanceOf(new TypeError(), Error);
  refused(() => assertInstanceOf({}, Error));
  assertMatch("abc", /b/);
  refused(() => assertMatch("abc", /d/));
  assertStringIncludes("abc", "bc");
  refused(() => assertStringIncludes("abc", "d"));
  assertArrayIncludes([1, { a: 1 }, 3], [{ a: 1 }]);
  refused(() => assertArrayIncludes([1, 2], [3]));
  refused(() => fail("the reason"), "the reason");
  refused(() => unreachable("the reason"), "the reason");
  const cause = new Error("why");
  assertStrictEquals(new AssertionError("a", { cause }).cause, cause);
});

Deno.test("assert: numbers", () => {
  assertGreater(2, 1);
  refused(() => assertGreater(1, 1));
  assertGreaterOrEqual(1, 1);
  refused(() => assertGreaterOrEqual(0, 1));
  assertLess(1, 2);
  refused(() => assertLess(1, 1));
  assertLessOrEqual(1, 1);
  refused(() => assertLessOrEqual(NaN, 1));
  assertAlmostEquals(0.1 + 0.2, 0.3);
  assertAlmostEquals(10, 11, 1);
  refused(() => assertAlmostEquals(10, 12, 1));
  refused(() => assertAlmostEquals(NaN, 1));
});

Deno.test("assert: objects in part", () => {
  assertObjectMatch({ a: 1, b: 2 }, { a: 1 });
  assertObjectMatch({ a: { b: 1, c: 2 }, d: 3 }, { a: { c: 2 } });
  assertObjectMatch({ a: [1, 2, 3] }, { a: [1, 2] });
  assertObjectMatch({ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] });
  assertObjectMatch({ a: new Map([["x", { y: 1, z: 2 }], ["w", { y: 0, z: 0 }]]) }, { a: new Map([["x", { y: 1 }]]) });
  assertObjectMatch({ a: new Set([1, 2]) }, { a: new Set([2]) });
  assertObjectMatch({ a: new Tagged() }, { a: { tag: 1 } });
  assertObjectMatch({ a: /x/, b: new Date(1) }, { a: /x/, b: new Date(1) });
  refused(() => assertObjectMatch({ a: 1 }, { a: 2 }));
  refused(() => assertObjectMatch({ a: 1 }, { b: 1 }));
  refused(() => assertObjectMatch({ a: 1 }, { b: undefined }));
  refused(() => assertObjectMatch({}, { b: 1 }));
  refused(() => assertObjectMatch({ a: [1] }, { a: [1, 2] }));
  refused(() => assertObjectMatch({ a: [1, 2] }, { a: [2] }));
  refused(() => assertObjectMatch({ a: 1 }, { a: { b: 1 } }));
  refused(() => assertObjectMatch({ a: { b: 1 } }, { a: { b: 1, c: 1 } }));
  refused(() => assertObjectMatch({ b: new Date(1) }, { b: new Date(2) }));
  refused(() => assertObjectMatch({ a: new Set([1]) }, { a: new Set([2]) }));
});

Deno.test("assert: throwing", () => {
  const thrown = new RangeError("too far away");
  const throws = () => {
    throw thrown;
  };
  assertStrictEquals(assertThrows(throws), thrown);
  assertStrictEquals(assertThrows(throws, "the reason"), thrown);
  const error: RangeError = assertThrows(throws, RangeError, "far");
  assertStrictEquals(error, thrown);
  assertThrows(throws, Error);
  refused(() => assertThrows(() => 1));
  refused(() => assertThrows(() => 1, "the reason"), "the reason");
  refused(() => assertThrows(throws, TypeError));
  refused(() => assertThrows(throws, RangeError, "near"));
  refused(() => assertThrows(throws, RangeError, "near", "the reason"), "the reason");
  const throwsText = () => {
    throw "text";
  };
  assertEquals(assertThrows(throwsText), "text");
  refused(() => assertThrows(throwsText, Error));
});

Deno.test("assert: rejecting", async () => {
  const reason = new DOMException("too far away", "AbortError");
  const rejects = () => Promise.reject(reason);
  assertStrictEquals(await assertRejects(rejects), reason);
  const error: DOMException = await assertRejects(rejects, DOMException, "far");
  assertStrictEquals(error, reason);
  assertEquals(await assertRejects(() => Promise.reject(5)), 5);
  const refusedLater = async (fn: () => Promise<unknown>) => {
    await assertRejects(fn, AssertionError);
  };
  await refusedLater(() => assertRejects(() => Promise.resolve(1)));
  await refusedLater(() => assertRejects(rejects, TypeError));
  await refusedLater(() => assertRejects(rejects, DOMException, "near"));
  await refusedLater(() => assertRejects(() => Promise.reject(5), Error));
  await refusedLater(() => assertRejects(() => 5 as never));
  await refusedLater(() =>
    assertRejects(() => {
      throw reason;
    })
  );
});

Deno.test("async: delay", async () => {
  assertStrictEquals(delay, delayAgain);
  const from = performance.now();
  await delay(20);
  assertGreaterOrEqual(performance.now() - from, 15);
  const reason = new Error("enough");
  const controller = new AbortController();
  const long = delay(60_000, { signal: controller.signal });
  controller.abort(reason);
  assertStrictEquals(await assertRejects(() => long), reason);
  assertStrictEquals(await assertRejects(() => delay(1, { signal: controller.signal })), reason);
  const unheld = new AbortController();
  const quiet = delay(60_000, { signal: unheld.signal, persistent: false });
  unheld.abort(reason);
  assertStrictEquals(await assertRejects(() => quiet), reason);
});

Deno.test("async: delay under a fake time", async () => {
  using time = new FakeTime();
  const days = 60 * 24 * 60 * 60 * 1000;
  let done = 0;
  const short = delay(1000, { persistent: false }).then(() => done++);
  const long = delay(days).then(() => done++);
  time.tick(999);
  await time.runMicrotasks();
  assertEquals(done, 0);
  time.tick(1);
  await short;
  assertEquals(done, 1);
  await time.tickAsync(days);
  await long;
  assertEquals(done, 2);
});

Deno.test("async: deadline and abortable", async () => {
  assertStrictEquals(deadline, deadlineAgain);
  using time = new FakeTime();
  assertEquals(await deadline(Promise.resolve(5), 1000), 5);
  const late = deadline(new Promise(() => {}), 1000);
  time.tick(1000);
  assertEquals((await assertRejects(() => late, DOMException)).name, "TimeoutError");
  const reason = new Error("enough");
  const controller = new AbortController();
  const followed = abortable(new Promise(() => {}), controller.signal);
  const bounded = deadline(new Promise(() => {}), Infinity, { signal: controller.signal });
  let asked = 0;
  const next = () =>
    asked++ === 0 ? Promise.resolve({ value: 1, done: false }) : new Promise<IteratorResult<number>>(() => {});
  const iterated = abortable({ [Symbol.asyncIterator]: () => ({ next }) }, controller.signal);
  assertEquals(await iterated.next(), { value: 1, done: false });
  controller.abort(reason);
  assertStrictEquals(await assertRejects(() => followed), reason);
  assertStrictEquals(await assertRejects(() => bounded), reason);
  assertStrictEquals(await assertRejects(() => iterated.next()), reason);
});

Deno.test("time: the globals come and go", () => {
  const names = ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const;
  const before = names.map((name) => globalThis[name]);
  const [abortTimeout, performanceNow, perf] = [AbortSignal.timeout, performance.now, performance];
  const time = new FakeTime();
  for (const [i, name] of names.entries()) assertNotStrictEquals<unknown>(globalThis[name], before[i]);
  assertNotStrictEquals(AbortSignal.timeout, abortTimeout);
  assertStrictEquals(performance.now, performanceNow);
  assertStrictEquals(performance, perf);
  assertThrows(() => new FakeTime(), TimeError);
  const { setTimeout: kept, Date: keptDate } = globalThis;
  time.restore();
  for (const [i, name] of names.entries()) assertStrictEquals<unknown>(globalThis[name], before[i]);
  assertStrictEquals(AbortSignal.timeout, abortTimeout);
  assertThrows(() => time.restore(), TimeError);
  assertThrows(() => FakeTime.restore(), TimeError);
  assertThrows(() => kept(() => {}, 1), TimeError);
  assertLess(Math.abs(keptDate.now() - Date.now()), 1000);
});

Deno.test("time: dates", () => {
  const past = new Date(1000);
  using time = new FakeTime(5000.9);
  assertEquals([time.start, time.now, Date.now(), new Date().getTime(), +new Date(7)], [5000, 5000, 5000, 5000, 7]);
  assertInstanceOf(past, Date);
  assertInstanceOf(new Date(), Date);
  assertEquals(Date(), new Date(5000).toString());
  assertEquals(Date.UTC(1970), 0);
  time.tick(10);
  assertEquals([time.start, time.now, Date.now()], [5000, 5010, 5010]);
  time.now = 6000;
  assertEquals(Date.now(), 6000);
  assertThrows(() => time.now = 5999, RangeError);
});

Deno.test("time: starts", () => {
  const starts: [number | string | Date, number][] = [["1970-01-01T00:00:01Z", 1000], [new Date(5), 5], [0, 0]];
  for (const [start, ms] of starts) {
    using time = new FakeTime(start);
    assertEquals(time.now, ms);
  }
  const before = Date.now();
  using time = new FakeTime(null);
  assertGreaterOrEqual(time.now, before);
  time.restore();
  assertThrows(() => new FakeTime("no time"), TypeError);
  new FakeTime();
});

Deno.test("time: ids are numbers that leave real timers alone", async () => {
  let fired = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const actual = setTimeout(() => (fired = true, resolve()), 5);
  using time = new FakeTime();
  const called = spy();
  const id: unknown = setTimeout(called, 10);
  const again: unknown = setInterval(called, 10);
  assertEquals([typeof id, typeof again], ["number", "number"]);
  for (const it of [id, again] as number[]) {
    Deno.unrefTimer(it);
    Deno.refTimer(it);
  }
  clearTimeout(actual);
  clearTimeout(undefined);
  clearInterval(4e6);
  time.tick(10);
  assertSpyCalls(called, 2);
  clearTimeout(again as number);
  time.tick(100);
  assertSpyCalls(called, 2);
  await promise;
  assert(fired);
});

Deno.test("time: timers run in order, each at its own time", () => {
  using time = new FakeTime(0);
  const seen: [string, number][] = [];
  const note = (name: string) => seen.push([name, Date.now()]);
  setTimeout(note, 20, "b");
  const every = setInterval(note, 10, "i");
  setTimeout(note, 10, "a");
  setTimeout(() => (note("c"), setTimeout(note, 0, "nested")), 20);
  clearTimeout(setTimeout(note, 5, "never"));
  time.tick(25);
  assertEquals(seen, [["i", 10], ["a", 10], ["b", 20], ["c", 20], ["i", 20], ["nested", 20]]);
  clearInterval(every);
  assertFalse(time.next());
  assertEquals(time.now, 25);
  seen.length = 0;
  setTimeout(note, undefined, "zero");
  setTimeout(note, -5, "below");
  setTimeout(note, 1.9, "floor");
  setTimeout(note, 2 ** 31, "long");
  time.tick();
  time.tick(1);
  assertEquals(seen, [["zero", 25], ["below", 25], ["floor", 26]]);
  assert(time.next());
  assertEquals(seen.at(-1), ["long", 25 + 2 ** 31]);
});

Deno.test("time: a timer that throws stops the time there", () => {
  using time = new FakeTime(0);
  const later = spy();
  setTimeout(() => {
    throw new RangeError("no");
  }, 10);
  setTimeout(later, 10);
  assertThrows(() => time.tick(20), RangeError);
  assertEquals(time.now, 10);
  assertSpyCalls(later, 0);
  time.tick();
  assertSpyCalls(later, 1);
  assertThrows(() => setTimeout("code" as never, 1), TimeError);
});

Deno.test("time: running all", async () => {
  using time = new FakeTime(0);
  const seen: number[] = [];
  let left = 3;
  const every = setInterval(() => --left || clearInterval(every), 100);
  setTimeout(() => setTimeout(() => seen.push(Date.now()), 1000), 500);
  time.runAll();
  assertEquals([left, time.now, seen], [0, 1500, [1500]]);
  setTimeout(() => Promise.resolve().then(() => setTimeout(() => seen.push(Date.now()), 10)), 10);
  time.runAll();
  assertEquals(seen, [1500]);
  await time.runAllAsync();
  assertEquals(seen, [1500]);
  setTimeout(() => seen.push(Date.now()), 80);
  await time.runAllAsync();
  assertEquals(seen, [1500, 1520, 1590]);
});

Deno.test("time: microtasks run first", async () => {
  using time = new FakeTime(0);
  const seen: string[] = [];
  Promise.resolve().then(() => setTimeout(() => seen.push("a"), 5));
  await time.tickAsync(5);
  assertEquals(seen, ["a"]);
  Promise.resolve().then(() => setTimeout(() => seen.push("b"), 5));
  assert(await time.nextAsync());
  assertFalse(await time.nextAsync());
  assertEquals([seen, time.now], [["a", "b"], 10]);
});

Deno.test("time: a while of real time", async () => {
  const { setTimeout: actual } = globalThis;
  using time = new FakeTime(0);
  const { setTimeout: faked } = globalThis;
  assertEquals(await FakeTime.restoreFor((a, b) => (assertStrictEquals(setTimeout, actual), a + b), 1, 2), 3);
  assertStrictEquals(setTimeout, faked);
  await FakeTime.restoreFor(async () => {
    await delay(1);
    assertStrictEquals(setTimeout, actual);
  });
  assertStrictEquals(setTimeout, faked);
  await assertRejects(() =>
    FakeTime.restoreFor(() => {
      throw new RangeError("no");
    }), RangeError);
  await assertRejects(() => FakeTime.restoreFor(() => Promise.reject(new RangeError("no"))), RangeError);
  assertStrictEquals(setTimeout, faked);
  const from = performance.now();
  await time.delay(20);
  assertGreaterOrEqual(performance.now() - from, 15);
  assertEquals(time.now, 0);
  const controller = new AbortController();
  const long = time.delay(60_000, { signal: controller.signal });
  await time.runMicrotasks();
  controller.abort();
  assertEquals((await assertRejects(() => long, DOMException)).name, "AbortError");
  assertEquals(
    (await assertRejects(() => time.delay(1, { signal: controller.signal }), DOMException)).name,
    "AbortError",
  );
  FakeTime.restore();
  assertStrictEquals(setTimeout, actual);
  await assertRejects(() => FakeTime.restoreFor(() => 1), TimeError);
  new FakeTime();
});

Deno.test("time: advancing on its own", async () => {
  using time = new FakeTime(0, { advanceRate: 1000, advanceFrequency: 5 });
  const called = spy();
  setTimeout(called, 5000);
  for (let i = 0; i < 200 && called.calls.length === 0; i++) await time.delay(5);
  assertSpyCalls(called, 1);
});

Deno.test("mock: spies", () => {
  const add = spy((a: number, b: number) => a + b);
  assertEquals(add(1, 2), 3);
  assertSpyCalls(add, 1);
  assertSpyCall(add, 0, { args: [1, 2], returned: 3 });
  assertEquals(assertSpyCallArg(add, 0, 1, 2), 2);
  refused(() => assertSpyCalls(add, 2));
  refused(() => assertSpyCall(add, 1));
  refused(() => assertSpyCall(add, 0, { args: [1, 3] }));
  refused(() => assertSpyCall(add, 0, { returned: 4 }));
  refused(() => assertSpyCall(add, 0, { error: {} }));
  assertThrows(() => add.restore(), MockError);
  const bad = spy(() => {
    throw new RangeError("no way");
  });
  assertThrows(() => bad(), RangeError);
  assertSpyCall(bad, 0, { error: { Class: RangeError, msgIncludes: "way" } });
});

Deno.test("mock: methods", () => {
  class Counter {
    n = 0;
    up(by: number): number {
      return this.n += by;
    }
  }
  const counter = new Counter();
  {
    using up = spy(counter, "up");
    assertEquals(counter.up(2), 2);
    assertSpyCall(up, 0, { args: [2], self: counter, returned: 2 });
    assertThrows(() => spy(counter, "up"), MockError);
  }
  assertFalse(Object.hasOwn(counter, "up"));
  const up = stub(counter, "up", (by) => -by);
  assertEquals([counter.up(2), counter.n], [-2, 2]);
  assertSpyCalls(up, 1);
  assertFalse(up.restored);
  up.restore();
  assert(up.restored);
  assertThrows(() => up.restore(), MockError);
  assertEquals(counter.up(2), 4);
  assertThrows(() => stub(counter, "n"), MockError);
  using _nothing = stub(counter, "up");
  assertEquals<unknown>(counter.up(1), undefined);
});

Deno.test("types", () => {
  interface Named {
    a: string;
  }
  interface Tree {
    under?: Tree[];
  }
  type Json = string | number | Json[] | { [key: string]: Json };
  type _Exact =
    | AssertTrue<IsExact<Json, Json>>
    | AssertFalse<IsExact<Json, Tree>>
    | AssertTrue<IsExact<string, string>>
    | AssertTrue<IsExact<{ a: string }, Named>>
    | AssertTrue<IsExact<{ a: string } & { b: number }, { a: string; b: number }>>
    | AssertTrue<IsExact<Tree, Tree>>
    | AssertTrue<IsExact<string | number, number | string>>
    | AssertTrue<IsExact<boolean, boolean>>
    | AssertTrue<IsExact<Promise<string[]>, Promise<string[]>>>
    | AssertTrue<IsExact<never, never>>
    | AssertTrue<IsExact<unknown, unknown>>
    | AssertTrue<IsExact<(a: string) => void, (a: string) => void>>
    // deno-lint-ignore no-explicit-any
    | AssertTrue<IsExact<any, any>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsExact<any, string>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsExact<any, unknown>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsExact<any, never>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsExact<{ a: any }, { a: string }>>
    | AssertFalse<IsExact<never, string>>
    | AssertFalse<IsExact<string, string | number>>
    | AssertFalse<IsExact<"a", string>>
    | AssertFalse<IsExact<true, boolean>>
    | AssertFalse<IsExact<{ a?: string }, { a: string }>>
    | AssertFalse<IsExact<{ readonly a: string }, { a: string }>>
    | AssertFalse<IsExact<{ a: string }, { a: string; b: string }>>
    | AssertFalse<IsExact<[string], string[]>>
    | AssertFalse<IsExact<(a: string) => void, (a: number) => void>>;
  type _Others =
    | AssertTrue<Has<string | number, string>>
    | AssertFalse<Has<string | number, boolean>>
    // deno-lint-ignore no-explicit-any
    | AssertTrue<Has<any, string>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<Has<string, any>>
    // deno-lint-ignore no-explicit-any
    | AssertTrue<IsAny<any>>
    | AssertFalse<IsAny<unknown>>
    | AssertFalse<IsAny<never>>
    | AssertFalse<IsAny<string>>
    | AssertFalse<IsAny<boolean>>
    | AssertTrue<IsNever<never>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsNever<any>>
    | AssertFalse<IsNever<string>>
    | AssertTrue<IsUnknown<unknown>>
    // deno-lint-ignore no-explicit-any
    | AssertFalse<IsUnknown<any>>
    | AssertFalse<IsUnknown<string>>
    | AssertTrue<IsNullable<string | null>>
    | AssertFalse<IsNullable<string>>
    | Assert<IsExact<string, string>, true>
    | Assert<IsExact<string, number>, false>;
  assertType<IsExact<string, string>>(true);
  assertType<IsExact<string, number>>(false);
  // @ts-expect-error the types differ
  assertType<IsExact<string, number>>(true);
});
