/**
 * Reading the `WWW-Authenticate` header of a refusal (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section
 * 5.1). Pure.
 *
 * @module
 */
import type { AuthChallenge } from "../errors.ts";
import { excerpt, type Redactor } from "../secrets.ts";

/** Longer headers are cut: what is read of them is shown to people. */
const MAX_HEADER_LENGTH = 8_192;

/** `scheme`, or `name=value` with a token or a quoted string, with what may stand between two of them. */
const PART = /\s*,?\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/y;

/**
 * Reads a challenge. Of several, the `Bearer` one is taken, else the first.
 *
 * @param header the header, or `null`
 * @param redactor knows the secrets
 * @returns its parts, bounded and cleaned; `undefined` without a header
 */
export function parseChallenge(header: string | null, redactor: Redactor): AuthChallenge | undefined {
  if (header === null) return undefined;
  const challenges = challengesOf(header.slice(0, MAX_HEADER_LENGTH));
  const chosen = challenges.find(({ scheme }) => scheme.toLowerCase() === "bearer") ?? challenges[0];
  if (!chosen) return undefined;
  const { scheme, params } = chosen;
  const text = (name: string, maxLength = 500) => {
    const value = params.get(name);
    return value === undefined ? undefined : excerpt(value, redactor, maxLength);
  };
  return withoutUndefined({
    scheme: excerpt(scheme, redactor, 40),
    error: text("error", 100),
    errorDescription: text("error_description"),
    scope: text("scope", 2_000),
    resourceMetadataUrl: text("resource_metadata", 2_000),
  });
}

interface Challenge {
  scheme: string;
  params: Map<string, string>;
}

function challengesOf(header: string): Challenge[] {
  const found: Challenge[] = [];
  PART.lastIndex = 0;
  for (let match = PART.exec(header); match !== null; match = PART.exec(header)) {
    const [, name, quoted, token] = match;
    const value = quoted === undefined ? token : quoted.replace(/\\(.)/g, "$1");
    if (value === undefined) found.push({ scheme: name, params: new Map() });
    else found.at(-1)?.params.set(name.toLowerCase(), value);
  }
  return found;
}

function withoutUndefined(challenge: Record<keyof AuthChallenge, string | undefined>): AuthChallenge {
  return Object.fromEntries(Object.entries(challenge).filter(([, value]) => value !== undefined));
}
