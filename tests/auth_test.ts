import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { mcpAuthEnv, mcpAuthHeaders, parseAuth, parseAuthOrNull } from "../runtime/auth.ts";
import { McpRuntimeError } from "../runtime/errors.ts";

const record = (payload: Record<string, unknown> | undefined) => ({
  connectionId: "docs.public",
  scheme: "custom",
  ...(payload === undefined ? {} : { payload }),
});
const SECRET = "s3cret-value";

function refusal(action: () => unknown): McpRuntimeError {
  const error = assertThrows(action, McpRuntimeError);
  assertEquals([error.code, error.delivery], ["CONNECTION_INVALID", "not-sent"]);
  assert(!`${error.stack} ${Deno.inspect(error)}`.includes(SECRET), error.message);
  return error;
}

Deno.test("parseAuth: keeps the record, frozen to the bottom; a parsed one is returned as it is", () => {
  const input = record({ token: "t", list: [{ a: 1 }] });
  const auth = parseAuth(input);
  assertEquals(auth as unknown, input);
  assert(Object.isFrozen((auth.payload!.list as unknown[])[0]));
  assertStrictEquals(parseAuth(auth), auth);
  assertEquals(parseAuth(record(undefined)), record(undefined) as never);
});

const WRONG: [string, unknown, string][] = [
  ["null", null, "must be an object"],
  ["text", SECRET, "must be an object"],
  ["an array", [SECRET], "must be an object"],
  ["no connectionId", { scheme: "x" }, "connectionId must be a string"],
  ["a scheme that is no text", { connectionId: "a.b", scheme: { SECRET } }, "scheme must be a string"],
  ["a payload that is an array", { connectionId: "a.b", scheme: "x", payload: [SECRET] }, "payload must be an object"],
  ["a payload that is text", { connectionId: "a.b", scheme: "x", payload: SECRET }, "payload must be an object"],
  ["a payload that is null", { connectionId: "a.b", scheme: "x", payload: null }, "payload must be an object"],
  ["P19 a function in the payload", record({ get: () => SECRET }), "payload.get is a function"],
  ["P19 a Date in the payload", record({ at: [new Date(0)] }), "payload.at[0] is a Date"],
  ["P19 a bigint in the payload", record({ n: 1n }), "payload.n is a bigint"],
  ["a protocol header", record({ headers: { "Mcp-Session-Id": SECRET } }), "payload.headers.Mcp-Session-Id belongs to"],
  ["a header name that is none", record({ headers: { "a b": SECRET } }), "payload.headers.a… is not a header name"],
  ["a line break in a header", record({ headers: { a: `${SECRET}\r\nb: c` } }), "payload.headers.a must be a header"],
  ["a line break in the token", record({ token: `${SECRET}\n` }), "payload.token cannot be sent in a header"],
  ["an env name with =", record({ env: { "A=B": SECRET } }), "payload.env has a name or value"],
  ["an env value with NUL", record({ env: { A: `${SECRET}\0` } }), "payload.env has a name or value"],
];
for (const [what, input, message] of WRONG) {
  Deno.test(`parseAuth: refuses ${what}, naming the field`, () => {
    assertStringIncludes(refusal(() => parseAuth(input)).message, message);
  });
}

Deno.test("P19 parseAuth: a payload that contains itself is refused", () => {
  const payload: Record<string, unknown> = {};
  payload.self = { payload };
  assertStringIncludes(refusal(() => parseAuth(record(payload))).message, "payload.self.payload contains itself");
});

Deno.test("P19 parseAuth: a __proto__ key is data", () => {
  const auth = parseAuth(
    JSON.parse('{"connectionId": "a.b", "scheme": "x", "payload": {"__proto__": {"token": "t"}}}'),
  );
  assertEquals(Object.keys(auth.payload!), ["__proto__"]);
  assertEquals(mcpAuthHeaders(auth), {});
});

const HEADERS: [string, Record<string, unknown> | undefined, Record<string, string>][] = [
  ["nothing", undefined, {}],
  ["an empty payload", {}, {}],
  ["headers, in lower case", { headers: { "X-Key": "k", b: "2" } }, { "x-key": "k", b: "2" }],
  ["the token as Bearer", { token: "t" }, { authorization: "Bearer t" }],
  ["an authorization header before the token, whatever its case", {
    headers: { AUTHORIZATION: "Basic x" },
    token: "t",
  }, { authorization: "Basic x" }],
  ["one header in two cases: the later one", { headers: { "X-A": "1", "x-a": "2" } }, { "x-a": "2" }],
  ["values that are not text are left out", { headers: { a: 5, b: null, c: "ok" }, token: 5 }, { c: "ok" }],
  ["headers that are no object are left out", { headers: ["a", "b"] }, {}],
  ["an empty token is none", { token: "" }, {}],
];
for (const [what, payload, headers] of HEADERS) {
  Deno.test(`13 mcpAuthHeaders: ${what}`, () => assertEquals(mcpAuthHeaders(record(payload)), headers));
}

Deno.test("13 mcpAuthHeaders, mcpAuthEnv: no record, nothing", () => {
  assertEquals(mcpAuthHeaders(null), {});
  assertEquals(mcpAuthEnv(null), {});
});

Deno.test("13 mcpAuthEnv: text values of payload.env, names in their case", () => {
  assertEquals(mcpAuthEnv(record({ env: { Key: "k", n: 5, o: {}, e: "" } })), { Key: "k", e: "" });
  assertEquals(mcpAuthEnv(record({ env: ["a"] })), {});
  assertEquals(mcpAuthEnv(record({})), {});
});

Deno.test("parseAuthOrNull: null is null, a record is parsed, anything else is told that null would do", () => {
  assertEquals(parseAuthOrNull(null), null);
  const record = { connectionId: "a.b", scheme: "bearer" };
  assertEquals(parseAuthOrNull(record), record);
  for (const input of [undefined, "token", []]) {
    assertThrows(() => parseAuthOrNull(input), McpRuntimeError, "auth record: must be an object or null");
  }
});
