/**
 * A local stand-in for `@std/testing/time`: `FakeTime` over the clock of `@sinonjs/fake-timers`.
 *
 * What it fakes is what `@std/testing` fakes: `Date`, `setTimeout`, `clearTimeout`, `setInterval`, `clearInterval` and
 * `AbortSignal.timeout`. `performance.now()`, `queueMicrotask` and the timers of `node:timers` stay real.
 *
 * As in `@std/testing`, a timer's id is a number, and clearing anything else does nothing. A difference: the numbers
 * start at a million million, where no real timer has its own, so that `Deno.refTimer` and `Deno.unrefTimer`, which
 * stay real, find nothing to act upon.
 */

import { withGlobal } from "@sinonjs/fake-timers";
import type { DelayOptions } from "@std/async/delay";

export type { DelayOptions };

type Callback = (...args: unknown[]) => unknown;
type Clock = ReturnType<ReturnType<typeof withGlobal>["createClock"]>;

const real = {
  Date: globalThis.Date,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};
const realAbortTimeout = AbortSignal.timeout;

/** The clock's maker. The timers given to it only tell it that ids are to be numbers. */
const timers = withGlobal({
  Date: real.Date,
  setTimeout: () => 0,
  clearTimeout: () => {},
  setInterval: () => 0,
  clearInterval: () => {},
});

/** The fake time in force, if any, and its clock. */
let current: { time: FakeTime; clock: Clock } | undefined;

/** Thrown when the state of the fake time does not allow what is asked. */
export class TimeError extends Error {
  /** Makes a time error with a message. */
  constructor(message: string) {
    super(message);
    this.name = "TimeError";
  }
}

/** How the fake time advances on its own. */
export interface FakeTimeOptions {
  /** How fast the fake time runs, relative to the real one. By default, 0: it stands still. */
  advanceRate: number;
  /** How many real milliseconds pass between two advances. By default, 10. */
  advanceFrequency?: number;
}

function currentClock(what: string): Clock {
  if (!current) throw new TimeError(`${what} is a fake one, and the time is no longer faked`);
  return current.clock;
}

function schedule(what: "setTimeout" | "setInterval", callback: unknown, delay: unknown, args: unknown[]): number {
  if (typeof callback !== "function") throw new TimeError(`The fake ${what} takes nothing but a function`);
  const clock = currentClock(what);
  const repeats = what === "setInterval";
  const wait = Math.max(repeats ? 1 : 0, Math.floor(Number(delay ?? 0)) || 0);
  const id = Number(clock[what](callback as Callback, 1, ...args));
  // The clock would put off a zero wait asked for by another timer's callback, and would not wait for more than 31
  // bits' worth of milliseconds. `@std/testing` takes either as it comes, so the time is set here.
  const timer = clock.timers!.get(id)!;
  clock.timerHeap!.remove(timer);
  timer.callAt = clock.now + wait;
  if (repeats) timer.interval = wait;
  clock.timerHeap!.push(timer);
  return id;
}

function cancel(what: "clearTimeout" | "clearInterval", id: unknown): void {
  const clock = currentClock(what);
  if (typeof id === "number" && clock.timers?.has(id)) clock[what](id);
}

function currentTime(): number {
  return current?.clock.now ?? real.Date.now();
}

const fake = {
  Date: new Proxy(real.Date, {
    construct: (target, args) => Reflect.construct(target, args.length > 0 ? args : [currentTime()]),
    apply: (target) => new target(currentTime()).toString(),
    get: (target, key) => key === "now" ? currentTime : Reflect.get(target, key),
  }),
  setTimeout: (callback: unknown, delay?: unknown, ...args: unknown[]) => schedule("setTimeout", callback, delay, args),
  clearTimeout: (id?: unknown) => cancel("clearTimeout", id),
  setInterval: (callback: unknown, delay?: unknown, ...args: unknown[]) =>
    schedule("setInterval", callback, delay, args),
  clearInterval: (id?: unknown) => cancel("clearInterval", id),
};

function fakeAbortTimeout(delay: number): AbortSignal {
  const controller = new AbortController();
  fake.setTimeout(() => controller.abort(new DOMException("Signal timed out.", "TimeoutError")), delay);
  return controller.signal;
}

function useFake(): void {
  Object.assign(globalThis, fake);
  AbortSignal.timeout = fakeAbortTimeout;
}

function useReal(): void {
  Object.assign(globalThis, real);
  AbortSignal.timeout = realAbortTimeout;
}

function startOf(start: number | string | Date | null | undefined): number {
  if (start instanceof Date) return start.getTime();
  if (typeof start === "number") return Math.floor(start);
  if (typeof start === "string") return new Date(start).getTime();
  return Date.now();
}

/** Takes the place of the date and of the timers until it is restored. */
export class FakeTime {
  readonly #start: number;
  readonly #clock: Clock;
  readonly #advance: ReturnType<typeof setInterval> | undefined;

  /**
   * Puts the fake time in force, from a given time or from the present one.
   *
   * Throws a `TimeError` if one already is, and a `TypeError` if the start is not a time.
   */
  constructor(start?: number | string | Date | null, options?: FakeTimeOptions) {
    if (current) throw new TimeError("The time is already faked");
    this.#start = startOf(start);
    if (Number.isNaN(this.#start)) throw new TypeError(`Not a time to start from: ${start}`);
    this.#clock = timers.createClock(this.#start);
    current = { time: this, clock: this.#clock };
    useFake();
    const rate = Math.max(0, options?.advanceRate ?? 0);
    const every = Math.max(0, options?.advanceFrequency ?? 10);
    if (rate > 0) this.#advance = real.setInterval.call(globalThis, () => this.tick(rate * every), every);
  }

  /** Restores the real time. */
  [Symbol.dispose](): void {
    this.restore();
  }

  /** Restores the real time. Throws a `TimeError` if it already is. */
  static restore(): void {
    if (!current) throw new TimeError("The time is not faked");
    current.time.restore();
  }

  /**
   * Restores the real time while a function runs, and until the promise it may return settles. As in `@std/testing`, the
   * fake functions then come back even if the fake time was itself restored meanwhile: do not restore it before.
   */
  static async restoreFor<T>(
    // deno-lint-ignore no-explicit-any
    callback: (...args: any[]) => Promise<T> | T,
    // deno-lint-ignore no-explicit-any
    ...args: any[]
  ): Promise<T> {
    if (!current) throw new TimeError("The time is not faked");
    useReal();
    let result: Promise<T> | T;
    try {
      result = callback(...args);
    } catch (error) {
      useFake();
      throw error;
    }
    if (!(result instanceof Promise)) {
      useFake();
      return result;
    }
    return await result.finally(useFake);
  }

  /** The fake time, in milliseconds since 1970 began. */
  get now(): number {
    return this.#clock.now;
  }

  /**
   * Moves the fake time forward, running the timers that come due on the way, each at its own time. If one throws, so
   * does this, and the time stays there.
   */
  set now(value: number) {
    const clock = this.#clock;
    if (value < clock.now) throw new RangeError(`The time is ${clock.now}, and cannot go back to ${value}`);
    while ((clock.timerHeap?.peek()?.callAt ?? NaN) <= value) clock.next();
    clock.now = value;
  }

  /** The time this began with. */
  get start(): number {
    return this.#start;
  }

  /** Waits for a number of real milliseconds. An abort rejects with a `DOMException` named `AbortError`. */
  delay(ms: number, options: DelayOptions = {}): Promise<void> {
    const { signal } = options;
    const aborted = () => new DOMException("The delay was aborted", "AbortError");
    if (signal?.aborted) return Promise.reject(aborted());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = real.setTimeout.call(globalThis, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    const abort = () => {
      real.clearTimeout.call(globalThis, timer);
      reject(aborted());
    };
    signal?.addEventListener("abort", abort, { once: true });
    return promise;
  }

  /** Lets the pending microtasks run. */
  async runMicrotasks(): Promise<void> {
    await this.delay(0);
  }

  /** Moves the fake time forward by a number of milliseconds. */
  tick(ms = 0): void {
    this.now += ms;
  }

  /** Lets the pending microtasks run, then moves the fake time forward. */
  async tickAsync(ms = 0): Promise<void> {
    await this.runMicrotasks();
    this.tick(ms);
  }

  /** Moves the fake time to when the next timer is due. Returns whether there was one. */
  next(): boolean {
    const due = this.#clock.timerHeap?.peek()?.callAt;
    if (due === undefined) return false;
    this.now = due;
    return true;
  }

  /** Lets the pending microtasks run, then moves the fake time to when the next timer is due. */
  async nextAsync(): Promise<boolean> {
    await this.runMicrotasks();
    return this.next();
  }

  /** Moves the fake time forward until no timer is left. It never ends while an interval is not cleared. */
  runAll(): void {
    while (this.next());
  }

  /** Like `runAll`, letting the pending microtasks run before each timer. */
  async runAllAsync(): Promise<void> {
    while (this.#clock.timerHeap?.peek()) await this.nextAsync();
  }

  /** Restores the real time, dropping the timers still pending. Throws a `TimeError` if it already is. */
  restore(): void {
    if (!current) throw new TimeError("The time is not faked");
    current = undefined;
    useReal();
    clearInterval(this.#advance);
  }
}
