import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { McpRuntimeError } from "../runtime/errors.ts";
import { type ToolCallResult, toolResultToCallResult } from "../runtime/result.ts";

const text = (value: string) => ({ type: "text", text: value });
const ok = (content: unknown[], more: Partial<ToolCallResult> = {}): Record<string, unknown> => ({
  outcome: "ok",
  output: { content },
  meta: {},
  content,
  ...more,
});

const odd = { type: "hologram", depth: 3 };
const image = { type: "image", data: "aGk=", mimeType: "image/png", annotations: { audience: ["user"] } };

/** P15: what servers have sent, and what comes of it. */
const GOLDEN: [string, unknown, Record<string, unknown>][] = [
  ["content of text", { content: [text("hi")] }, ok([text("hi")])],
  [
    "structuredContent that is an object",
    { content: [text("{}")], structuredContent: { echoed: "hi" } },
    ok([text("{}")], { output: { echoed: "hi" }, structuredContent: { echoed: "hi" } }),
  ],
  [
    "structuredContent without content",
    { structuredContent: { a: 1 } },
    ok([], { output: { a: 1 }, structuredContent: { a: 1 } }),
  ],
  [
    "structuredContent that is an array",
    { content: [text("x")], structuredContent: [1, "two"] },
    ok([text("x")], { structuredContent: [1, "two"] }),
  ],
  [
    "structuredContent that is null",
    { content: [text("x")], structuredContent: null },
    ok([text("x")], {
      structuredContent: null,
    }),
  ],
  ["structuredContent that is text", { content: [], structuredContent: "x" }, ok([], { structuredContent: "x" })],
  ["structuredContent that is 0", { content: [], structuredContent: 0 }, ok([], { structuredContent: 0 })],
  [
    "an empty structuredContent",
    { content: [], structuredContent: {} },
    ok([], {
      output: {},
      structuredContent: {},
    }),
  ],
  ["isError", { content: [text("no")], isError: true }, ok([text("no")], { outcome: "error" })],
  [
    "isError with structuredContent",
    { content: [], structuredContent: { why: "x" }, isError: true },
    ok([], { outcome: "error", output: { why: "x" }, structuredContent: { why: "x" } }),
  ],
  ["isError false", { content: [], isError: false }, ok([])],
  ["isError of another kind is none", { content: [], isError: "yes" }, ok([])],
  ["_meta", { content: [], _meta: { a: { b: 1 } } }, ok([], { meta: { a: { b: 1 } } })],
  ["_meta that is no object", { content: [], _meta: [1] }, ok([])],
  ["content: null", { content: null }, ok([])],
  ["content: null beside other fields", { content: null, answer: "42" }, ok([text('{"answer":"42"}')])],
  ["content that is text", { content: "hi" }, ok([text("hi")])],
  ["content that is a number", { content: 42 }, ok([text("42")])],
  ["content that is one block", { content: text("hi") }, ok([text("hi")])],
  ["content that is an object without a type", { content: { a: 1 } }, ok([text('{"a":1}')])],
  ["content of bare texts", { content: ["a", "b"] }, ok([text("a"), text("b")])],
  ["content of numbers, null and arrays", { content: [1, null, [2]] }, ok([text("1"), text("null"), text("[2]")])],
  [
    "content whose blocks have no type",
    { content: [{ text: "hi" }, text("x")] },
    ok([text('{"text":"hi"}'), text("x")]),
  ],
  ["an unknown kind of block", { content: [odd, image] }, ok([odd, image])],
  ["extra fields in a block", { content: [{ ...text("x"), extra: [1] }] }, ok([{ ...text("x"), extra: [1] }])],
  ["extra fields beside content", { content: [text("x")], extra: 1 }, ok([text("x")])],
  ["no content at all", {}, ok([])],
  ["nothing but _meta and isError", { _meta: { a: 1 }, isError: true }, ok([], { outcome: "error", meta: { a: 1 } })],
  ["no content, other fields", { answer: 42, why: "x" }, ok([text('{"answer":42,"why":"x"}')])],
  ["toolResult that is text", { toolResult: "hi" }, ok([text("hi")])],
  ["toolResult that is a number", { toolResult: 5 }, ok([text("5")])],
  ["toolResult that is null", { toolResult: null }, ok([])],
  ["toolResult that is an array", { toolResult: ["a", text("b")] }, ok([text("a"), text("b")])],
  ["toolResult that is an object", { toolResult: { a: 1 } }, ok([], { output: { a: 1 }, structuredContent: { a: 1 } })],
  [
    "toolResult that is a whole result",
    { toolResult: { content: [text("no")], isError: true, _meta: { m: 1 } } },
    ok([text("no")], { outcome: "error", meta: { m: 1 } }),
  ],
  ["toolResult beside _meta", { toolResult: "x", _meta: { m: 1 } }, ok([text("x")], { meta: { m: 1 } })],
  ["toolResult beside content is a copy", { toolResult: "old", content: [text("new")] }, ok([text("new")])],
  ["toolResult beside empty content", { toolResult: "x", content: [] }, ok([text("x")])],
  ["toolResult beside content: null", { toolResult: "x", content: null }, ok([text("x")])],
  [
    "toolResult beside structuredContent",
    { toolResult: "x", structuredContent: { a: 1 } },
    ok([text("x")], { output: { a: 1 }, structuredContent: { a: 1 } }),
  ],
  ["a member named __proto__", JSON.parse('{"__proto__": "x"}'), ok([text('{"__proto__":"x"}')])],
];

for (const [what, raw, expected] of GOLDEN) {
  Deno.test(`P15 15 toolResultToCallResult: ${what}`, () => {
    const before = JSON.stringify(raw);
    assertEquals(toolResultToCallResult(raw) as unknown, expected);
    assertEquals(JSON.stringify(raw), before, "the raw result was changed");
  });
}

for (const raw of [null, undefined, "text", 5, true, [], [text("x")]]) {
  Deno.test(`P15 toolResultToCallResult: ${JSON.stringify(raw)} is no result: PROTOCOL_ERROR, answered`, () => {
    const error = assertThrows(() => toolResultToCallResult(raw), McpRuntimeError);
    assertEquals([error.code, error.delivery], ["PROTOCOL_ERROR", "answered"]);
  });
}

Deno.test("P15 toolResultToCallResult: content that is well formed is kept as it is, and so is structuredContent", () => {
  const raw = { content: [text("a"), odd], structuredContent: { a: 1 } };
  const result = toolResultToCallResult(raw);
  assertStrictEquals(result.content, raw.content as typeof result.content);
  assertStrictEquals(result.structuredContent, raw.structuredContent);
  assertStrictEquals(result.output, raw.structuredContent);
});

/** Any JSON value, with the words that matter more often than by chance. */
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, 0, true, "", "text", []),
    fc.stringMatching(/^[a-z]{1,8}$/),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(
    fc.constantFrom("content", "structuredContent", "toolResult", "isError", "_meta", "type", "text", "a"),
    tie("value"),
    { maxKeys: 4 },
  ),
}));

/** Every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

Deno.test("P15 toolResultToCallResult: no JSON object throws, the shape always holds, no text is lost (property)", () => {
  fc.assert(
    fc.property(json.object, (raw) => {
      const result = toolResultToCallResult(raw);
      assert(result.outcome === "ok" || result.outcome === "error");
      for (const object of [result.output, result.meta]) assert(typeof object === "object" && !Array.isArray(object));
      for (const block of result.content) assertEquals(typeof block.type, "string");
      const kept = JSON.stringify([result.content, result.structuredContent ?? null]);
      const { content, structuredContent, toolResult } = raw as Record<string, unknown>;
      const copied = content !== undefined && content !== null && !(Array.isArray(content) && content.length === 0);
      for (const value of textsIn([content, structuredContent, ...(copied ? [] : [withoutMarks(toolResult)])])) {
        assert(kept.includes(JSON.stringify(value).slice(1, -1)), `${value} of ${JSON.stringify(raw)}`);
      }
    }),
    { numRuns: 3_000 },
  );
});

/** A whole result under `toolResult` is read as one: its marks are no text, and of its fields those that results have. */
function withoutMarks(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { content, structuredContent } = value as Record<string, unknown>;
  return "content" in value || "structuredContent" in value ? [content, structuredContent] : value;
}
