import { assert, assertEquals } from "@std/assert";
import { runModel } from "./model/run.ts";

const RARE = ["evicted: idle", "evicted: max-sessions", "evicted: max-lifetime", "session-replaced", "session-lost"];

Deno.test("McpRuntimePool holds its rules through 3,000 random sequences of commands, which go everywhere", async () => {
  const { failure, runs, seed, seen } = await runModel({ runs: 3_000 });
  assertEquals(failure, "");
  assertEquals(runs, 3_000);
  const codes = ["CALL_TIMEOUT", "QUEUE_TIMEOUT", "QUEUE_FULL", "OPEN_FAILED", "SESSION_LOST", "HTTP_ERROR", "ABORTED"];
  for (const what of [...RARE, ...codes, "sent again"]) assert(seen[what] > 0, `seed ${seed} never came to ${what}`);
});
