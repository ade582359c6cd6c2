/**
 * The rows of the comparison: what is measured, how often, and in which order.
 *
 * Rounds of all contenders are interleaved, and who begins changes with each round, so that a slow moment of the machine
 * hits all. One process is up to a tenth slower than another of the same program for as long as it lives; therefore the
 * small rows are measured in several processes of each contender.
 *
 * @module
 */
import type { Target } from "./contender.ts";
import { STDIO_TARGET, Worker } from "./launch.ts";
import type { Outcome, Row } from "./stats.ts";
import type { Command } from "./worker.ts";

/** Who takes part: the name shown, and the adapter's module from this folder. */
export interface Entrant {
  name: string;
  adapter: string;
}

/** How much is measured; a test takes less. */
export interface Effort {
  /** Processes of each contender for the small rows. */
  launches: number;
  /** Rounds in each of them. */
  rounds: number;
  /** Length of a round, in ms. */
  budgetMs: number;
  /** Characters of the two large answers. */
  large: readonly [number, number];
  largeRounds: readonly [number, number];
  /** Fresh processes for each of import, first call over stdio, first call over HTTP. */
  fresh: number;
  /** Idle HTTP and stdio sessions that are weighed, and how often. */
  idle: { http: number; stdio: number; rounds: number };
  connections: number;
  /** Longest wait for one round, in ms. */
  limitMs: number;
}

/** What `deno task bench` does. */
export const FULL_EFFORT: Effort = {
  launches: 3,
  rounds: 9,
  budgetMs: 60,
  large: [10_000_000, 64_000_000],
  largeRounds: [9, 7],
  fresh: 9,
  idle: { http: 200, stdio: 6, rounds: 3 },
  connections: 32,
  limitMs: 20_000,
};

type Tool = { tool: string; args: Record<string, unknown>; length: number };
type Field = { name: string; worker: Worker }[];

const ECHO: Tool = { tool: "echo", args: { text: "hello" }, length: 5 };
const JSON_TOOL: Tool = { tool: "json", args: {}, length: 5 };
const EVENTS: Tool = { tool: "events", args: {}, length: 5 };

/** Measures all rows. */
export class Comparison {
  readonly rows: Row[] = [];
  readonly #entrants: readonly Entrant[];
  readonly #effort: Effort;
  readonly #http: Target;
  readonly #progress: (line: string) => void;
  #turn = 0;

  constructor(entrants: readonly Entrant[], url: string, effort: Effort, progress: (line: string) => void) {
    this.#entrants = entrants;
    this.#effort = effort;
    this.#http = { kind: "http", url };
    this.#progress = progress;
  }

  /** Calls one after another, on sessions that stay open. */
  async sequential(): Promise<void> {
    const { launches, rounds, budgetMs } = this.#effort;
    const how = (what: string) => `One small call after another, ${what}, on a session that stays open.`;
    const stdio = this.#row("call over stdio", "µs", how("over the pipes of a child process"));
    const json = this.#row("call over HTTP, JSON", "µs", how("answered as JSON"));
    const events = this.#row("call over HTTP, events", "µs", how("answered as an event stream"));
    const work: [Row, string, Tool][] = [[stdio, "s", ECHO], [json, "h", JSON_TOOL], [events, "h", EVENTS]];
    for (let launch = 0; launch < launches; launch++) {
      await this.#withWorkers(["s", "h"], async (field) => {
        for (const [row, key, tool] of work) {
          await this.#interleave(row, field, rounds, 8, { do: "calls", key, ...tool, budgetMs });
        }
      });
    }
  }

  /** Large answers, and many connections at once. */
  async heavy(): Promise<void> {
    const { large, largeRounds, connections, rounds, budgetMs } = this.#effort;
    for (const [i, length] of large.entries()) {
      for (const [kind, tool, key] of [["stdio", "large", "s"], ["HTTP, JSON", "json-large", "h"]]) {
        const size = `${Math.round(length / 1e6)} MB`;
        const row = this.#row(`${size} answer over ${kind}`, "ms", `One call whose answer has ${size} of text.`);
        const command: Command = { do: "calls", key, tool, args: { length }, length, budgetMs: 0 };
        await this.#withWorkers([key], async (field) => {
          await this.#interleave(row, field, largeRounds[i], 1, command, 1 / 1_000);
        });
      }
    }
    const keys = Array.from({ length: connections }, (_, i) => `h${i}`);
    const how = `${connections} HTTP sessions in one process, one call in flight on each.`;
    const row = this.#row(`${connections} connections at once`, "calls/s", how, true);
    await this.#withWorkers(keys, async (field) => {
      const command: Command = { do: "parallel", keys, ...JSON_TOOL, budgetMs: budgetMs * 5 };
      await this.#interleave(row, field, rounds, 1, command);
    });
  }

  /**
   * What a fresh process pays: the import, and the way to the first answer.
   *
   * @param importOnly adapters of which only the import is measured
   */
  async fresh(importOnly: readonly Entrant[]): Promise<void> {
    const { fresh } = this.#effort;
    const imports = this.#row("import", "ms", "Importing the library in a fresh process, with cached code.");
    const from = "In a fresh process, after the import: from nothing to the first answer, handshake included";
    const stdio = this.#row("first call over stdio", "ms", `${from}, and the start of the server.`);
    const http = this.#row("first call over HTTP", "ms", `${from}.`);
    const work: [Row, Target, Tool][] = [[stdio, STDIO_TARGET, ECHO], [http, this.#http, JSON_TOOL]];
    for (const { adapter } of [...importOnly, ...this.#entrants]) await this.#start(adapter); // Fills the code cache.
    for (let round = 0; round < fresh; round++) {
      for (const { name, adapter } of this.#order([...importOnly, ...this.#entrants])) {
        for (const [row, target, tool] of work) {
          const { worker, importMs } = await Worker.start(adapter);
          await using _ = worker;
          add(imports, name, importMs);
          if (importOnly.some((entrant) => entrant.name === name)) continue;
          await this.#measure(row, name, worker, { do: "first", target, ...tool });
        }
      }
    }
  }

  /** Heap of a session that waits for its next call. */
  async idle(): Promise<void> {
    const { idle } = this.#effort;
    const how = (count: number) =>
      `Growth of this program's heap for each of ${count} sessions that wait; the server is not counted.`;
    const http = this.#row("idle HTTP session", "KB", how(idle.http));
    const stdio = this.#row("idle stdio session", "KB", how(idle.stdio));
    const work: [Row, Target, number, Tool][] = [
      [http, this.#http, idle.http, JSON_TOOL],
      [stdio, STDIO_TARGET, idle.stdio, ECHO],
    ];
    for (let round = 0; round < idle.rounds; round++) {
      for (const { name, adapter } of this.#order(this.#entrants)) {
        for (const [row, target, count, { tool, args }] of work) {
          const { worker } = await Worker.start(adapter);
          await using _ = worker;
          await this.#measure(row, name, worker, { do: "idle", target, count, tool, args });
          if (!row.outcomes.has(name)) refuse(row, name, "keeps no session");
        }
      }
    }
  }

  #row(name: string, unit: Row["unit"], how: string, more = false): Row {
    const row: Row = { name, unit, how, ...(more ? { more } : {}), outcomes: new Map() };
    this.rows.push(row);
    this.#progress(name);
    return row;
  }

  /** Another order each time, so that nobody always follows the same one. */
  #order<T>(items: readonly T[]): T[] {
    const by = this.#turn++ % items.length;
    return [...items.slice(by), ...items.slice(0, by)];
  }

  async #start(adapter: string): Promise<void> {
    await using _ = (await Worker.start(adapter)).worker;
  }

  async #withWorkers(keys: readonly string[], work: (field: Field) => Promise<void>): Promise<void> {
    const field: Field = [];
    try {
      for (const { name, adapter } of this.#order(this.#entrants)) {
        const { worker } = await Worker.start(adapter);
        field.push({ name, worker });
        for (const key of keys) {
          await worker.ask({ do: "open", key, target: key === "s" ? STDIO_TARGET : this.#http });
        }
      }
      await work(field);
    } finally {
      for (const { worker } of field) await worker[Symbol.asyncDispose]();
    }
  }

  async #interleave(
    row: Row,
    field: Field,
    rounds: number,
    warmUps: number,
    command: Command,
    factor = 1,
  ): Promise<void> {
    for (let round = -warmUps; round < rounds; round++) {
      for (const entrant of this.#order(field)) {
        const outcome = row.outcomes.get(entrant.name);
        if (outcome && "reason" in outcome) continue;
        const target = round < 0 ? { ...row, outcomes: new Map<string, Outcome>() } : row;
        await this.#measure(target, entrant.name, entrant.worker, command, factor);
        const failed = target.outcomes.get(entrant.name);
        if (failed && "reason" in failed) row.outcomes.set(entrant.name, failed);
      }
    }
  }

  async #measure(row: Row, name: string, worker: Worker, command: Command, factor = 1): Promise<void> {
    try {
      const value = await worker.ask(command, this.#effort.limitMs);
      if (value !== undefined) add(row, name, value * factor);
    } catch (error) {
      refuse(row, name, reasonOf(error));
    }
  }
}

/** Adds a measurement. */
export function add(row: Row, name: string, value: number): void {
  const outcome = row.outcomes.get(name);
  if (outcome === undefined) row.outcomes.set(name, { values: [value] });
  else if ("values" in outcome) outcome.values.push(value);
}

/** Says why a contender has no number in a row, whatever it had before. */
export function refuse(row: Row, name: string, reason: string): void {
  row.outcomes.set(name, { reason });
}

/** The words of a failure, on one line, without paths of this machine. */
export function reasonOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said.replace(/(?:file:\/\/)?(?:\/[\w.@+-]+){2,}/g, "…").replace(/\s+/g, " ").trim().slice(0, 140);
}
