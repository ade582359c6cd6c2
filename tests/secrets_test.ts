import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { McpRuntimeError } from "../runtime/errors.ts";
import { basicCredentials, excerpt, Redactor, redactorFor, safeCause, shortId, showUrl } from "../runtime/secrets.ts";

const none = new Redactor([]);

Deno.test("Redactor: removes each known value, the longest first, also percent-encoded and escaped as JSON", () => {
  const redactor = new Redactor(["secret", "secret-longer", "p@ss word", 'quo"ted\n']);
  assertEquals(redactor.redact("a secret-longer, a secret."), "a [redacted], a [redacted].");
  assertEquals(redactor.redact("p@ss word p%40ss%20word"), "[redacted] [redacted]");
  assertEquals(redactor.redact(JSON.stringify({ x: 'quo"ted\n' })), '{"x":"[redacted]"}');
});

Deno.test("Redactor: values below six characters are not looked for", () => {
  assertEquals(new Redactor(["12345", "", "true"]).redact("true 12345"), "true 12345");
  assertEquals(new Redactor(["123456"]).redact("0123456"), "0[redacted]");
});

Deno.test("Redactor: takes values as text, not as a pattern (property)", () => {
  fc.assert(fc.property(fc.string({ minLength: 6 }), fc.string(), fc.string(), (secret, before, after) => {
    assert(!new Redactor([secret]).redact(`${before}${secret}${after}`).includes(secret));
  }));
});

Deno.test("Redactor.redactJson: strings and keys at any depth, other values as they are", () => {
  const redactor = new Redactor(["secret"]);
  assertEquals(redactor.redactJson({ a: ["my secret", 5, null, true, { secret: "x" }] }), {
    a: ["my [redacted]", 5, null, true, { "[redacted]": "x" }],
  });
});

Deno.test("redactorFor: env of a stdio connection and every text of the auth payload", () => {
  const redactor = redactorFor(
    {
      id: "a.b",
      provider: "a",
      account: "b",
      transport: { kind: "stdio", command: "visible", args: ["visible-arg"], env: { K: "env-secret" } },
    },
    { connectionId: "a.b", scheme: "visible-scheme", payload: { deep: [{ x: "deep-secret" }], token: "tok-secret" } },
    ["more-secret"],
  );
  assertEquals(
    redactor.redact("env-secret deep-secret tok-secret more-secret visible visible-arg visible-scheme"),
    "[redacted] [redacted] [redacted] [redacted] visible visible-arg visible-scheme",
  );
});

for (const [form, lineEnd] of [["line breaks", "\n"], ["line breaks written out", "\\n"]]) {
  Deno.test(`redactorFor: each line of a value with ${form}`, () => {
    const env = { PEM: ["-----BEGIN KEY-----", "bGluZS1vbmU", "bGluZS10d28", "end"].join(lineEnd) };
    const transport = { kind: "stdio" as const, command: "c", env };
    const redactor = redactorFor({ id: "a.b", provider: "a", account: "b", transport }, null);
    assertEquals(redactor.redact("read bGluZS1vbmU\r\nbGluZS10d28\r\nend"), "read [redacted]\r\n[redacted]\r\nend");
  });
}

Deno.test("redactorFor: headers, their credentials alone, user info in every form, the query", () => {
  const redactor = redactorFor({
    id: "a.b",
    provider: "a",
    account: "b",
    transport: {
      kind: "http",
      url: "https://user-name:pass%20word@example.com/visible?key=query-secret&n=1",
      headers: { authorization: "Bearer header-secret", "x-key": "plain-secret" },
    },
  }, null);
  const said = "header-secret plain-secret user-name pass word pass%20word query-secret key=query-secret&n=1 " +
    `${basicCredentials("user-name", "pass%20word")} https://example.com/visible`;
  const shown = redactor.redact(said);
  assertEquals(shown.replaceAll("[redacted]", "").trim(), "https://example.com/visible");
});

Deno.test("showUrl: origin and path; no user info, query or fragment; a text that is no URL is not shown", () => {
  assertEquals(showUrl("https://user:pass@example.com:8443/a/b?key=v#frag"), "https://example.com:8443/a/b");
  assert(!showUrl("not a url with secret").includes("secret"));
});

Deno.test("excerpt: one line, bounded, without control characters", () => {
  assertEquals(excerpt("a\r\n\tb\u0000\u001b[31m c\u2028d\u0085e  f", none), "a b [31m c d e f");
  assertEquals(excerpt("x".repeat(500), none), `${"x".repeat(200)}…`);
  assertEquals(excerpt("abc", none, 2), "ab…");
});

Deno.test("excerpt: a secret is removed also where the cut goes through it (property)", () => {
  const secret = "0123456789abcdef";
  const redactor = new Redactor([secret]);
  const filler = fc.constantFrom("-", " ", "\n");
  fc.assert(fc.property(filler, fc.nat(300), fc.integer({ min: 1, max: 60 }), (fill, before, maxLength) => {
    const shown = excerpt(`${fill.repeat(before)}${secret}${"-".repeat(50)}`, redactor, maxLength);
    for (let at = 0; at + 6 <= secret.length; at++) assert(!shown.includes(secret.slice(at, at + 6)), shown);
  }));
});

Deno.test("safeCause: name, cleaned message and code; no stack of its own; nested causes, bounded", () => {
  const error = Object.assign(new TypeError("bad secret-value at https://u:p@host/path?q=1"), { code: "ECONNREFUSED" });
  error.cause = new Error("below: secret-value", { cause: "secret-value" });
  const safe = safeCause(error, new Redactor(["secret-value"])) as Error & { code: string };
  assertEquals(String(safe), "TypeError: bad [redacted] at https://host/path");
  assertEquals(safe.code, "ECONNREFUSED");
  assertEquals(String(safe.cause), "Error: below: [redacted]");
  assertEquals((safe.cause as Error).cause, "[redacted]");
  assert(!Deno.inspect(safe).includes("secret-value"));
  let endless = new Error("0");
  for (let n = 1; n < 100; n++) endless = new Error(`${n}`, { cause: endless });
  let depth = 0;
  for (let at: unknown = safeCause(endless, none); at instanceof Error; at = at.cause) depth++;
  assertEquals(depth, 4);
});

Deno.test("safeCause: our own error stays, anything else is told by its kind alone", () => {
  const own = new McpRuntimeError("m", { code: "HTTP_ERROR" });
  assertStrictEquals(safeCause(own, none), own);
  assertEquals(safeCause({ secret: "x" }, none), "object");
  assertEquals(safeCause(undefined, none), "undefined");
});

Deno.test("shortId: eight characters at most, never the whole of a short one", () => {
  assertEquals(shortId("0123456789abcdef"), "01234567…");
  assertEquals(shortId("abcdef"), "ab…");
});
