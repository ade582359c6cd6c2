import { assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { readStart } from "../../runtime/transport/body.ts";

Deno.test("H9 readStart: gives the rest of a body up, whether it was too long, too slow or over", async () => {
  using time = new FakeTime();
  const cancelled: string[] = [];
  const bodyOf = (name: string, parts: string[]) => {
    const chunks = parts.map((part) => new TextEncoder().encode(part));
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => chunks.length > 0 ? controller.enqueue(chunks.shift()!) : new Promise(() => {}),
      cancel: () => void cancelled.push(name),
    });
    return new Response(stream);
  };
  assertEquals(await readStart(bodyOf("long", ["12345", "67890"]), 7, 60_000), "1234567");
  const slow = readStart(bodyOf("slow", ["12345"]), 7, 500);
  await time.tickAsync(500);
  assertEquals(await slow, "12345");
  assertEquals(await readStart(new Response("over"), 7, 60_000), "over");
  assertEquals(cancelled, ["long", "slow"]);
});
