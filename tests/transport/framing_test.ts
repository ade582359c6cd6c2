import { assert, assertEquals } from "@std/assert";
import { MessageFramer } from "../../runtime/transport/framing.ts";
import type { JsonRpcMessage, JsonRpcResultResponse } from "../../runtime/transport/message.ts";

const encoder = new TextEncoder();

function framer(maxBytes = Infinity) {
  const events: unknown[] = [];
  const messages: JsonRpcMessage[] = [];
  const framing = new MessageFramer(maxBytes, {
    onmessage: (message) => {
      messages.push(message);
      events.push(["message", "id" in message ? message.id : undefined]);
    },
    onskip: (line) => events.push(["skip", line]),
    onoversize: (prefix) => events.push(["oversize", prefix]),
    onoversizeend: (suffix) => events.push(["oversize end", suffix]),
  });
  return { framing, events, messages };
}

function response(id: number, text = ""): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result: { text } });
}

Deno.test("MessageFramer delivers the messages of one chunk in order", () => {
  const { framing, events } = framer();
  framing.push(encoder.encode(`${response(1)}\n${response(2)}\n${response(3)}\n`));
  assertEquals(events, [["message", 1], ["message", 2], ["message", 3]]);
});

Deno.test("MessageFramer joins a message that comes one byte at a time, characters of four bytes included (S6)", () => {
  const { framing, messages } = framer();
  for (const byte of encoder.encode(`${response(1, "—🙂é")}\r\n`)) framing.push(Uint8Array.of(byte));
  assertEquals(messages, [{ jsonrpc: "2.0", id: 1, result: { text: "—🙂é" } }]);
});

Deno.test("MessageFramer decodes the same text whatever the size of the chunks (S6)", () => {
  const text = "aé—🙂".repeat(50_000);
  const bytes = encoder.encode(response(7, text) + "\n");
  for (const size of [1_000, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 131_071]) {
    const { framing, messages } = framer();
    // One buffer for all chunks, as the transport has it: what is kept must have been copied.
    const buffer = new Uint8Array(size);
    for (let at = 0; at < bytes.length; at += size) {
      const part = bytes.subarray(at, at + size);
      buffer.set(part);
      framing.push(buffer.subarray(0, part.length));
    }
    assertEquals((messages[0] as JsonRpcResultResponse).result.text === text, true, `chunks of ${size}`);
  }
});

Deno.test("MessageFramer skips every line that is no message and goes on (S5)", () => {
  const { framing, events } = framer();
  const junk = ["starting…", '{"level":"info"}', "42", "", "{", '  "pretty":', "[1]", '{"jsonrpc":"2.0"}', "null"];
  framing.push(encoder.encode(`${junk.join("\n")}\n${response(1)}\n`));
  assertEquals(events, [...junk.map((line) => ["skip", line]), ["message", 1]]);
});

Deno.test("MessageFramer takes a byte order mark, a batch and an unfinished last line", () => {
  const { framing, events } = framer();
  framing.push(encoder.encode(`\ufeff${response(1)}\n[${response(2)},${response(3)}]\n${response(4)}`));
  assertEquals(events, [["message", 1], ["message", 2], ["message", 3]]);
  framing.end();
  assertEquals(events.at(-1), ["message", 4]);
});

Deno.test("MessageFramer keeps `__proto__` as data", () => {
  const { framing, messages } = framer();
  framing.push(encoder.encode('{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"polluted":true}}}\n'));
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
  assert(Object.hasOwn((messages[0] as JsonRpcResultResponse).result, "__proto__"));
});

Deno.test("MessageFramer gives up a line beyond the limit once, with its two ends, and delivers what is around it (S7)", () => {
  const { framing, events } = framer(100);
  const long = response(2, "x".repeat(1_000));
  const bytes = encoder.encode(`${response(1)}\n${long}\n${response(3)}\n`);
  for (let at = 0; at < bytes.length; at += 64) framing.push(bytes.subarray(at, at + 64));
  assertEquals(events[0], ["message", 1]);
  assertEquals((events[1] as string[])[0], "oversize");
  assert(long.startsWith((events[1] as string[])[1]));
  assertEquals(events[2], ["oversize end", long.slice(-256)]);
  assertEquals(events[3], ["message", 3]);
  assertEquals(events.length, 4);
});

Deno.test("MessageFramer gives up a line beyond the limit that comes whole in one chunk (S7)", () => {
  const { framing, events } = framer(50);
  const long = response(2, "x".repeat(100));
  framing.push(encoder.encode(`${long}\n${response(3)}\n`));
  assertEquals(events, [["oversize", long], ["oversize end", long], ["message", 3]]);
});

Deno.test("MessageFramer delivers a message of exactly the limit", () => {
  const line = response(1, "x".repeat(100));
  for (const size of [line.length + 1, 10]) {
    const { framing, events } = framer(line.length);
    const bytes = encoder.encode(line + "\n");
    for (let at = 0; at < bytes.length; at += size) framing.push(bytes.subarray(at, at + size));
    assertEquals(events, [["message", 1]]);
  }
});
