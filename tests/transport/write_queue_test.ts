import { assertEquals, assertRejects } from "@std/assert";
import { WriteQueue } from "../../runtime/transport/write_queue.ts";

/** A pipe that takes a write when it is told to. */
function pipe() {
  const writes: string[] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const broken: unknown[] = [];
  const queue = new WriteQueue((bytes) => {
    writes.push(new TextDecoder().decode(bytes));
    const write = Promise.withResolvers<void>();
    pending.push(write);
    return write.promise;
  }, (error) => broken.push(error));
  return { queue, writes, pending, broken };
}

const failure = (state: string) => new Error(state);

Deno.test("WriteQueue writes a message at once when the pipe is free, and coalesces those that come meanwhile", async () => {
  const { queue, writes, pending } = pipe();
  const sends = ["a", "b", "c"].map((text, id) => queue.push(text, id, undefined));
  assertEquals(writes, ["a\n"]);
  pending[0].resolve();
  await sends[0];
  assertEquals(writes, ["a\n", "b\nc\n"]);
  pending[1].resolve();
  await Promise.all(sends);
  assertEquals(queue.stalled, false);
});

Deno.test("WriteQueue calls onsent just before the write that holds the message", async () => {
  const { queue, writes, pending } = pipe();
  const seen: [string, number][] = [];
  const sends = ["a", "b"].map((text, id) => queue.push(text, id, () => seen.push([text, writes.length])));
  assertEquals(seen, [["a", 0]]);
  pending[0].resolve();
  await sends[0];
  assertEquals(seen, [["a", 0], ["b", 1]]);
  pending[1].resolve();
  await sends[1];
});

Deno.test("WriteQueue bounds what one write holds, so that a stalled pipe holds few calls", async () => {
  const { queue, writes, pending } = pipe();
  const sends = [0, 1, 2, 3].map((id) => queue.push("x".repeat(40_000), id, undefined));
  for (let i = 0; i < sends.length; i++) {
    pending[i].resolve();
    await sends[i];
  }
  assertEquals(writes.length, 4);
});

Deno.test("WriteQueue withdraws a message of which nothing was written, and no other", async () => {
  const { queue, writes, pending } = pipe();
  const first = queue.push("a", 0, undefined);
  const second = queue.push("b", "", undefined);
  const third = queue.push("c", 2, undefined);
  queue.withdraw("", () => new Error("withdrawn"));
  queue.withdraw(0, () => new Error("withdrawn"));
  queue.withdraw(99, () => new Error("withdrawn"));
  await assertRejects(() => second, Error, "withdrawn");
  pending[0].resolve();
  await first;
  assertEquals(writes, ["a\n", "c\n"]);
  pending[1].resolve();
  await third;
});

Deno.test("WriteQueue tells for each message whether a part of it may have left, when it fails (S9, S10)", async () => {
  const { queue, pending } = pipe();
  const sends = ["a", "b"].map((text, id) => queue.push(text, id, undefined));
  queue.fail(failure);
  queue.fail(() => new Error("a later failure changes nothing"));
  await assertRejects(() => sends[0], Error, "perhaps written");
  await assertRejects(() => sends[1], Error, "unwritten");
  await assertRejects(() => queue.push("c", 2, undefined), Error, "unwritten");
  pending[0].resolve();
});

Deno.test("WriteQueue stands still after a refused write until it is told the reason (S10)", async () => {
  const { queue, writes, pending, broken } = pipe();
  const sends = ["a", "b"].map((text, id) => queue.push(text, id, undefined));
  pending[0].reject(new Error("EPIPE"));
  await pending[0].promise.catch(() => {});
  await Promise.resolve();
  assertEquals([broken.length, writes.length, queue.stalled], [1, 1, true]);
  queue.fail(failure);
  await assertRejects(() => sends[0], Error, "perhaps written");
  await assertRejects(() => sends[1], Error, "unwritten");
});
