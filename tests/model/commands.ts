/**
 * The commands of the model, their arbitraries, and one run of a sequence of them.
 *
 * @module
 */
import fc from "fast-check";
import { KEYS, type Policy, World } from "./world.ts";

const key = fc.nat(KEYS.length - 1);
const which = fc.nat(50);
const config = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });
const callFields = {
  key,
  config,
  signal: fc.constantFrom("none" as const, "own" as const, "shared" as const),
  timeoutMs: fc.constantFrom(0, 500, 60_000),
  queueTimeoutMs: fc.constantFrom(0, 0, 300),
  retry: fc.constantFrom("if-unsent" as const, "if-unsent" as const, "never" as const, "idempotent" as const),
  expect: fc.constantFrom(0, 0, 0, 0, 1, 2),
};

const command = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("call" as const), ...callFields }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("call in event" as const), ...callFields }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      which,
      how: fc.constantFrom("ok" as const, "ok" as const, "error" as const, "rpc error" as const),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "progress" as const,
        "late answer" as const,
        "abort" as const,
        "abort shared" as const,
        "crash" as const,
        "break" as const,
        "late close" as const,
        "admit" as const,
        "close by holder" as const,
      ),
      which,
    }),
  },
  // Of its own: what it leads to, a successor beside a session whose end comes late, is rare enough.
  { weight: 4, arbitrary: fc.record({ do: fc.constant("forget" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("hold" as const, "close connection" as const), key, config }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("server" as const),
      key,
      opening: fc.constantFrom(
        "good" as const,
        "good" as const,
        "refuses" as const,
        "silent" as const,
        "held" as const,
      ),
      closing: fc.constantFrom("quick" as const, "slow" as const, "slow" as const, "stuck" as const, "throws" as const),
      stalled: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("tick" as const),
      ms: fc.constantFrom(1, 50, 200, 400, 1_000, 5_000, 40_000),
    }),
  },
);

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** One sequence: a policy, commands, each with the turns of the microtask queue after it, and an end. */
export const sequence = fc.record({
  policy: fc.record({
    concurrency: fc.constantFrom(1, 1, 2),
    maxQueuedCalls: fc.constantFrom(1_000, 1_000, 2),
    idleTimeoutMs: fc.constantFrom(0, 1_000),
    maxSessions: fc.constantFrom(0, 1, 2, 3),
    maxLifetimeMs: fc.constantFrom(0, 0, 3_000),
  }),
  steps: fc.array(fc.record({ command, turns: fc.constantFrom(0, 1, 2, 3, 5, 8, 13, -1, -1, -1, -1, -1) }), {
    minLength: 3,
    maxLength: 40,
    size: "max",
  }),
  end: fc.constantFrom("settle" as const, "settle" as const, "closeAll" as const, "abort" as const),
});

/** What a run is made of; a regression test keeps one as it was printed. */
export type Sequence = typeof sequence extends fc.Arbitrary<infer T> ? T : never;

/**
 * Runs one sequence.
 *
 * @param input policy, commands and end
 * @param seen gets how often each thing happened
 * @throws {Error} the rules that were broken
 */
export async function runSequence(input: Sequence, seen: Record<string, number> = {}): Promise<void> {
  const world = new World(input.policy as Policy);
  const broken = () => {
    if (world.problems.length > 0) throw new Error([...new Set(world.problems)].join("\n"));
  };
  try {
    for (const { command, turns } of input.steps) {
      await perform(world, command);
      if (turns >= 0) await world.clock.turns(turns);
      else {
        await world.clock.settle();
        world.check();
      }
      broken();
    }
    await world.clock.settle();
    world.check();
    broken();
    await finish(world, input.end);
    world.checkEnd();
    broken();
  } finally {
    for (const [what, count] of Object.entries(world.seen)) seen[what] = (seen[what] ?? 0) + count;
    world.restore();
  }
}

/** Everything becomes well, so that every call must settle by itself; then the pool is closed. */
async function finish(world: World, end: Sequence["end"]): Promise<void> {
  for (const mode of Object.values(world.modes)) {
    Object.assign(mode, { opening: "good", closing: "quick", stalled: false });
  }
  if (end === "settle") {
    for (let round = 0; round < 100 && (world.waits > 0 || world.calls.some(({ outcome }) => !outcome)); round++) {
      for (const transport of world.transports) {
        transport.admit();
        transport.flush();
        for (const request of transport.open) transport.answer(request, "ok");
      }
      await world.clock.settle();
      if (round % 10 === 9) await world.clock.tick(20_000);
    }
    for (const call of world.calls) {
      if (!call.outcome) {
        world.problems.push(`call ${call.number} waits for ever (${JSON.stringify(world.pool.stats())})`);
      }
    }
    if (world.waits > 0) world.problems.push("a wait for a session lasts for ever");
    world.check();
  }
  world.ending = true;
  const closed = end === "abort" ? world.pool.abort(new Error("enough")) : world.pool.closeAll();
  let done = false;
  closed.then(() => done = true, () => done = true);
  await world.clock.settle();
  for (let round = 0; round < 20 && !done; round++) await world.clock.tick(10_000);
  if (!done) world.problems.push("the pool never closed");
  await world.clock.settle();
}

function pick<T>(items: readonly T[], which: number): T | undefined {
  return items[which % items.length];
}

async function perform(world: World, command: Command): Promise<void> {
  const open = () => world.transports.flatMap((transport) => transport.open);
  switch (command.do) {
    case "call":
    case "call in event": {
      const { key, config, signal, timeoutMs, queueTimeoutMs, retry, expect } = command;
      const options = { timeoutMs, queueTimeoutMs, retry, ...(expect ? { expectGeneration: expect } : {}) };
      const make = () => world.call(key, config, signal, options);
      if (command.do === "call") return make();
      world.armed = make;
      return;
    }
    case "answer": {
      const request = pick(open().filter(({ written }) => written), command.which);
      return request?.transport.answer(request, command.how);
    }
    case "progress": {
      const request = pick(open().filter(({ written }) => written), command.which);
      return request?.transport.progress(request);
    }
    case "late answer": {
      const late = world.transports.flatMap(({ requests }) => requests.filter(({ state }) => state === "given up"));
      const request = pick(late, command.which);
      return request?.transport.answer(request, "ok");
    }
    case "abort": {
      const call = pick(world.calls.filter(({ own, outcome }) => own && !outcome), command.which);
      return call?.own?.abort(new Error(`call ${call.number} was given up`));
    }
    case "abort shared":
      return world.shared.abort(new Error("all were given up"));
    case "crash":
      return pick(world.transports.filter(({ kind, state }) => kind === "stdio" && state === "alive"), command.which)
        ?.crash();
    case "forget": {
      const request = pick(
        open().filter(({ written, transport }) => written && transport.kind === "http"),
        command.which,
      );
      return request?.transport.forget(request);
    }
    case "break": {
      const request = pick(open().filter(({ transport }) => transport.kind === "http"), command.which);
      return request?.transport.break(request);
    }
    case "late close":
      return pick(world.transports.filter(({ state }) => state === "gone"), command.which)?.onclose?.();
    case "admit":
      return pick(world.transports.filter(({ held }) => held), command.which)?.admit();
    case "close by holder": {
      const session = pick(world.holders, command.which);
      if (session) world.excuse(session.connection.id);
      session?.close().catch(() => {});
      return;
    }
    case "hold":
      return world.hold(command.key, command.config);
    case "close connection":
      world.excuse(KEYS[command.key].id);
      world.pool.closeConnection(KEYS[command.key].id).catch(() => {});
      return;
    case "server": {
      const { key, opening, closing, stalled } = command;
      Object.assign(world.modes[KEYS[key].id], { opening, closing, stalled });
      if (!stalled) { for (const transport of world.transports) if (!transport.mode.stalled) transport.flush(); }
      return;
    }
    case "tick":
      return await world.clock.tick(command.ms);
  }
}
