import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { McpRuntimeError, McpRuntimePool, McpTimeoutError, PersistentSessionFactory, ProcessError } from "../../mod.ts";
import { fromFileUrl } from "./file_url.ts";
import { fixtureConnection, isAlive, logFile, openFixture, RawConversation, stdioConnection } from "./stdio_harness.ts";

/** Far beyond what any test needs; a hang fails instead of blocking the run. */
const BOUND_MS = 30_000;

Deno.test("StdioTransport skips and counts lines that are no messages; calls work between them (S5)", async () => {
  await using session = await openFixture(fixtureConnection({ noise: 1 }));
  assertEquals(await session.call("echo", { text: "one" }), "one");
  const { skippedLines } = session.transport;
  assertEquals(await session.call("echo", { text: "two" }), "two");
  // starting… {"level":"info"} 42 { "pretty": [1, 2] {"jsonrpc":"2.0"}; the empty line is not counted.
  assertEquals(session.transport.skippedLines - skippedLines, 7);
  assertMatch(session.errors[0].message, /skipped a line of stdout that is no message: "starting…"/);
});

Deno.test("StdioTransport reads answers that end with CRLF and come one byte a write (S6)", async () => {
  for (const settings of [{ crlf: 1 }, { dribble: 1 }, { crlf: 1, dribble: 1 }] as Record<string, number>[]) {
    await using session = await openFixture(fixtureConnection(settings));
    assertEquals(await session.call("echo", { text: "—🙂é" }), "—🙂é");
  }
});

Deno.test("StdioTransport receives one 64 MiB answer in linear time when maxMessageBytes is raised (S7)", async () => {
  // The benchmark's server: it builds its answer once, so that the time is the pipe's and ours.
  const server = fromFileUrl(new URL("../bench/stdio_server.mjs", import.meta.url));
  const connection = stdioConnection({ command: Deno.execPath(), args: ["run", "--no-config", "-A", server] });
  await using session = await openFixture(connection, { maxMessageBytes: 256 * 1024 * 1024 });
  const timeOf = async (length: number) => {
    const started = performance.now();
    assertEquals((await session.call("large", { length })).length, length);
    return performance.now() - started;
  };
  const mib = 1024 * 1024;
  await timeOf(8 * mib);
  const small = Math.min(await timeOf(8 * mib), await timeOf(8 * mib), await timeOf(8 * mib));
  const large = Math.min(await timeOf(64 * mib), await timeOf(64 * mib));
  // Eight times the length: linear costs 8 times, quadratic 64; a busy machine is given three times the linear cost.
  assert(large < 24 * small, `8 MiB took ${small} ms, 64 MiB ${large} ms`);
});

Deno.test("an answer beyond maxMessageBytes fails its call as answered; the session lives on (S7)", async () => {
  await using session = await openFixture(fixtureConnection(), { maxMessageBytes: 100_000 });
  const error = await assertRejects(() => session.call("large", { length: 1_000_000 }), McpRuntimeError);
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "answered"]);
  assertStringIncludes(error.message, "100000");
  assertEquals(await session.call("echo", { text: "still here" }), "still here");
});

Deno.test("of several calls in flight the one with the oversized answer fails, found by the id at its end (S7)", async () => {
  await using session = await openFixture(fixtureConnection(), { maxMessageBytes: 100_000 });
  const results = await Promise.allSettled([
    session.call("echo", { text: "before" }),
    session.call("large", { length: 1_000_000 }),
    session.call("echo", { text: "after" }),
  ]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
});

Deno.test("a line without end fails the running call, in bounded memory, and is thrown away as it comes (S7)", async () => {
  await using session = await openFixture(fixtureConnection(), { maxMessageBytes: 1_000_000 });
  const before = Deno.memoryUsage().rss;
  const error = await assertRejects(
    () => deadline(session.call("endless", { bytes: 300_000_000 }), BOUND_MS),
    McpRuntimeError,
  );
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "answered"]);
  // The server goes on writing 300 MB, ends the line with its next answer's start, and only then reads on.
  await session.client.callTool("endless", { bytes: 0, finish: true }, { timeoutMs: 1 }).catch(() => {});
  assertEquals(await deadline(session.call("echo", { text: "lives" }), BOUND_MS), "lives");
  const growth = Deno.memoryUsage().rss - before;
  assert(growth < 100_000_000, `grew by ${growth} bytes`);
});

Deno.test("an answer without end, whose id would have come last, fails the running call within seconds (S7)", async () => {
  await using session = await openFixture(fixtureConnection(), { maxMessageBytes: 100_000 });
  const error = await assertRejects(
    () => deadline(session.call("endless", { bytes: 200_000, answer: true }), BOUND_MS),
    McpRuntimeError,
  );
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "answered"]);
});

Deno.test("a message of ours beyond maxMessageBytes is refused before anything is written (S7)", async () => {
  await using session = await openFixture(fixtureConnection(), { maxMessageBytes: 10_000 });
  // 4,000 characters of three bytes: the limit counts bytes.
  const error = await assertRejects(() => session.call("echo", { text: "—".repeat(4_000) }), McpRuntimeError);
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "not-sent"]);
  assertEquals(await session.call("size", { text: "x".repeat(4_000) }), "4011");
});

Deno.test("a message of ours that no text can hold is refused, and the session lives on (S7)", async () => {
  await using session = await openFixture(fixtureConnection());
  const params = { toJSON: () => "x".repeat(2 ** 30) }; // A RangeError, as from arguments of 512 MiB and more.
  const message = { jsonrpc: "2.0" as const, id: 9, method: "tools/call", params };
  const error = await assertRejects(() => session.transport.send(message), McpRuntimeError);
  assertEquals([error.code, error.delivery], ["MESSAGE_TOO_LARGE", "not-sent"]);
  assertEquals(await session.call("echo", { text: "lives" }), "lives");
});

Deno.test("a tool may write 2.5 MB to stderr; the tail is kept and the rest dropped (S8)", async () => {
  await using session = await openFixture(fixtureConnection());
  assertEquals(await session.call("stderr", { bytes: 2_500_000 }), "written");
  const error = await assertRejects(() => session.call("exit", { code: 3, stderr: "the last word" }), ProcessError);
  assert(error.stderrTail.endsWith("eeee\nthe last word"));
  assert(error.stderrTail.length <= 8 * 1024 && error.stderrTail.length > 8_000);
});

Deno.test("64 KB of stderr while idle do not block the server (S8)", async () => {
  await using conversation = new RawConversation(fixtureConnection());
  const notified = Promise.withResolvers<void>();
  await conversation.open();
  const { onmessage } = conversation.transport;
  conversation.transport.onmessage = (message) => {
    if (!("id" in message)) notified.resolve();
    onmessage?.(message);
  };
  await conversation.request(1, "tools/call", { name: "stderr-later", arguments: { bytes: 65_536 } });
  conversation.transport.unref();
  // The server notifies when it has written all of it.
  await deadline(notified.promise, BOUND_MS);
});

Deno.test("the stderr option hands each line to a callback, without secrets", async () => {
  const lines: string[] = [];
  const connection = stdioConnection({
    command: "/bin/sh",
    args: ["-c", 'echo one >&2; echo "two $TOKEN" >&2; printf three >&2; exit 1'],
    env: { TOKEN: "tok-12345678" },
  });
  await assertRejects(() => openFixture(connection, { stderr: (line) => void lines.push(line) }), ProcessError);
  assertEquals(lines, ["one", "two [redacted]", "three"]);
});

Deno.test("an argument of 8 MB to a server that stops reading is rejected soon after the server exits (S9)", async () => {
  await using session = await openFixture(fixtureConnection());
  assertEquals(await session.call("stop-reading", { exitAfterMs: 800 }), "stopped");
  const sent = deadline(session.call("echo", { text: "x".repeat(8_000_000) }), BOUND_MS);
  const queued = deadline(session.call("echo", { text: "behind it" }), BOUND_MS);
  const [first, second] = await Promise.all([
    assertRejects(() => sent, ProcessError),
    assertRejects(() => queued, ProcessError),
  ]);
  assertEquals([first.code, first.delivery, first.exitCode], ["SESSION_LOST", "unknown", 5]);
  assertEquals([second.code, second.delivery, second.exitCode], ["SESSION_LOST", "not-sent", 5]);
});

Deno.test("an argument of 8 MB to a server that never reads again ends at the deadline; later calls go on (S9)", async () => {
  const connection = fixtureConnection();
  const factory = new PersistentSessionFactory({ terminate: { termMs: 2_000 } });
  await using pool = new McpRuntimePool(factory);
  await pool.callTool(connection, null, "stop-reading", {});
  const text = "x".repeat(8_000_000);
  const error = await assertRejects(
    () => pool.callTool(connection, null, "echo", { text }, { timeoutMs: 300 }),
    McpTimeoutError,
  );
  assertEquals([error.code, error.delivery], ["CALL_TIMEOUT", "unknown"]);
  // The pipe stays full; the next call ends at its own deadline, and the session with it.
  await assertRejects(
    () =>
      deadline(pool.callTool(connection, null, "echo", { text: "b" }, { timeoutMs: 300, retry: "never" }), BOUND_MS),
    McpRuntimeError,
  );
  const result = await deadline(pool.callTool(connection, null, "echo", { text: "c" }), BOUND_MS);
  assertEquals([result.content, result.session], [[{ type: "text", text: "c" }], { generation: 2 }]);
});

Deno.test("a call behind a full pipe ends at its deadline as not sent (S9)", async () => {
  await using session = await openFixture(fixtureConnection(), { terminate: { stdinMs: 100 } });
  await session.call("stop-reading");
  const stuck = session.call("echo", { text: "x".repeat(8_000_000) }, { timeoutMs: 300 });
  const behind = session.call("echo", { text: "y" }, { timeoutMs: 300 });
  const [first, second] = await Promise.all(
    [stuck, behind].map((call) => assertRejects(() => deadline(call, BOUND_MS), McpTimeoutError)),
  );
  assertEquals([first.code, first.delivery], ["CALL_TIMEOUT", "unknown"]);
  assertEquals([second.code, second.delivery], ["CALL_TIMEOUT", "not-sent"]);
});

Deno.test("cancel withdraws a request that waits behind a full pipe (S9)", async () => {
  await using conversation = new RawConversation(fixtureConnection(), { terminate: { stdinMs: 100 } });
  await conversation.open();
  await conversation.request(1, "tools/call", { name: "stop-reading", arguments: {} });
  const { transport } = conversation;
  const sent: number[] = [];
  const send = (id: number, text: string) =>
    transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "echo", arguments: { text } } }, {
      onsent: () => sent.push(id),
    });
  const stuck = send(2, "x".repeat(8_000_000));
  const waiting = send(3, "y");
  transport.cancel(3);
  const withdrawn = await assertRejects(() => waiting, McpRuntimeError);
  assertEquals(withdrawn.delivery, "not-sent");
  const ended = assertRejects(() => stuck, McpRuntimeError);
  await transport.close();
  assertEquals((await ended).delivery, "unknown");
  assertEquals(sent, [2]);
});

Deno.test("each call settles once when the child exits at once, after initialize, or while a request is written (S10)", async () => {
  const sh = (script: string) => stdioConnection({ command: "/bin/sh", args: ["-c", script] });
  const atOnce = await assertRejects(() => openFixture(sh("exit 0")), ProcessError);
  assertEquals([atOnce.code, atOnce.exitCode], ["OPEN_FAILED", 0]);

  for (let i = 0; i < 5; i++) {
    const session = await openFixture(fixtureConnection({ init: "exit" })).catch((error) => error);
    if (session instanceof Error) {
      // The exit overtook `notifications/initialized`.
      assertEquals((session as McpRuntimeError).code, "OPEN_FAILED");
      continue;
    }
    const error = await assertRejects(() => session.call("echo"), ProcessError);
    assertEquals(error.code, "SESSION_LOST");
    await session.client.close();
  }

  const reads = sh(
    'read line; echo \'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},' +
      '"serverInfo":{"name":"x","version":"1"}}}\'; read line; head -c 100000 >/dev/null; exit 7',
  );
  await using session = await openFixture(reads);
  const error = await assertRejects(() => session.call("echo", { text: "x".repeat(8_000_000) }), ProcessError);
  assertEquals([error.code, error.delivery, error.exitCode], ["SESSION_LOST", "unknown", 7]);
});

Deno.test("a server that closes its stdout but lives is lost, and ended (S10)", async () => {
  const connection = stdioConnection({
    command: "/bin/sh",
    args: ["-c", "exec >&-; while read line; do :; done; sleep 60"],
  });
  const conversation = new RawConversation(connection);
  await conversation.transport.start();
  const pid = conversation.transport.pid!;
  await deadline(conversation.closed, BOUND_MS);
  assertMatch(conversation.transport.lost!.message, /server closed its stdout before its handshake was over/);
  await conversation.transport.close();
  assertEquals([await isAlive(pid), conversation.closeEvents], [false, 1]);
});

Deno.test("an answer that is written just before the exit counts, 50 of 50 (S14)", async () => {
  const connection = fixtureConnection();
  for (let i = 0; i < 50; i++) {
    await using session = await openFixture(connection);
    assertEquals(await session.call("answer-and-exit"), "last words");
  }
});

Deno.test("an answer that is written after the exit, while stdout is still busy, counts (S14)", async () => {
  await using session = await openFixture(fixtureConnection());
  assertEquals(await session.call("exit-before-heir-answers"), "last words of the heir");
});

Deno.test("an answer that the server exits behind without ending its line counts (S14)", async () => {
  await using session = await openFixture(fixtureConnection());
  assertEquals(await session.call("answer-and-exit", { unended: true }), "last words");
});

Deno.test("a server that left somebody who writes for ever is told as ended all the same (S11)", async () => {
  await using session = await openFixture(fixtureConnection());
  const heirs = deadline(session.call("exit-before-heir-answers", { afterMs: 60_000 }), BOUND_MS);
  assertEquals((await assertRejects(() => heirs, ProcessError)).exitCode, 0);
});

Deno.test("a server that exits during a call, or while idle, tells code and tail; the next call opens anew (S4)", async () => {
  const connection = fixtureConnection();
  const lost: string[] = [];
  const lostAgain = Promise.withResolvers<void>();
  await using pool = new McpRuntimePool(undefined, {
    onEvent: (event) => {
      if (event.type !== "session-lost") return;
      lost.push(event.type);
      if (lost.length === 2) lostAgain.resolve();
    },
  });
  const error = await assertRejects(
    () => pool.callTool(connection, null, "exit", { code: 3, stderr: "missing API key" }),
    ProcessError,
  );
  assertEquals([error.code, error.delivery, error.phase, error.exitCode, error.stderrTail], [
    "SESSION_LOST",
    "unknown",
    "call",
    3,
    "missing API key",
  ]);
  await pool.callTool(connection, null, "exit-later", { code: 3, stderr: "missing API key" });
  await deadline(lostAgain.promise, BOUND_MS);
  const result = await pool.callTool(connection, null, "echo", { text: "again" });
  assertEquals(result.session, { generation: 3 });
});

Deno.test("the cause of a loss while idle says so (S4)", async () => {
  const conversation = new RawConversation(fixtureConnection());
  await conversation.open();
  conversation.transport.unref();
  conversation.transport.ref();
  await conversation.request(1, "tools/call", {
    name: "exit-later",
    arguments: { code: 3, stderr: "missing API key" },
  });
  conversation.transport.unref();
  // An idle transport does not keep the program alive, so the test does.
  const alive = setInterval(() => {}, 1_000);
  await deadline(conversation.closed, BOUND_MS);
  clearInterval(alive);
  const lost = conversation.transport.lost as ProcessError;
  assertEquals([lost.code, lost.phase, lost.exitCode, lost.stderrTail], ["SESSION_LOST", "idle", 3, "missing API key"]);
  assertMatch(lost.message, /exited with code 3 while idle: missing API key$/);
  await conversation.transport.close();
  assertEquals(conversation.closeEvents, 1);
});

Deno.test("received grows with every chunk of stdout", async () => {
  await using session = await openFixture(fixtureConnection());
  const before = session.transport.received;
  await session.call("echo");
  assert(session.transport.received > before);
});

Deno.test("send before start and after close is refused as not sent", async () => {
  const { transport } = new RawConversation(fixtureConnection());
  const message = { jsonrpc: "2.0" as const, method: "notifications/x" };
  const before = await assertRejects(() => transport.send(message), McpRuntimeError);
  assertEquals([before.code, before.delivery], ["SESSION_CLOSED", "not-sent"]);
  await transport.close();
  const after = await assertRejects(() => transport.send(message), McpRuntimeError);
  assertEquals([after.code, after.delivery], ["SESSION_CLOSED", "not-sent"]);
  await assertRejects(() => transport.start(), McpRuntimeError, "transport is closed");
});

Deno.test("what a callback throws is told to onerror and ends nothing", async () => {
  await using conversation = new RawConversation(fixtureConnection());
  await conversation.open();
  const errors: Error[] = [];
  const { onmessage } = conversation.transport;
  conversation.transport.onerror = (error) => errors.push(error);
  conversation.transport.onmessage = (message) => {
    onmessage?.(message);
    throw new Error("listener failed");
  };
  await conversation.request(1, "ping");
  await conversation.request(2, "ping");
  assertEquals(errors.map(({ message }) => message), ["listener failed", "listener failed"]);
});

Deno.test("close during start ends the child and rejects the start", async () => {
  await using log = await logFile();
  const conversation = new RawConversation(fixtureConnection({ log: log.path }));
  const starting = assertRejects(() => conversation.transport.start(), McpRuntimeError);
  await conversation.transport.close();
  assertEquals((await starting).code, "SESSION_CLOSED");
  assertEquals([conversation.closeEvents, conversation.transport.pid === undefined], [1, false]);
  assertEquals(await isAlive(conversation.transport.pid!), false);
});
