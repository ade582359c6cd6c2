import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type AuthRecord, parseAuth } from "../runtime/auth.ts";
import { type McpSourceConnection, parseConnection } from "../runtime/connection.ts";
import { McpRuntimeError } from "../runtime/errors.ts";
import { connectionRuntimeFingerprint } from "../runtime/fingerprint.ts";

const of = (connection: unknown, auth: AuthRecord | null = null) =>
  connectionRuntimeFingerprint(connection as McpSourceConnection, auth);
const base = { id: "docs.public", provider: "docs", account: "public" };
const stdio = {
  ...base,
  transport: { kind: "stdio" as const, command: "deno", args: ["run", "x"], env: { A: "1", B: "2" }, cwd: "/srv" },
};
const http = {
  ...base,
  transport: { kind: "http" as const, url: "https://example.com/mcp", headers: { "X-A": "1", b: "2" } },
};
const auth: AuthRecord = { connectionId: base.id, scheme: "bearer", payload: { token: "t", headers: { h: "v" } } };
const withTransport = <T extends { transport: object }>(connection: T, change: Record<string, unknown>) => ({
  ...connection,
  transport: { ...connection.transport, ...change },
});

Deno.test("12 connectionRuntimeFingerprint: SHA-256 over canonical JSON of what opens the session", async () => {
  const sha256 = async (text: string) => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  assertEquals(
    of(stdio, auth),
    await sha256(
      '{"account":"public","auth":{"payload":{"headers":{"h":"v"},"token":"t"},"scheme":"bearer"},"authRef":null,' +
        '"id":"docs.public","profile":null,"provider":"docs","transport":{"args":["run","x"],"command":"deno",' +
        '"cwd":"/srv","env":{"A":"1","B":"2"},"kind":"stdio"}}',
    ),
  );
  assertEquals(
    of(http),
    await sha256(
      '{"account":"public","auth":null,"authRef":null,"id":"docs.public","profile":null,"provider":"docs",' +
        '"transport":{"headers":{"b":"2","x-a":"1"},"kind":"http","url":"https://example.com/mcp"}}',
    ),
  );
});

const CHANGES: [string, string, string][] = [
  ["id and account", of(stdio), of({ ...stdio, id: "docs.other", account: "other" })],
  ["profile", of(stdio), of({ ...stdio, profile: "p" })],
  ["authRef", of(stdio), of({ ...stdio, authRef: "r" })],
  ["command", of(stdio), of(withTransport(stdio, { command: "node" }))],
  ["args", of(stdio), of(withTransport(stdio, { args: ["run", "y"] }))],
  ["the order of args", of(stdio), of(withTransport(stdio, { args: ["x", "run"] }))],
  ["where args are cut", of(stdio), of(withTransport(stdio, { args: ["run x"] }))],
  ["an env value", of(stdio), of(withTransport(stdio, { env: { A: "1", B: "3" } }))],
  ["an env name's case", of(stdio), of(withTransport(stdio, { env: { a: "1", B: "2" } }))],
  ["cwd", of(stdio), of(withTransport(stdio, { cwd: null }))],
  ["kind", of(stdio), of({ ...base, transport: http.transport })],
  ["URL", of(http), of(withTransport(http, { url: "https://example.com/mcp/" }))],
  ["the URL's query", of(http), of(withTransport(http, { url: "https://example.com/mcp?a" }))],
  ["a header value", of(http), of(withTransport(http, { headers: { "X-A": "1", b: "3" } }))],
  ["a header more", of(http), of(withTransport(http, { headers: { "X-A": "1", b: "2", c: "" } }))],
  ["no transport", of(http), of(base)],
  ["an auth record", of(http), of(http, auth)],
  ["an empty auth record", of(http), of(http, { connectionId: base.id, scheme: "none" })],
  ["the auth scheme", of(http, auth), of(http, { ...auth, scheme: "basic" })],
  ["the auth payload", of(http, auth), of(http, { ...auth, payload: { ...auth.payload, token: "u" } })],
  ["a list in place of text", of(http, auth), of(http, { ...auth, payload: { ...auth.payload, token: ["t"] } })],
];
for (const [what, before, after] of CHANGES) {
  Deno.test(`12 connectionRuntimeFingerprint: changes with ${what}`, () => assertNotEquals(after, before));
}

const SAME: [string, string, string][] = [
  ["enabled", of(stdio), of({ ...stdio, enabled: false })],
  ["metadata", of(stdio), of({ ...stdio, metadata: { any: [1] } })],
  ["unknown fields", of(stdio), of({ ...stdio, note: "x" })],
  ["a header name's case", of(http), of(withTransport(http, { headers: { "x-a": "1", B: "2" } }))],
  [
    "defaults written out",
    of({ ...base, transport: { kind: "stdio", command: "x" } }),
    of({
      ...base,
      profile: null,
      authRef: null,
      transport: { kind: "stdio", command: "x", args: [], env: {}, cwd: null },
    }),
  ],
  ["transport null or absent", of(base), of({ ...base, transport: null })],
  [
    "headers {} or absent",
    of({ ...base, transport: { kind: "http", url: "https://a/" } }),
    of({
      ...base,
      transport: { kind: "http", url: "https://a/", headers: {} },
    }),
  ],
  [
    "payload {} or absent",
    of(http, { connectionId: "x.y", scheme: "n" }),
    of(http, {
      connectionId: "x.y",
      scheme: "n",
      payload: {},
    }),
  ],
  ["being parsed", of(stdio, auth), of(parseConnection(stdio), parseAuth(auth))],
  ["an undefined member", of(http, auth), of(http, { ...auth, payload: { ...auth.payload, x: undefined } })],
];
for (const [what, before, after] of SAME) {
  Deno.test(`12 connectionRuntimeFingerprint: does not change with ${what}`, () => assertEquals(after, before));
}

Deno.test("12 connectionRuntimeFingerprint: the order of keys does not matter (property)", () => {
  const dictionary = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/), fc.stringMatching(/^[ -~]{0,9}$/));
  const reversed = <T>(value: T): T => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).reverse().map(([key, item]) => [key, reversed(item)])) as T;
  };
  fc.assert(fc.property(dictionary, dictionary, fc.dictionary(fc.string(), fc.jsonValue()), (env, headers, payload) => {
    const own = { ...auth, payload: { ...payload, headers: {}, env: {}, token: "" } };
    for (
      const connection of [withTransport(stdio, { env }), withTransport(http, { headers: { "x-z": "1", ...headers } })]
    ) {
      let expected: string;
      try {
        expected = of(connection, own);
      } catch (error) {
        // A header of the protocol came out of the dice.
        assert(error instanceof McpRuntimeError);
        continue;
      }
      assertEquals(of(reversed(connection), reversed(own)), expected);
    }
  }));
});

Deno.test("connectionRuntimeFingerprint: 64 hexadecimal digits, nothing of a secret", () => {
  for (const fingerprint of [of(stdio, auth), of(http, auth), of(base)]) assertMatch(fingerprint, /^[0-9a-f]{64}$/);
});

Deno.test("connectionRuntimeFingerprint: a literal that changes is never remembered", () => {
  const connection = structuredClone(stdio);
  const before = of(connection);
  connection.transport.args.push("z");
  assertNotEquals(of(connection), before);
  const frozenShallow = Object.freeze(structuredClone(stdio));
  const first = of(frozenShallow);
  frozenShallow.transport.env.A = "9";
  assertNotEquals(of(frozenShallow), first);
});

Deno.test("connectionRuntimeFingerprint: a parsed connection is remembered for each auth record by itself", () => {
  const connection = parseConnection(stdio);
  const [one, two] = [parseAuth(auth), parseAuth({ ...auth, scheme: "two" })];
  const seen = [of(connection), of(connection, one), of(connection, two)];
  assertEquals(new Set(seen).size, 3);
  assertEquals([of(connection), of(connection, one), of(connection, two)], seen);
});

Deno.test("P19 connectionRuntimeFingerprint: values that JSON cannot carry are refused, naming the path", () => {
  for (const bad of [() => {}, new Date(0), 1n, NaN, new Map()]) {
    const action = () => of(http, { ...auth, payload: { deep: [bad] } });
    const error = assertThrows(action, McpRuntimeError, "payload.deep[0]");
    assertEquals(error.code, "CONNECTION_INVALID");
  }
});
