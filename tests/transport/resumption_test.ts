import { assertEquals, assertRejects } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { McpRuntimeError } from "../../runtime/errors.ts";
import { endpointOf } from "../../runtime/transport/endpoint.ts";
import type { ExchangeHost } from "../../runtime/transport/exchange.ts";
import { HttpFailures } from "../../runtime/transport/http_failures.ts";
import { HttpRequester } from "../../runtime/transport/http_requester.ts";
import { Resumption } from "../../runtime/transport/resumption.ts";
import { connectionTo } from "../fixtures/http/server.ts";

/** A resumption whose requests are counted and answered with an empty stream. */
function resumption() {
  const connection = connectionTo("http://127.0.0.1:9/mcp");
  const endpoint = endpointOf(connection.transport, null);
  const failures = new HttpFailures(connection, null, endpoint);
  const requests: (string | null)[] = [];
  const requester = new HttpRequester(endpoint, failures, undefined, (_url, init) => {
    requests.push(new Headers(init.headers).get("last-event-id"));
    return Promise.resolve(new Response("", { headers: { "content-type": "text/event-stream" } }));
  });
  const host = { requester, failures, headers: () => ({}), hasSession: true, onReceived: () => {} };
  return { requests, resumption: new Resumption(host as unknown as ExchangeHost, new AbortController().signal) };
}

Deno.test("H5 Resumption: waits as long as the server asks, but no longer than 30 s", async () => {
  using time = new FakeTime();
  for (const [asked, waited] of [[500, 500], [86_400_000, 30_000]]) {
    const { resumption: stream, requests } = resumption();
    stream.onId("7");
    stream.onRetry(asked);
    const rest = stream.next(undefined);
    await time.tickAsync(waited - 1);
    assertEquals(requests, []);
    await time.tickAsync(1);
    await rest;
    assertEquals(requests, ["7"]);
  }
});

Deno.test("H5 Resumption: an event id that no header has room for is not sent back", async () => {
  const { resumption: stream, requests } = resumption();
  stream.onId("7");
  stream.onId("8".repeat(1_025));
  const error = await assertRejects(() => stream.next(undefined), McpRuntimeError);
  assertEquals([error.code, error.delivery, requests], ["HTTP_ERROR", "unknown", []]);
});
