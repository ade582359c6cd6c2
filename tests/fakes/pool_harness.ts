/** What the tests of the pool share: a pool over fake servers, its events, and checks that hold after every step. */
import { setImmediate } from "node:timers";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { McpRuntimeError } from "../../runtime/errors.ts";
import type { RuntimeEvent } from "../../runtime/events.ts";
import type { SessionFactoryOptions } from "../../runtime/factory.ts";
import { McpRuntimePool, type PoolOptions } from "../../runtime/pool.ts";
import { FakeMcpServer, type FakeTool } from "../../runtime/testing.ts";

/** A connection of its own for each name; another `mark` is another configuration. */
export const connectionOf = (name: string, mark = "") => ({
  id: `fake.${name}`,
  provider: "fake",
  account: name,
  transport: { kind: "stdio" as const, command: "fake", args: mark === "" ? [] : [mark] },
});

/** Calls that stay open until the test answers them, by name, in order. */
export class Held {
  readonly open: { name: string; session: number; answer: () => void }[] = [];
  readonly tool: FakeTool = ({ name }, { session }) =>
    new Promise((resolve) => this.open.push({ name: String(name), session, answer: () => resolve({ name }) }));

  get names(): string[] {
    return this.open.map(({ name }) => name);
  }

  /** Answers the first open call. */
  answer(): void {
    this.open.shift()!.answer();
  }
}

/** Takes 3 s and reports progress each half second. */
const slow: FakeTool = async (_args, { delay, progress }) => {
  for (let step = 1; step <= 6; step++) {
    await delay(500);
    progress(step);
  }
};

/** A pool whose connections all reach one fake server. */
export function harness(options: PoolOptions = {}, limits: SessionFactoryOptions = {}) {
  const held = new Held();
  const server = new FakeMcpServer({
    tools: { echo: (args) => args, held: held.tool, never: () => new Promise(() => {}), slow },
  });
  const events: RuntimeEvent[] = [];
  const broken: unknown[] = [];
  const pool = new McpRuntimePool(server.sessionFactory(limits), {
    ...options,
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
      try {
        assertSums(pool);
      } catch (error) {
        broken.push(error); // What a listener throws is ignored.
      }
    },
  });
  return {
    pool,
    server,
    held,
    events,
    types: () => events.map(({ type }) => type).filter((type) => type.startsWith("session")),
    /** Closes the pool; every snapshot taken at an event must have summed, and nothing may be left. */
    finish: async () => {
      await pool.closeAll();
      assertSums(pool);
      assertEquals([broken, pool.sessions(), server.opened - server.closed], [[], [], 0]);
    },
    openings: () => events.filter(({ type }) => type === "session-opening").length,
  };
}

/** What holds of a snapshot at any moment. */
export function assertSums(pool: McpRuntimePool): void {
  const { sessions, opened, closed, lost, replaced, evicted, calls } = pool.stats();
  assertEquals(opened, sessions.idle + sessions.busy + sessions.closing + closed + lost + replaced + evicted);
  const failedByCode = Object.values(calls.failedByCode).reduce((sum, count) => sum + count, 0);
  assertEquals(calls.failed, failedByCode);
  assert(calls.queued >= 0 && calls.inFlight >= 0, JSON.stringify(calls));
  assertEquals(pool.sessions().length, sessions.opening + sessions.idle + sessions.busy + sessions.closing);
}

/** The failure of a call. */
export const failure = (promise: Promise<unknown>): Promise<McpRuntimeError> =>
  assertRejects(() => promise, McpRuntimeError);

/** Code and delivery of failures. */
export const told = (...errors: McpRuntimeError[]) => errors.map(({ code, delivery }) => `${code} ${delivery}`);

/** Lets everything settle that can settle without time passing: one turn of the real event loop, also under fake time. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
