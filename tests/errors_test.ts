import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "@std/assert";
import * as errors from "../runtime/errors.ts";
import {
  AuthRejectedError,
  BackoffError,
  HttpError,
  type McpErrorCode,
  type McpErrorInit,
  McpRuntimeError,
  McpTimeoutError,
  ProcessError,
  RpcError,
} from "../runtime/errors.ts";

/** Red? Codes are public: docs/errors.md and CHANGELOG.md change with them. The type below lists them all, or is red. */
const CODES = {
  CONNECTION_INVALID: true,
  INPUT_INVALID: true,
  NO_TRANSPORT: true,
  OPEN_FAILED: true,
  SESSION_CLOSED: true,
  SESSION_LOST: true,
  CALL_TIMEOUT: true,
  QUEUE_TIMEOUT: true,
  QUEUE_FULL: true,
  POOL_CLOSED: true,
  AUTH_REJECTED: true,
  HTTP_ERROR: true,
  PROTOCOL_ERROR: true,
  MESSAGE_TOO_LARGE: true,
  UNSUPPORTED: true,
} satisfies Record<McpErrorCode, true>;

Deno.test("McpErrorCode: the codes are pinned, and design and types agree", () => {
  const codes: Record<McpErrorCode, true> = CODES;
  assertEquals(Object.keys(codes).length, 15);
});

const base: McpErrorInit = { code: "OPEN_FAILED", delivery: "unknown", connectionId: "a.b", cause: new Error("why") };
const EVERY: [string, McpRuntimeError, Record<string, unknown>][] = [
  ["McpRuntimeError", new McpRuntimeError("m", base), {}],
  [
    "ProcessError",
    new ProcessError("m", { ...base, phase: "handshake", exitCode: 3, signal: null, stderrTail: "tail" }),
    { phase: "handshake", exitCode: 3, signal: null, stderrTail: "tail" },
  ],
  [
    "HttpError",
    new HttpError("m", { ...base, status: 502, mediaType: "text/html", excerpt: "Bad" }),
    { status: 502, mediaType: "text/html", excerpt: "Bad" },
  ],
  ["RpcError", new RpcError("m", { ...base, rpcCode: 0, data: { a: 1 } }), { rpcCode: 0, data: { a: 1 } }],
  ["McpTimeoutError", new McpTimeoutError("m", { ...base, elapsedMs: 1, limitMs: 2 }), { elapsedMs: 1, limitMs: 2 }],
  ["BackoffError", new BackoffError("m", { ...base, retryAfterMs: 7 }), { retryAfterMs: 7 }],
  [
    "AuthRejectedError",
    new AuthRejectedError("m", {
      ...base,
      status: 401,
      challenge: { scheme: "Bearer" },
      authorizationUrl: "https://a/",
    }),
    { status: 401, challenge: { scheme: "Bearer" }, authorizationUrl: "https://a/" },
  ],
];

Deno.test("errors.ts: every class is listed here", () => {
  assertEquals(Object.keys(errors).sort(), EVERY.map(([name]) => name).sort());
});

for (const [name, error, details] of EVERY) {
  Deno.test(`${name}: carries code, delivery, connection, cause and its details, and is an McpRuntimeError`, () => {
    assertInstanceOf(error, McpRuntimeError);
    assertInstanceOf(error, Error);
    assertEquals([error.name, error.message, error.code, error.delivery], [name, "m", "OPEN_FAILED", "unknown"]);
    assertEquals([error.connectionId, String(error.cause)], ["a.b", "Error: why"]);
    for (const [key, value] of Object.entries(details)) assertEquals(Reflect.get(error, key), value);
  });

  Deno.test(`${name}.toJSON: everything a log needs, as JSON`, () => {
    assertEquals(JSON.parse(JSON.stringify(error)), {
      name,
      code: "OPEN_FAILED",
      message: "m",
      delivery: "unknown",
      connectionId: "a.b",
      ...details,
      cause: "Error: why",
    });
  });

  Deno.test(`${name}.withDelivery: same class and details, its own delivery, the first telling as cause`, () => {
    const copy = error.withDelivery("not-sent");
    assertStrictEquals(copy.constructor, error.constructor);
    assertEquals([copy.code, copy.delivery, copy.message, copy.connectionId], ["OPEN_FAILED", "not-sent", "m", "a.b"]);
    assertStrictEquals(copy.cause, error);
    for (const [key, value] of Object.entries(details)) assertEquals(Reflect.get(copy, key), value);
    assertStrictEquals(error.withDelivery("unknown"), error);
    assertStrictEquals(copy.withDelivery("unknown"), error);
    assertStrictEquals(copy.withDelivery("answered").cause, error);
  });

  Deno.test(`${name}.restate: changes what is told, keeps the rest, points to the first telling`, () => {
    const copy = error.restate({ code: "SESSION_LOST", message: "again" });
    assertEquals([copy.code, copy.delivery, copy.message], ["SESSION_LOST", "unknown", "again"]);
    assertStrictEquals(copy.constructor, error.constructor);
    assertStrictEquals(copy.cause, error);
    for (const [key, value] of Object.entries(details)) assertEquals(Reflect.get(copy, key), value);
  });
}

Deno.test("McpRuntimeError: delivery is not-sent unless said; what is absent is absent", () => {
  const error = new McpRuntimeError("m", { code: "QUEUE_FULL" });
  assertEquals(error.delivery, "not-sent");
  assert(!("cause" in error));
  assertEquals(error.connectionId, undefined);
  assertEquals(Object.keys(error.toJSON()), ["name", "code", "message", "delivery"]);
});

Deno.test("McpRuntimeError.withDelivery: telling it on and on never piles up causes", () => {
  const first = new McpRuntimeError("m", { code: "SESSION_LOST", delivery: "unknown" });
  let told = first;
  for (let n = 0; n < 100; n++) told = told.withDelivery(n % 2 === 0 ? "not-sent" : "answered");
  assertStrictEquals(told.cause, first);
});
