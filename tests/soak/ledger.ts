/**
 * What is known of each call: how often it settled, and how often it may have run.
 *
 * @module
 */
import { McpRuntimeError } from "../../mod.ts";

/** What the whole book says. */
export interface Balance {
  answered: number;
  notSent: number;
  unknown: number;
  /** Calls that settled never or more than once. */
  notSettledOnce: number;
  /** Ran more than once, although nobody vouched for it. */
  ranTwice: number;
  /** Ran more than twice, although it is sent again once. */
  vouchedRanMore: number;
  /** Ran twice because the caller vouched for it: allowed. */
  vouchedRanTwice: number;
  /** Told as not sent, and ran. */
  notSentRan: number;
  /** Answered, and never ran. */
  answeredNotRan: number;
}

const ANSWERED = 1;
const NOT_SENT = 2;
const UNKNOWN = 3;

/** Keeps a few bytes for each call, all of them from the start, so that the book itself does not grow. */
export class Ledger {
  readonly #settled: Uint8Array;
  readonly #fates: Uint8Array;
  readonly #vouched: Uint8Array;

  constructor(calls: number) {
    this.#settled = new Uint8Array(calls);
    this.#fates = new Uint8Array(calls);
    this.#vouched = new Uint8Array(calls);
  }

  /** The caller vouches that this call may run twice. */
  vouch(id: number): void {
    this.#vouched[id] = 1;
  }

  answered(id: number): void {
    this.#settle(id, ANSWERED);
  }

  /**
   * A call was rejected.
   *
   * @param neverSent the caller knows that it was not: its signal was aborted before
   */
  failed(id: number, error: unknown, neverSent: boolean): void {
    const notSent = neverSent || error instanceof McpRuntimeError && error.delivery === "not-sent";
    this.#settle(id, notSent ? NOT_SENT : UNKNOWN);
  }

  #settle(id: number, fate: number): void {
    this.#settled[id]++;
    this.#fates[id] = fate;
  }

  /** @param runs how often each call ran */
  balance(runs: Uint8Array): Balance {
    const count = (holds: (id: number) => boolean) => this.#fates.reduce((sum, _, id) => holds(id) ? sum + 1 : sum, 0);
    const is = (fate: number) => (id: number) => this.#fates[id] === fate;
    return {
      answered: count(is(ANSWERED)),
      notSent: count(is(NOT_SENT)),
      unknown: count(is(UNKNOWN)),
      notSettledOnce: count((id) => this.#settled[id] !== 1),
      ranTwice: count((id) => runs[id] > 1 && !this.#vouched[id]),
      vouchedRanMore: count((id) => runs[id] > 2),
      vouchedRanTwice: count((id) => runs[id] === 2 && this.#vouched[id] === 1),
      notSentRan: count((id) => is(NOT_SENT)(id) && runs[id] > 0),
      answeredNotRan: count((id) => is(ANSWERED)(id) && runs[id] === 0),
    };
  }
}

/**
 * Reads how often each call ran.
 *
 * @param log what the servers wrote: an id a line
 * @param calls number of calls
 * @returns the counts by id
 * @throws {Error} for a line that is no id of a call
 */
export async function readRuns(log: string, calls: number): Promise<Uint8Array> {
  const runs = new Uint8Array(calls);
  for (const line of (await Deno.readTextFile(log)).split("\n")) {
    if (line === "") continue;
    const id = Number(line);
    if (!(id in runs)) throw new Error(`the log has a line that is no id: ${line}`);
    runs[id]++;
  }
  return runs;
}
