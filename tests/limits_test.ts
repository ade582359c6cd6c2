import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { McpRuntimeError } from "../runtime/errors.ts";
import { PersistentSessionFactory } from "../runtime/factory.ts";
import { DEFAULT_LIMITS, type LimitName, limitOf, MAX_TIMER_MS } from "../runtime/limits.ts";
import { McpRuntimePool } from "../runtime/pool.ts";

Deno.test("DEFAULT_LIMITS: pinned. Red? A default is public: change docs/lifecycle.md and CHANGELOG.md with it", () => {
  assertEquals({ ...DEFAULT_LIMITS }, {
    connectTimeoutMs: 30_000,
    timeoutMs: 60_000,
    maxTotalTimeoutMs: 3_600_000,
    queueTimeoutMs: Infinity,
    drainTimeoutMs: 30_000,
    closeTimeoutMs: 5_000,
    credentialsTimeoutMs: 30_000,
    maxQueuedCalls: 1_000,
    maxMessageBytes: 67_108_864,
    concurrency: 1,
    maxRedirects: 5,
    maxResumptions: 5,
    stderrTailBytes: 8_192,
    idleTimeoutMs: Infinity,
    maxSessions: Infinity,
    maxLifetimeMs: Infinity,
    backoffInitialMs: 200,
    backoffMaxMs: 30_000,
  });
  assert(Object.isFrozen(DEFAULT_LIMITS));
});

Deno.test("limitOf: absent is the default or the fallback, 0 and Infinity are off", () => {
  assertEquals(limitOf("timeoutMs", undefined), 60_000);
  assertEquals(limitOf("timeoutMs", undefined, 7), 7);
  assertEquals(limitOf("timeoutMs", 0), Infinity);
  assertEquals(limitOf("timeoutMs", -0), Infinity);
  assertEquals(limitOf("concurrency", Infinity), Infinity);
  assertEquals(limitOf("timeoutMs", 5), 5);
});

Deno.test("limitOf: a duration is clamped to what a timer can hold, a count is a whole number of at least 1", () => {
  assertEquals(limitOf("timeoutMs", MAX_TIMER_MS + 1), MAX_TIMER_MS);
  assertEquals(limitOf("timeoutMs", Number.MAX_VALUE), 2_147_483_647);
  assertEquals(limitOf("timeoutMs", 0.5), 0.5);
  assertEquals(limitOf("maxMessageBytes", MAX_TIMER_MS + 1), MAX_TIMER_MS + 1);
  assertEquals(limitOf("concurrency", 2.9), 2);
  assertEquals(limitOf("concurrency", 0.2), 1);
});

Deno.test("limitOf: NaN, negative and non-number values are refused, naming the limit", () => {
  for (const value of [NaN, -1, -Infinity, "5", null, true, {}, 5n]) {
    const error = assertThrows(() => limitOf("closeTimeoutMs", value), McpRuntimeError);
    assertEquals(error.code, "INPUT_INVALID");
    assertStringIncludes(error.message, "closeTimeoutMs must be a number of at least 0");
  }
});

const FACTORY: LimitName[] = [
  "connectTimeoutMs",
  "timeoutMs",
  "maxTotalTimeoutMs",
  "queueTimeoutMs",
  "drainTimeoutMs",
  "closeTimeoutMs",
  "credentialsTimeoutMs",
  "maxQueuedCalls",
  "maxMessageBytes",
  "concurrency",
];

for (const name of FACTORY) {
  Deno.test(`PersistentSessionFactory: a bad ${name} is refused by the constructor`, () => {
    for (const value of [NaN, -5, "1"]) {
      const error = assertThrows(() => new PersistentSessionFactory({ [name]: value }), McpRuntimeError);
      assertEquals(error.code, "INPUT_INVALID");
      assertStringIncludes(error.message, name);
    }
  });
}

for (const name of ["idleTimeoutMs", "maxSessions", "maxLifetimeMs"]) {
  Deno.test(`McpRuntimePool: a bad ${name} is refused by the constructor`, () => {
    for (const value of [NaN, -5, "1"]) {
      const error = assertThrows(() => new McpRuntimePool(undefined, { [name]: value }), McpRuntimeError);
      assertStringIncludes(error.message, name);
    }
  });
}

Deno.test("McpRuntimePool: a bad openBackoff is refused by the constructor", () => {
  for (const openBackoff of [{ initialMs: NaN }, { maxMs: -1 }]) {
    assertThrows(() => new McpRuntimePool(undefined, { openBackoff }), McpRuntimeError);
  }
});

Deno.test("docs/lifecycle.md: the table of limits has every default", async () => {
  const page = await Deno.readTextFile(new URL("../docs/lifecycle.md", import.meta.url));
  for (const [name, value] of Object.entries(DEFAULT_LIMITS)) {
    const shown = value === Infinity ? ["none"] : [
      String(value),
      value.toLocaleString("en").replaceAll(",", " "),
      value.toLocaleString("en"),
      `${value / 1024} KiB`,
      `${value / 1024 ** 2} MiB`,
    ];
    const word = name.replace(/^backoff(.)/, (_, first: string) => first.toLowerCase());
    const rows = page.split("\n").filter((line) => line.startsWith("|") && line.includes(word));
    assert(rows.some((row) => shown.some((text) => row.replaceAll(" ", " ").includes(text))), `${name}: ${value}`);
  }
});
