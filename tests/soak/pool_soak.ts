/**
 * One pool over real stdio and HTTP servers that are killed, stopped or made to forget their sessions at random moments,
 * while many callers call, abort and time out. Then the books are compared: what each caller was told, and what the
 * servers did. Run it with `deno task soak:pool`; `deno task soak:pool <calls> <seed>` makes the same choices again, at
 * moments that the machine decides.
 *
 * @module
 */
import {
  BackoffError,
  McpRuntimeError,
  McpRuntimePool,
  type McpSourceConnection,
  parseConnection,
  PersistentSessionFactory,
  type PoolCallOptions,
} from "../../mod.ts";
import { collectedMemory } from "../bench/memory.ts";
import { assertSums } from "../fakes/pool_harness.ts";
import { fromFileUrl } from "../transport/file_url.ts";
import { openDescriptors } from "../transport/stdio_harness.ts";
import { kill, leftProcesses, random } from "./harness.ts";
import { KilledServer } from "./killed_server.ts";
import { Ledger, readRuns } from "./ledger.ts";
import type { SoakArguments } from "./tools.ts";

const calls = Number(Deno.args[0] ?? 200_000);
const seed = Number(Deno.args[1] ?? Math.floor(Math.random() * 2 ** 31));
const WARM_UP = Math.floor(calls / 5);
const CALLERS = 48;
const [STDIO_SOURCES, HTTP_SOURCES, HTTP_SERVERS] = [4, 4, 2];
/** One for each source, and one more for each HTTP source, whose callers use a scope at times. */
const MAX_SESSIONS = STDIO_SOURCES + 2 * HTTP_SOURCES;
const CALLS_END_MS = 270_000;
const END_MS = 295_000;
/** Nothing that a call waits for takes longer. */
const HANGS_MS = 20_000;
const MARK = `soak=${Deno.pid}`;

const next = random(seed);
const chance = (share: number) => next() < share;
const pick = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)];
const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const count = {
  made: 0,
  settled: 0,
  started: 0,
  ended: 0,
  wrongAnswers: 0,
  foreignErrors: 0,
  unhandled: 0,
  badSnapshots: 0,
  closeErrors: 0,
};
const done: Record<string, number> = {};
const did = (what: string) => done[what] = (done[what] ?? 0) + 1;
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  count.unhandled++;
  console.error("unhandled:", event.reason);
});

const log = await Deno.makeTempFile();
const ledger = new Ledger(calls);
const servers = Array.from(
  { length: HTTP_SERVERS },
  () => new KilledServer(new URL("./http_server.ts", import.meta.url), [log, MARK]),
);
await Promise.all(servers.map((server) => server.start()));

/** Another variant is another configuration of the same connection. */
function connectionOf(index: number, variant: number): McpSourceConnection {
  const name = `${index % 2 === 0 ? "single" : "wide"}${index}`;
  const program = fromFileUrl(new URL("./stdio_server.ts", import.meta.url));
  return parseConnection({
    id: `soak.${name}`,
    provider: "soak",
    account: name,
    transport: index < STDIO_SOURCES
      ? {
        kind: "stdio",
        command: Deno.execPath(),
        args: ["run", "--no-config", "--no-lock", "-A", program, log, MARK],
        env: { SOAK_VARIANT: String(variant) },
      }
      : {
        kind: "http",
        url: `http://127.0.0.1:${servers[index % HTTP_SERVERS].port}/mcp`,
        headers: { "x-variant": String(variant) },
      },
  });
}

const connections = Array.from({ length: STDIO_SOURCES + HTTP_SOURCES }, (_, index) => connectionOf(index, 0));
const limits = {
  connectTimeoutMs: 10_000,
  timeoutMs: 1_000,
  drainTimeoutMs: 2_000,
  closeTimeoutMs: 1_000,
  maxQueuedCalls: 20,
};
const single = new PersistentSessionFactory(limits);
const wide = new PersistentSessionFactory({ ...limits, concurrency: 4 });
const pool = new McpRuntimePool(
  (connection, auth, context) =>
    (connection.account.startsWith("wide") ? wide : single).create(connection, auth, context),
  {
    idleTimeoutMs: 100,
    maxLifetimeMs: 3_000,
    maxSessions: MAX_SESSIONS,
    openBackoff: { initialMs: 20, maxMs: 200 },
    onEvent: ({ type }) => {
      if (type === "call-started") count.started++;
      if (type === "call-settled") count.ended++;
    },
  },
);

function argumentsOf(id: number): SoakArguments {
  const args: SoakArguments = { id };
  if (chance(0.01)) args.delayMs = 1 + Math.floor(next() * 10);
  if (chance(0.005)) args.padding = "x".repeat(100_000);
  if (chance(0.02)) {
    const which = next();
    args.fate = which < 0.4
      ? "error"
      : which < 0.7
      ? "rpc-error"
      : which < 0.82
      ? "break"
      : which < 0.97
      ? "never"
      : "crash";
  }
  return args;
}

function optionsOf(id: number, index: number, { fate, delayMs }: SoakArguments): PoolCallOptions {
  const options: PoolCallOptions = {};
  if (index >= STDIO_SOURCES && chance(0.03)) options.scope = "someone";
  if (chance(0.1)) options.retry = "never";
  else if (chance(0.02)) {
    options.retry = "idempotent";
    ledger.vouch(id);
  }
  if (chance(0.02)) options.queueTimeoutMs = 1 + next() * 4;
  if (fate === "never") options.timeoutMs = 40;
  else if (delayMs !== undefined && chance(0.3)) options.timeoutMs = delayMs; // Which of them comes first is open.
  return options;
}

async function oneCall(id: number): Promise<void> {
  const index = Math.floor(next() * connections.length);
  const args = argumentsOf(id);
  const options = optionsOf(id, index, args);
  const controller = new AbortController();
  const neverSent = chance(0.005);
  let timer: ReturnType<typeof setTimeout> | undefined;
  if (neverSent) controller.abort(new Error("given up before"));
  else if (chance(0.03)) timer = setTimeout(() => controller.abort(new Error("given up")), next() * 4);
  if (neverSent || timer !== undefined) options.signal = controller.signal;
  try {
    count.made++;
    const { output } = await pool.callTool(connections[index], null, "run", { ...args }, options);
    ledger.answered(id);
    if (output.id !== id) count.wrongAnswers++;
  } catch (error) {
    ledger.failed(id, error, neverSent);
    const known = error instanceof McpRuntimeError;
    if (!known && error !== controller.signal.reason) {
      count.foreignErrors++;
      console.error("foreign:", error);
    }
    // As a service does: it does not ask again at once where it was refused.
    if (known && error.delivery === "not-sent") await delay(error instanceof BackoffError ? error.retryAfterMs : 2);
  } finally {
    count.settled++;
    clearTimeout(timer);
  }
}

const closings = new Set<Promise<void>>();

function disturb(): void {
  const what = next();
  const index = Math.floor(next() * connections.length);
  if (what < 0.4) {
    const pid = pick(pool.sessions().filter((session) => session.pid !== undefined))?.pid;
    const signal = chance(0.75) ? "SIGKILL" : chance(0.7) ? "SIGTERM" : "SIGSTOP";
    if (pid !== undefined) did(`stdio server: ${signal}`);
    kill(pid, signal);
  } else if (what < 0.6) {
    pick(servers).kill();
    did("HTTP server: SIGKILL");
  } else if (what < 0.8) {
    void pick(servers).forget();
    did("HTTP server: forgot its sessions");
  } else if (what < 0.9) {
    const closing = pool.closeConnection(connections[index].id).catch(() => void count.closeErrors++);
    closings.add(closing);
    void closing.then(() => closings.delete(closing));
    did("connection: closed");
  } else {
    connections[index] = connectionOf(index, Math.floor(next() * 1e6));
    did("connection: changed");
  }
}

function checkSnapshot(): void {
  try {
    assertSums(pool);
    const { calls: { queued, inFlight, ok, error, failed } } = pool.stats();
    const live = pool.sessions().filter(({ state }) => state === "ready").map(({ connectionId, scope }) =>
      `${connectionId} ${scope}`
    );
    const settled = ok + error + failed;
    // A caller hears of it a few turns after it was counted.
    if (settled + queued + inFlight !== count.made || settled < count.settled) throw new Error("calls do not sum");
    if (new Set(live).size < live.length) throw new Error(`two sessions are live: ${live}`);
  } catch (error) {
    count.badSnapshots++;
    console.error("snapshot:", error);
  }
}

const started = performance.now();
let given = 0;

/** Makes calls up to a number, while things happen. */
async function work(until: number): Promise<void> {
  let working = true;
  const disturbances = (async () => {
    while (working) {
      await delay(20 + next() * 100);
      disturb();
      checkSnapshot();
    }
  })();
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    while (given < until && performance.now() - started < CALLS_END_MS) await oneCall(given++);
  }));
  working = false;
  await disturbances;
}

/** Lets everything end but the pool itself, and looks at what is held then. */
async function rest(expected = 0): Promise<{ bytes: number; descriptors: number }> {
  await Promise.all(closings);
  await Promise.all(connections.map(({ id }) => pool.closeConnection(id)));
  await Promise.all(servers.map((server) => server.stop()));
  const { heap, external } = await collectedMemory();
  // The runtime closes its sockets some time after the servers have ended.
  for (let i = 0; i < 100 && (openDescriptors() ?? 0) > expected && expected > 0; i++) await delay(50);
  return { bytes: heap + external, descriptors: openDescriptors() ?? 0 };
}

let good = true;

function row(name: string, value: unknown, within?: boolean, limit?: string): void {
  good = within !== false && good;
  console.log(
    `${name.padEnd(48)} ${String(value).padEnd(26)} ${limit ?? ""}${within === false ? "  NOT WITHIN" : ""}`.trimEnd(),
  );
}
const exactly = (name: string, value: number, limit: number) => row(name, value, value === limit, `exactly ${limit}`);

let seen = -1;
const hangs = setInterval(() => {
  if (count.settled !== seen && performance.now() - started < END_MS) {
    seen = count.settled;
    return;
  }
  console.error(`it hangs: ${count.made - count.settled} calls do not settle`, pool.stats(), pool.sessions());
  Deno.exit(1);
}, HANGS_MS);

console.log(`${calls} calls, seed ${seed}`);
await work(WARM_UP);
const before = await rest();
await Promise.all(servers.map((server) => server.start()));
await work(calls);
const after = await rest(before.descriptors);
checkSnapshot();
const { calls: counted, sessions, ...totals } = pool.stats();
await pool.closeAll();
const seconds = (performance.now() - started) / 1000;
const left = await leftProcesses(MARK);
const runs = await readRuns(log, calls);
const balance = ledger.balance(runs);
await Deno.remove(log);
clearInterval(hangs);

for (const [what, times] of Object.entries(done).sort()) row(what, times);
row("sessions", Object.entries(totals).map(([what, times]) => `${times} ${what}`).join(", "));
row("failed calls", Object.entries(counted.failedByCode).map(([code, times]) => `${times} ${code}`).join(", "));
row("seconds", `${seconds.toFixed(0)}, ${(calls / seconds).toFixed(0)} calls/s`, seconds <= 300, "at most 300");
exactly("calls made", count.made, calls);
row("  answered, not sent, unknown or an error", `${balance.answered}, ${balance.notSent}, ${balance.unknown}`);
exactly("calls that did not settle exactly once", balance.notSettledOnce, 0);
exactly("attempts started and not settled", count.started - count.ended, 0);
exactly("calls that ran twice", balance.ranTwice, 0);
exactly("calls that are idempotent and ran thrice", balance.vouchedRanMore, 0);
row("  that are idempotent and ran twice", balance.vouchedRanTwice);
exactly("calls told as not sent that ran", balance.notSentRan, 0);
exactly("calls answered that never ran", balance.answeredNotRan, 0);
exactly("answers of another call", count.wrongAnswers, 0);
exactly("errors that are not the library's", count.foreignErrors, 0);
exactly("unhandled rejections", count.unhandled, 0);
exactly("connections that failed to close", count.closeErrors, 0);
exactly("snapshots whose parts do not sum", count.badSnapshots, 0);
exactly("sessions left", Object.values(sessions).reduce((sum, each) => sum + each), 0);
exactly("calls left", counted.queued + counted.inFlight, 0);
exactly("processes left", left.length, 0);
row(
  "descriptors before, after",
  `${before.descriptors}, ${after.descriptors}`,
  after.descriptors <= before.descriptors,
  "no more",
);
const megabytes = [before, after].map(({ bytes }) => (bytes / 1e6).toFixed(2)).join(" MB, ");
const growth = after.bytes / before.bytes;
row("memory before, after", `${megabytes} MB, ${growth.toFixed(3)} x`, growth <= 1.1, "at most 1.1 x");
console.log(good ? "every call settled once, nothing ran twice, nothing is left" : "NOT clean");
if (!good) Deno.exitCode = 1;
