import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseConnection, parseConnectionId } from "../runtime/connection.ts";
import { McpRuntimeError } from "../runtime/errors.ts";

const base = { id: "docs.public", provider: "docs", account: "public" };
const stdio = (transport: Record<string, unknown>) => ({ ...base, transport: { kind: "stdio", ...transport } });
const http = (transport: Record<string, unknown>) => ({ ...base, transport: { kind: "http", ...transport } });
const URL_OK = "https://example.com/mcp";

/** Stands in every wrong value; no message may show it. */
const SECRET = "s3cret-value";

function refusal(input: unknown): McpRuntimeError {
  const error = assertThrows(() => parseConnection(input), McpRuntimeError);
  assertEquals([error.code, error.delivery], ["CONNECTION_INVALID", "not-sent"]);
  assert(!`${error.stack} ${Deno.inspect(error)}`.includes(SECRET), error.message);
  return error;
}

Deno.test("parseConnectionId: splits at the first dot", () => {
  assertEquals(parseConnectionId("a.b"), { provider: "a", account: "b" });
  assertEquals(parseConnectionId("git-hub_2.work.eu.1-x"), { provider: "git-hub_2", account: "work.eu.1-x" });
  assertEquals(parseConnectionId("_._"), { provider: "_", account: "_" });
  assertEquals(parseConnectionId("0.9"), { provider: "0", account: "9" });
});

const BAD_IDS = ["", ".", "a", "a.", ".b", "-a.b", "a.-b", "a..b", "a b.c", "ä.b", "a.b/c", "a.b\n", "\na.b", "a\0.b"];
for (const id of [...BAD_IDS, 5, null, undefined, {}, ["a.b"]]) {
  Deno.test(`parseConnectionId: refuses ${JSON.stringify(id)}`, () => {
    const error = assertThrows(() => parseConnectionId(id as string), McpRuntimeError);
    assertEquals(error.code, "CONNECTION_INVALID");
    assertStringIncludes(error.message, "connection id");
  });
}

Deno.test("parseConnectionId: a long id is shown cut", () => {
  const error = assertThrows(() => parseConnectionId("x".repeat(10_000)), McpRuntimeError);
  assert(error.message.length < 300);
});

Deno.test("parseConnection: keeps what it knows, drops what it does not, freezes to the bottom", () => {
  const input = {
    ...stdio({ command: "deno", args: ["run", "x"], env: { A: "1" }, cwd: "/srv" }),
    profile: "p",
    authRef: "r",
    enabled: false,
    metadata: { tags: ["a", { b: 1 }] },
    unknown: SECRET,
  };
  const connection = parseConnection(input);
  const { unknown: _, ...known } = input;
  assertEquals(connection as unknown, known);
  const { transport, metadata } = connection as unknown as typeof known & { transport: { args: []; env: object } };
  for (const part of [connection, transport, transport.args, transport.env, metadata, metadata.tags]) {
    assert(Object.isFrozen(part));
  }
  input.metadata.tags.push("later");
  assertEquals(metadata.tags.length, 2);
});

Deno.test("parseConnection: a parsed connection is returned as it is; a copy of it is checked again", () => {
  const connection = parseConnection({ ...base });
  assertStrictEquals(parseConnection(connection), connection);
  const copy = parseConnection({ ...connection });
  assert(copy !== connection);
  assertEquals(copy, connection);
});

Deno.test("parseConnection: transport, profile, authRef and cwd may be null or absent", () => {
  for (const transport of [null, undefined]) assertEquals(parseConnection({ ...base, transport }).transport, transport);
  parseConnection({ ...stdio({ command: "x", cwd: null }), profile: null, authRef: null });
});

Deno.test("parseConnection: refuses what is no object", () => {
  for (const input of [null, undefined, 5, SECRET, [], [base], () => {}]) {
    assertStringIncludes(refusal(input).message, "connection");
  }
});

/** Wrong input and the field that the message must name. */
const WRONG: [string, unknown, string][] = [
  ["an id that is no id", { ...base, id: "docs" }, "connection id"],
  ["an id that is no text", { ...base, id: 5 }, "id must be a string"],
  ["no id", { provider: "docs", account: "public" }, "id must be a string"],
  ["a provider that does not match", { ...base, provider: SECRET }, "provider does not match the id"],
  ["an account that does not match", { ...base, account: SECRET }, "account does not match the id"],
  ["no provider", { id: base.id, account: "public" }, "provider must be a string"],
  ["enabled that is no boolean", { ...base, enabled: "yes" }, "enabled must be a boolean"],
  ["profile that is no text", { ...base, profile: {} }, "profile must be"],
  ["authRef that is no text", { ...base, authRef: 1 }, "authRef must be"],
  ["metadata that is no object", { ...base, metadata: [SECRET] }, "metadata must be an object"],
  ["a transport that is no object", { ...base, transport: SECRET }, "transport"],
  ["an unknown kind", { ...base, transport: { kind: "sse", url: SECRET } }, 'transport.kind must be "stdio" or "http"'],
  ["no kind", { ...base, transport: { command: SECRET } }, 'transport.kind must be "stdio" or "http"'],
  ["an unknown field of stdio", stdio({ command: "x", comand: SECRET }), "transport.comand is not a field"],
  ["an unknown field of http", http({ url: URL_OK, header: { a: SECRET } }), "transport.header is not a field"],
  ["fields of http in stdio", stdio({ command: "x", url: URL_OK }), "transport.url is not a field"],
  ["an empty command", stdio({ command: "" }), "transport.command must not be empty"],
  ["a blank command", stdio({ command: "  \t" }), "transport.command must not be empty"],
  ["no command", stdio({}), "transport.command must be a string"],
  ["a command with NUL", stdio({ command: `a\0${SECRET}` }), "transport.command must not contain a NUL"],
  ["args that are text", stdio({ command: "x", args: SECRET }), "transport.args must be an array"],
  ["an argument that is no text", stdio({ command: "x", args: ["a", 5] }), "transport.args.1 must be a string"],
  ["an argument with NUL", stdio({ command: "x", args: [`\0${SECRET}`] }), "transport.args.0 must not contain a NUL"],
  ["an empty cwd", stdio({ command: "x", cwd: "" }), "transport.cwd must not be empty"],
  ["env that is an array", stdio({ command: "x", env: [SECRET] }), "transport.env must be an object"],
  ["an env value that is no text", stdio({ command: "x", env: { A: 5 } }), "transport.env.A must be a string"],
  ["an env value with NUL", stdio({ command: "x", env: { A: `${SECRET}\0` } }), "transport.env.A must not contain"],
  ["an env name with =", stdio({ command: "x", env: { "A=B": SECRET } }), "transport.env.A… is not the name"],
  [
    "NAME=value in place of an env name",
    stdio({ command: "x", env: { [`A=${SECRET}`]: "" } }),
    "transport.env.A… is not",
  ],
  ["an empty env name", stdio({ command: "x", env: { "": SECRET } }), "is not the name of an environment variable"],
  ["no url", http({}), "transport.url must be a string"],
  ["a relative url", http({ url: `/mcp?${SECRET}` }), "transport.url must be an absolute http: or https: URL"],
  ["a file url", http({ url: `file:///${SECRET}` }), "transport.url must be an absolute http: or https: URL"],
  ["a ws url", http({ url: `ws://a/${SECRET}` }), "transport.url must be"],
  ["a url that is none", http({ url: `https://${SECRET}:x` }), "transport.url must be"],
  ["headers that are pairs", http({ url: URL_OK, headers: [["a", SECRET]] }), "transport.headers must be an object"],
  [
    "a header name with a space",
    http({ url: URL_OK, headers: { "x y": SECRET } }),
    "transport.headers.x… is not a header name",
  ],
  [
    "a whole header line in place of its name",
    http({ url: URL_OK, headers: { [`authorization: Bearer ${SECRET}`]: "" } }),
    "transport.headers.authorization… is not a header name",
  ],
  ["an empty header name", http({ url: URL_OK, headers: { "": SECRET } }), "is not a header name"],
  ["a header value that is no text", http({ url: URL_OK, headers: { a: 5 } }), "transport.headers.a must be a string"],
  [
    "a line break in a header",
    http({ url: URL_OK, headers: { a: `${SECRET}\r\nb: c` } }),
    "transport.headers.a must be",
  ],
  ["a newline in a header", http({ url: URL_OK, headers: { a: `\n${SECRET}` } }), "transport.headers.a must be"],
  ["NUL in a header", http({ url: URL_OK, headers: { a: `${SECRET}\0` } }), "transport.headers.a must be"],
  ["a header beyond Latin-1", http({ url: URL_OK, headers: { a: `${SECRET}…` } }), "transport.headers.a must be"],
  ["one header twice", http({ url: URL_OK, headers: { "X-A": "1", "x-a": SECRET } }), "x-a is given twice"],
];
for (const [what, input, message] of WRONG) {
  Deno.test(`parseConnection: refuses ${what}, naming the field`, () => {
    assertStringIncludes(refusal(input).message, message);
  });
}

const PROTOCOL_HEADERS = [
  "Mcp-Session-Id",
  "mcp-protocol-version",
  "Accept",
  "content-type",
  "Content-Length",
  "HOST",
  "last-event-id",
];
for (const name of PROTOCOL_HEADERS) {
  Deno.test(`H16 parseConnection: the header ${name} belongs to the protocol and is refused`, () => {
    const { message } = refusal(http({ url: URL_OK, headers: { [name]: SECRET } }));
    assertStringIncludes(message, `transport.headers.${name} belongs to the protocol`);
  });
}

Deno.test("parseConnection: the message names the connection when its id is one", () => {
  const error = refusal(stdio({ command: "" }));
  assertStringIncludes(error.message, 'connection "docs.public": ');
  assertEquals(error.connectionId, "docs.public");
});

Deno.test("parseConnection: metadata that contains itself or is endless is refused, not followed", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  assertStringIncludes(refusal({ ...base, metadata: cycle }).message, "metadata");
});

Deno.test("parseConnection: a __proto__ key is data and reaches no prototype", () => {
  const input = JSON.parse(`{
    "id": "docs.public", "provider": "docs", "account": "public", "__proto__": { "enabled": false },
    "metadata": { "__proto__": { "admin": true } },
    "transport": { "kind": "stdio", "command": "x", "env": { "__proto__": "v" } }
  }`);
  const connection = parseConnection(input);
  assertEquals(connection.enabled, undefined);
  assertEquals(Object.keys(connection.metadata!), ["__proto__"]);
  assertEquals(({} as { admin?: unknown }).admin, undefined);
});
