import { assert, assertEquals } from "@std/assert";
import { Redactor } from "../../runtime/secrets.ts";
import { parseChallenge } from "../../runtime/transport/challenge.ts";

const none = new Redactor([]);

Deno.test("parseChallenge: reads schemes, tokens and quoted strings", () => {
  const table: [string | null, Record<string, string> | undefined][] = [
    [null, undefined],
    ["", undefined],
    ["Bearer", { scheme: "Bearer" }],
    ['Bearer realm="x", error="invalid_token"', { scheme: "Bearer", error: "invalid_token" }],
    ["bearer ERROR=insufficient_scope,scope=a", { scheme: "bearer", error: "insufficient_scope", scope: "a" }],
    ['Bearer scope="a b", error_description="say \\"hi\\", please"', {
      scheme: "Bearer",
      scope: "a b",
      errorDescription: 'say "hi", please',
    }],
    ['Basic realm="a, Bearer error=fake"', { scheme: "Basic" }],
    ['Digest nonce="1", Bearer error="invalid_token"', { scheme: "Bearer", error: "invalid_token" }],
    ['Bearer resource_metadata="https://a.example/x"', {
      scheme: "Bearer",
      resourceMetadataUrl: "https://a.example/x",
    }],
    ['Bearer error="unterminated', { scheme: "Bearer" }],
  ];
  for (const [header, expected] of table) {
    const { ...seen } = parseChallenge(header, none) ?? {};
    assertEquals(Object.keys(seen).length === 0 ? undefined : seen, expected, String(header));
  }
});

Deno.test("parseChallenge: bounds and cleans what it read, in linear time", () => {
  const secret = "secret-token-value";
  const header = `Bearer error_description="\t${secret} ${"x".repeat(100_000)}", error="late"`;
  assertEquals(parseChallenge(header, new Redactor([secret])), { scheme: "Bearer" });
  const short = parseChallenge(`Bearer error_description="${secret}  ${"y".repeat(2_000)}"`, new Redactor([secret]));
  assert(short?.errorDescription?.startsWith("[redacted] y") && short.errorDescription.length <= 501);
  for (const evil of ['"'.repeat(8_000), "a=".repeat(4_000), ", ".repeat(4_000), "\\".repeat(8_000)]) {
    parseChallenge(`Bearer ${evil}`, none);
  }
});
