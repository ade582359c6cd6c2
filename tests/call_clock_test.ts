import { assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { CallClocks } from "../runtime/call_clock.ts";

function expiring() {
  const seen: string[] = [];
  return {
    seen,
    note: (name: string) => (elapsedMs: number, limitMs: number) => void seen.push(`${name} ${elapsedMs}/${limitMs}`),
  };
}

Deno.test("CallClocks: each call expires at its own limit, in whatever order they were started", () => {
  using time = new FakeTime();
  const { seen, note } = expiring();
  const clocks = new CallClocks();
  clocks.start(300, Infinity, note("a"));
  clocks.start(100, Infinity, note("b"));
  time.tick(50);
  clocks.start(200, 1_000, note("c"));
  time.tick(250);
  assertEquals(seen, ["b 100/100", "c 200/200", "a 300/300"]);
  clocks.stop();
});

Deno.test("P8 CallClocks: progress restarts the silence and leaves the total", () => {
  using time = new FakeTime();
  const { seen, note } = expiring();
  const clocks = new CallClocks();
  const silent = clocks.start(100, Infinity, note("silence"));
  const total = clocks.start(100, 250, note("total"));
  for (let i = 0; i < 3; i++) {
    time.tick(80);
    silent.progress();
    total.progress();
  }
  assertEquals(seen, []);
  time.tick(10);
  assertEquals(seen, ["total 250/250"]);
  time.tick(90);
  assertEquals(seen, ["total 250/250", "silence 340/100"]);
  clocks.stop();
});

Deno.test("CallClocks: a stopped clock never expires, and one timer serves a thousand calls", () => {
  using time = new FakeTime();
  const { seen, note } = expiring();
  const clocks = new CallClocks();
  for (let i = 0; i < 1_000; i++) {
    clocks.start(100, Infinity, note(`${i}`)).stop();
    time.tick(1);
  }
  const last = clocks.start(100, Infinity, note("last"));
  time.tick(99);
  assertEquals(seen, []);
  time.tick(1);
  assertEquals(seen, ["last 100/100"]);
  last.stop();
  clocks.stop();
  time.tick(1_000);
  assertEquals(seen.length, 1);
});
