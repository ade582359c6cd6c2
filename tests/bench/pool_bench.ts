/**
 * What the pool costs: per call, per session, and whether either grows with the number of sessions.
 * Run it with `deno task bench:pool`; it prints each count or ratio with its limit.
 *
 * What is compared is measured in rounds that are interleaved, in turns of who begins, so that a slow moment of the
 * machine hits both; the medians count. Heap is `heapUsed` after a collection, before and after the sessions; the HTTP
 * server has a process of its own.
 *
 * @module
 */
import {
  type AuthRecord,
  McpRuntimePool,
  type McpSourceConnection,
  parseAuth,
  parseConnection,
  PersistentMcpSession,
  PersistentSessionFactory,
  type ToolClient,
} from "../../mod.ts";
import { collectedMemory, type Memory } from "./memory.ts";
import { startServerProcess } from "./server_process.ts";

type Call = () => Promise<unknown>;

const SESSIONS = 10_000;
const HTTP_SESSIONS = 1_000;
const QUEUED = 100_000;
const QUEUES = 100;
const LIMITS = { many: 1.1, parsedMicros: 5, literalMicros: 30, httpBytes: 40 * 1024, fakeBytes: 8 * 1024, queue: 1.5 };
const NO_ANSWER = Object.freeze({ content: [] });

let good = true;

function report(name: string, value: string, within: boolean, limit: string): void {
  good = within && good;
  console.log(`${name.padEnd(52)} ${value.padEnd(62)} limit ${limit}${within ? "" : "  NOT WITHIN"}`);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Microseconds per call. */
async function round(call: Call, calls: number): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < calls; i++) await call();
  return (performance.now() - started) * 1000 / calls;
}

/** Medians of interleaved rounds, in the order of the calls. */
async function compare(calls: readonly Call[], { rounds, each }: { rounds: number; each: number }): Promise<number[]> {
  const times: number[][] = calls.map(() => []);
  for (const call of calls) await round(call, each * 5);
  for (let i = 0; i < rounds; i++) {
    for (let j = 0; j < calls.length; j++) {
      // Backwards at every other time, so that none always comes after the one that leaves the most garbage.
      const turn = (i + (i % 2 === 0 ? j : calls.length - j)) % calls.length;
      times[turn].push(await round(calls[turn], each));
    }
  }
  return times.map(median);
}

function literal(number: number, url = "https://mcp.example.com/v1/mcp"): McpSourceConnection {
  return {
    id: `bench.n${number}`,
    provider: "bench",
    account: `n${number}`,
    authRef: "bench-main",
    transport: { kind: "http", url, headers: { "x-tenant": "bench" } },
  };
}

function literalAuth(number: number): AuthRecord {
  return { connectionId: `bench.n${number}`, scheme: "bearer", payload: { token: `token-of-n${number}` } };
}

/** A pool of sessions that have no server: what they cost is the library's. */
function fakePool(): McpRuntimePool {
  return new McpRuntimePool((connection, auth) =>
    new PersistentMcpSession({ connection, auth, callCallback: () => NO_ANSWER })
  );
}

async function openAll(pool: McpRuntimePool, connections: readonly McpSourceConnection[]): Promise<void> {
  for (const connection of connections) await pool.callTool(connection, null, "echo", {});
}

async function manySessions(): Promise<void> {
  const connections = fakes;
  await using only = fakePool();
  await using many = fakePool();
  await openAll(many, connections);
  const live = many.stats().sessions.idle;
  const one = connections[SESSIONS / 2];
  let turn = 0;
  const [alone, among, inTurn] = await compare([
    () => only.callTool(one, null, "echo", {}),
    () => many.callTool(one, null, "echo", {}),
    () => many.callTool(connections[turn = (turn + 1) % SESSIONS], null, "echo", {}),
  ], { rounds: 102, each: 2_000 });
  report(
    `a call on one of ${live} sessions`,
    `${(among / alone).toFixed(3)} x a call on the only one (${among.toFixed(2)} µs, ${alone.toFixed(2)} µs)`,
    live === SESSIONS && among / alone <= LIMITS.many,
    `${LIMITS.many} x`,
  );
  console.log(`  each of them in turn: ${(inTurn / alone).toFixed(3)} x (${inTurn.toFixed(2)} µs)`);
}

async function overhead(): Promise<void> {
  const connection = parseConnection(literal(0));
  const auth = parseAuth(literalAuth(0));
  await using pool = fakePool();
  const session = await pool.getSession(connection, auth);
  const calls: Call[] = [
    () => session.callTool("echo", {}),
    () => pool.callTool(connection, auth, "echo", {}),
    () => pool.callTool(literal(0), literalAuth(0), "echo", {}),
  ];
  const [straight, parsed, literals] = await compare(calls, { rounds: 102, each: 2_000 });
  for (
    const [name, time, limit] of [
      ["parsed connection and auth", parsed, LIMITS.parsedMicros],
      ["literals", literals, LIMITS.literalMicros],
    ] as const
  ) {
    const added = time - straight;
    report(
      `pool overhead on a hit, ${name}`,
      `${added.toFixed(2)} µs (pool ${time.toFixed(2)} µs, its session ${straight.toFixed(2)} µs)`,
      added <= limit && pool.stats().opened === 1,
      `${limit} µs`,
    );
  }
}

/** Opens sessions and says what each holds while it is idle, its parsed connection included. */
async function sessionHeap(
  kind: string,
  limitBytes: number,
  makePool: () => McpRuntimePool,
  literals: readonly McpSourceConnection[],
): Promise<void> {
  // Once before, so that what is loaded and compiled at first use is not counted.
  const first = makePool();
  await openAll(first, literals.slice(0, 100).map(parseConnection));
  await first.closeAll();
  const before = await collectedMemory();
  await using pool = makePool();
  await openAll(pool, literals.map(parseConnection));
  const after = await collectedMemory();
  const { idle } = pool.stats().sessions;
  const each = (part: keyof Memory) => (after[part] - before[part]) / literals.length;
  report(
    `heap of ${idle} idle ${kind} sessions`,
    `${each("heap").toFixed(0)} bytes each, and ${each("external").toFixed(0)} outside the heap`,
    idle === literals.length && each("heap") <= limitBytes,
    `${limitBytes} bytes`,
  );
}

async function httpHeap(): Promise<void> {
  await using server = await startServerProcess(new URL("../fixtures/http/bench_server.ts", import.meta.url));
  const url = `http://127.0.0.1:${server.port}/mcp`;
  const literals = Array.from({ length: HTTP_SESSIONS }, (_, i) => literal(i, url));
  await sessionHeap("HTTP", LIMITS.httpBytes, () => new McpRuntimePool(), literals);
}

/** Sessions whose server answers a call when it is told to. */
class HeldFactory extends PersistentSessionFactory {
  #release!: () => void;
  readonly #held = new Promise<typeof NO_ANSWER>((resolve) => this.#release = () => resolve(NO_ANSWER));

  constructor() {
    super({ maxQueuedCalls: Infinity });
  }

  answer(): void {
    this.#release();
  }

  protected override createClient(): Promise<ToolClient> {
    return Promise.resolve({ callTool: () => this.#held, close: () => Promise.resolve() });
  }
}

const PARTS = ["to queue", "to abort", "to send"] as const;

/**
 * Nanoseconds that each part of a call's way through a queue takes; every other call is aborted.
 *
 * @param lanes sessions that share the calls
 */
async function queueAll(lanes: number): Promise<number[]> {
  const factory = new HeldFactory();
  await using pool = new McpRuntimePool(factory);
  const connections = fakes.slice(0, lanes);
  const controllers = Array.from({ length: QUEUED / 2 }, () => new AbortController());
  const calls: Promise<unknown>[] = [];
  for (const connection of connections) {
    calls.push(pool.callTool(connection, null, "echo", {}));
    await pool.getSession(connection, null);
  }
  const marks = [performance.now()];
  for (let i = 0; i < QUEUED; i++) {
    const signal = i % 2 === 0 ? undefined : controllers[i >> 1].signal;
    const connection = connections[Math.floor(i * lanes / QUEUED)];
    calls.push(pool.callTool(connection, null, "echo", {}, { signal, queueTimeoutMs: 60_000 }));
  }
  marks.push(performance.now());
  const { queued } = pool.stats().calls;
  if (queued !== QUEUED) throw new Error(`${queued} of ${QUEUED} calls are queued`);
  // A prime as a step, so that they leave from everywhere.
  for (let i = 0; i < controllers.length; i++) controllers[i * 20_011 % controllers.length].abort();
  marks.push(performance.now());
  factory.answer();
  const outcomes = await Promise.allSettled(calls);
  marks.push(performance.now());
  const answered = outcomes.filter(({ status }) => status === "fulfilled").length;
  if (answered !== lanes + QUEUED / 2) throw new Error(`${answered} of ${QUEUED} calls were answered`);
  const [toQueue, toAbort, toSend] = PARTS.map((_, part) => (marks[part + 1] - marks[part]) * 1e6 / QUEUED);
  return [toQueue, toAbort * 2, toSend * 2];
}

/** As many calls either way, so that the collector has the same work: only the length of the queues differs. */
async function longQueue(): Promise<void> {
  const short: number[][] = [];
  const long: number[][] = [];
  for (let round = 0; round < 10; round++) {
    for (const lanes of round % 2 === 0 ? [1, QUEUES] : [QUEUES, 1]) {
      const times = await queueAll(lanes);
      if (round > 0) (lanes === 1 ? long : short).push(times);
    }
  }
  for (const [part, name] of PARTS.entries()) {
    const [one, other] = [short, long].map((rounds) => median(rounds.map((times) => times[part])));
    report(
      `a call of ${QUEUED} in one queue, ${name}`,
      `${(other / one).toFixed(3)} x one of ${QUEUED / QUEUES} (${other.toFixed(0)} ns, ${one.toFixed(0)} ns)`,
      other / one <= LIMITS.queue,
      `${LIMITS.queue} x`,
    );
  }
}

const fakes = Array.from({ length: SESSIONS }, (_, i) => parseConnection(literal(i)));
await manySessions();
await overhead();
await sessionHeap("fake", LIMITS.fakeBytes, fakePool, Array.from(fakes, (_, i) => literal(i)));
await httpHeap();
await longQueue();
console.log(good ? "all within their limits" : "NOT within the limits");
if (!good) Deno.exitCode = 1;
