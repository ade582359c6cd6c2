/**
 * Which request a message answers, seen from its two ends when the message itself was too large to keep. Pure.
 *
 * @module
 */
import type { RequestId } from "./message.ts";

/** What the start of a message shows. */
export interface Envelope {
  /** A response, a request or notification of the server, or nothing that can be told. */
  kind: "response" | "other" | "unknown";
  /** The id of a response, when the start shows it. */
  id?: RequestId;
}

/** One token of JSON: a string, whole; or one structural character; or a bare word (number, literal). */
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+)/y;

/** An id as the last or last but one member of the outermost object, where the SDK's servers put it. */
const TRAILING_ID = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/**
 * Reads the outermost members of a message as far as its start shows them.
 *
 * @param prefix the start of the message
 * @returns what it is, and its id when it is a response that shows one
 */
export function readEnvelope(prefix: string): Envelope {
  let id: RequestId | undefined;
  let kind: Envelope["kind"] = "unknown";
  for (const [key, value] of outerMembers(prefix)) {
    if (key === "method" || key === "params") return { kind: "other" };
    if (key === "result" || key === "error") kind = "response";
    if (key === "id") id = asId(value);
  }
  return kind === "response" && id !== undefined ? { kind, id } : { kind };
}

/**
 * Reads the id that stands at the end of a response.
 *
 * @param suffix the end of the message
 * @returns the id, or `undefined` when none stands there
 */
export function readTrailingId(suffix: string): RequestId | undefined {
  return asId(TRAILING_ID.exec(suffix)?.[1]);
}

/** The keys of the outermost object in order, each with its value when that is a plain one. */
function* outerMembers(text: string): Generator<[string, string | undefined]> {
  let depth = 0;
  let key: string | undefined;
  let last = "";
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const token = match[1];
    if (depth === 0 && token !== "{") return;
    if (depth === 1 && token === ":") key = asText(last);
    else if (depth === 1 && key !== undefined) {
      yield [key, token];
      key = undefined;
    }
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
    last = token;
  }
  // The value of the last key may be cut off; that the key is there still tells what the message is.
  if (key !== undefined) yield [key, undefined];
}

function asText(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined; // Cut in the middle: not a key that could be known.
  }
}

function asId(token: string | undefined): RequestId | undefined {
  if (token === undefined) return undefined;
  if (/^-?\d+$/.test(token)) return Number(token);
  return asText(token);
}
