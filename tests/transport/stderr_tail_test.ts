import { assert, assertEquals, assertFalse } from "@std/assert";
import { Redactor } from "../../runtime/secrets.ts";
import { StderrLines, StderrTail } from "../../runtime/transport/stderr_tail.ts";

const encoder = new TextEncoder();

Deno.test("StderrTail keeps the end and drops the rest (S8)", () => {
  const tail = new StderrTail(100, new Redactor([]));
  for (let i = 0; i < 1_000; i++) tail.push(encoder.encode(`line ${i}\n`));
  assert(tail.text().endsWith("line 998\nline 999"));
  assert(encoder.encode(tail.text()).length <= 100);
});

Deno.test("StderrTail takes a chunk larger than all it keeps", () => {
  const tail = new StderrTail(100, new Redactor([]));
  tail.push(encoder.encode("x".repeat(5_000) + "the end"));
  assert(tail.text().endsWith("xthe end"));
});

Deno.test("StderrTail removes a secret that is split over chunks", () => {
  const tail = new StderrTail(200, new Redactor(["s3cret-value"]));
  for (const part of ["token is s3c", "ret-v", "alue, sorry"]) tail.push(encoder.encode(part));
  assertEquals(tail.text(), "token is [redacted], sorry");
});

Deno.test("StderrTail never shows a part of a secret, wherever its memory begins", () => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const pairs = [...letters, ...letters].map((letter, at) => letter + at).join("");
  // Of the long one so little is left by the masks that the beginning of the memory is shown.
  for (const [secret, limit] of [[letters, 64], [pairs, 200]] as const) {
    for (let shift = 0; shift < 60; shift++) {
      const tail = new StderrTail(limit, new Redactor([secret, "GHIJKL"]));
      tail.push(encoder.encode(secret.repeat(40) + ".".repeat(shift)));
      assertFalse(/[A-Z0-9]/.test(tail.text()), `shift ${shift}: ${tail.text()}`);
    }
  }
});

Deno.test("StderrLines hands on whole lines without secrets, and the last one at the end", () => {
  const lines: string[] = [];
  const stderr = new StderrLines(new Redactor(["s3cret-value"]), (line) => lines.push(line));
  for (const part of ["one\r\ntwo s3cret", "-value\nthr", "ee"]) stderr.push(encoder.encode(part));
  assertEquals(lines, ["one", "two [redacted]"]);
  stderr.end();
  assertEquals(lines, ["one", "two [redacted]", "three"]);
});

Deno.test("StderrLines hands an endless line on in pieces, and no part of a secret in it", () => {
  const lines: string[] = [];
  const secret = "ABCDEFGHIJ".repeat(20);
  const stderr = new StderrLines(new Redactor([secret]), (line) => lines.push(line));
  const text = (".".repeat(37) + secret).repeat(500);
  for (let at = 0; at < text.length; at += 1_000) stderr.push(encoder.encode(text.slice(at, at + 1_000)));
  stderr.end();
  assert(lines.length > 1);
  assert(lines.every((line) => line.length <= 8 * 1024));
  assertEquals(lines.join(""), (".".repeat(37) + "[redacted]").repeat(500));
});
