import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { deadline } from "@std/async";
import {
  fixture,
  fixtureConnection,
  isAlive,
  isGoneWithin,
  logFile,
  openFixture,
  RawConversation,
  serverArgs,
  stdioConnection,
} from "./stdio_harness.ts";

const BOUND_MS = 30_000;

/** Starts the server as a grandchild that shares the pipes of its wrapper, as `npx` and `sh -c` do. */
function wrapped(script: string, settings: Record<string, string | number>) {
  return stdioConnection({
    command: "/bin/sh",
    args: ["-c", script, "wrapper", Deno.execPath(), ...serverArgs(settings)],
  });
}

Deno.test("close ends a wrapper and the server below it that holds stdout and ignores stdin's end (S11)", async () => {
  await using conversation = new RawConversation(wrapped('"$@"; exit $?', { stdin: "ignore" }), {
    terminate: { stdinMs: 200, termMs: 5_000 },
  });
  await conversation.open();
  const server = await serverPid(conversation);
  const wrapper = conversation.transport.pid!;
  assert(server !== wrapper);
  const started = performance.now();
  await conversation.transport.close();
  assert(performance.now() - started < 5_000, "within the default budget");
  assertEquals([await isAlive(wrapper), await isAlive(server), conversation.closeEvents], [false, false, 1]);
});

Deno.test("close does not wait for the end of stdin to arrive when the pipe is full (S9, S12)", async () => {
  const conversation = new RawConversation(fixtureConnection(), { terminate: { stdinMs: 60_000 } });
  await conversation.open();
  await conversation.request(1, "tools/call", { name: "stop-reading", arguments: {} });
  const params = { name: "echo", arguments: { text: "x".repeat(8_000_000) } };
  const stuck = conversation.transport.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params }).catch(() =>
    "not taken"
  );
  await deadline(conversation.transport.close(), BOUND_MS);
  assertEquals(await stuck, "not taken");
});

Deno.test("a server that outlives its wrapper is ended, whether the wrapper was killed or exited cleanly (S11)", async () => {
  const script = `exec 3<&0; "$@" <&3 & trap 'exit 0' USR1; wait`;
  for (const signal of ["SIGKILL", "SIGUSR1"] as const) {
    await using conversation = new RawConversation(wrapped(script, { stdin: "ignore", term: "ignore" }), {
      terminate: { termMs: 200 },
    });
    await conversation.open();
    const server = await serverPid(conversation);
    Deno.kill(conversation.transport.pid!, signal);
    await deadline(conversation.closed, BOUND_MS);
    assertEquals(conversation.transport.lost?.code, "SESSION_LOST");
    await conversation.transport.close();
    assertEquals([await isAlive(server), conversation.closeEvents], [false, 1]);
  }
});

// setsid is a program of Linux.
Deno.test({
  name: "close gives up a pipe that a process outside the server's group holds (S11)",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    // setsid: a daemon that the server left behind on purpose. It is not ours to end, but it must not block the close.
    const say = 'echo "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"pid\\",\\"params\\":{\\"pid\\":$$}}"; exec sleep 20';
    const script = `SAY='${say}'; setsid sh -c "$SAY" & read line`;
    const conversation = new RawConversation(stdioConnection({ command: "/bin/sh", args: ["-c", script] }));
    const told = Promise.withResolvers<number>();
    conversation.transport.onmessage = (message) => {
      if ("params" in message) told.resolve(message.params?.pid as number);
    };
    await conversation.transport.start();
    const daemon = await deadline(told.promise, BOUND_MS);
    try {
      await deadline(conversation.transport.close(), BOUND_MS);
      assertEquals([await isAlive(conversation.transport.pid!), conversation.closeEvents], [false, 1]);
    } finally {
      Deno.kill(daemon, "SIGKILL");
    }
  },
});

Deno.test("a server that exits at stdin's end exits with 0 and sees no signal (S12)", async () => {
  assertEquals(await linesOfClose({}), ["start", "end of stdin", "exit 0"]);
});

Deno.test("a server that ignores stdin's end gets SIGTERM (S12)", async () => {
  assertEquals(await linesOfClose({ stdin: "ignore" }), ["start", "end of stdin", "SIGTERM", "exit 143"]);
});

Deno.test("a server that ignores stdin's end and SIGTERM gets SIGKILL (S12)", async () => {
  assertEquals(await linesOfClose({ stdin: "ignore", term: "ignore" }), ["start", "end of stdin", "SIGTERM ignored"]);
});

Deno.test("a stopped server is killed and reaped (S12)", async () => {
  const lines = await linesOfClose({}, (pid) => Deno.kill(pid, "SIGSTOP"), 200);
  assertEquals(lines, ["start"]);
});

Deno.test("parallel closes share one ladder (S12)", async () => {
  await using log = await logFile();
  const session = await openFixture(fixtureConnection({ log: log.path }));
  const closes = [session.transport.close(), session.transport.close()];
  assertStrictEquals(closes[0], closes[1]);
  await Promise.all([...closes, session.client.close()]);
  assertEquals((await log.lines()).filter((line) => line === "end of stdin").length, 1);
});

Deno.test("close never throws at the moment of the exit, 200 times (S13)", async () => {
  const connection = stdioConnection({ command: "/bin/sh", args: ["-c", "read line; exit 0"] });
  for (let i = 0; i < 200; i++) {
    const conversation = new RawConversation(connection);
    const { transport } = conversation;
    await transport.start();
    // The line makes the server exit. The close comes before, with or after the news of it.
    const sent = transport.send({ jsonrpc: "2.0", method: "go" }).catch(() => {});
    if (i % 4 === 1) await sent;
    if (i % 4 === 2) await isGoneWithin(transport.pid!, BOUND_MS);
    if (i % 4 === 3) await deadline(conversation.closed, BOUND_MS);
    await transport.close();
    await sent;
    assertEquals(conversation.closeEvents, 1);
  }
});

for (const ending of ["return", "exit", "throw", "reject", "SIGINT", "SIGTERM", "SIGKILL"]) {
  Deno.test(`nothing is left of a program that ends by ${ending} (S18)`, async () => {
    const wrapper = ["/bin/sh", "-c", '"$@"; exit $?', "wrapper"];
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const program = new Deno.Command(Deno.execPath(), {
      args: ["run", "--config", config, "-A", fixture("ending_client.ts"), ending, ...wrapper, Deno.execPath()].concat(
        serverArgs({ stdin: "ignore" }),
      ),
      // A group of its own: Ctrl-C in a terminal signals the foreground group, here the program's.
      detached: true,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = program.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await deadline(reader.read(), BOUND_MS);
    const { leader, server } = JSON.parse(value!);
    if (ending.startsWith("SIG")) {
      assertEquals([await isAlive(leader), await isAlive(server)], [true, true]);
      Deno.kill(ending === "SIGINT" ? -program.pid : program.pid, ending as Deno.Signal);
    }
    await deadline(program.status, BOUND_MS);
    await reader.cancel();
    assertEquals([await isGoneWithin(leader, 5_000), await isGoneWithin(server, 5_000)], [true, true]);
  });
}

for (const ending of ["return", "exit"]) {
  Deno.test(`nothing is left of a program without the right to signal groups that ends by ${ending} (S17)`, async () => {
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const permissions = ["--no-prompt", `--allow-run=${Deno.execPath()}`, "--allow-env=PATH,HOME"];
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--config", config, ...permissions, fixture("ending_client.ts"), ending, Deno.execPath()].concat(
        serverArgs({ stdin: "ignore" }),
      ),
    }).output();
    const { server } = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals(await isGoneWithin(server, 5_000), true);
  });
}

/** What a server with these settings logs from its start to the end of a close. */
async function linesOfClose(
  settings: Record<string, string>,
  before: (pid: number) => void = () => {},
  stepMs = 3_000,
) {
  await using log = await logFile();
  const session = await openFixture(fixtureConnection({ ...settings, log: log.path }), {
    // A step is only cut short for the servers that ignore it; the others are not hurried.
    terminate: {
      stdinMs: settings.stdin === "ignore" ? 100 : stepMs,
      termMs: settings.term === "ignore" ? 500 : stepMs,
    },
  });
  const { pid } = session.transport;
  before(pid!);
  await session.client.close();
  assertEquals(await isAlive(pid!), false);
  return (await log.lines()).map((line) => line.startsWith("start ") ? "start" : line);
}

async function serverPid(conversation: RawConversation): Promise<number> {
  const response = await conversation.request(1, "tools/call", { name: "pid", arguments: {} });
  return Number((response as unknown as { result: { content: { text: string }[] } }).result.content[0].text);
}
