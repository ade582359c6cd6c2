/**
 * A fetch that goes only where a server may send an OAuth client.
 *
 * The URLs of OAuth come from the server: the metadata it names, the authorization server named there, the endpoints
 * named by that. A server on the internet must not be able to aim this program at its own network or at plain HTTP
 * (MCP 2025-11-25, Security Best Practices, Server-Side Request Forgery).
 *
 * @module
 */
import { DEFAULT_LIMITS } from "../limits.ts";
import { showUrl } from "../secrets.ts";
import { isHiddenRedirect, isRedirect } from "../transport/redirect.ts";

/** `fetch` as the transport takes it. */
export type FetchLike = (input: string, init: RequestInit) => Promise<Response>;

/** Names that only mean something inside a network (RFC 6761, RFC 6762, RFC 8375). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa)\.?$/i;

/**
 * Why a server may not send this program to a URL.
 *
 * @param target where the server points
 * @param serverUrl the server
 * @returns the reason, or `undefined` when it may
 */
export function targetProblem(target: URL, serverUrl: URL): string | undefined {
  if (target.protocol !== "https:" && target.protocol !== "http:") return "is not a web address";
  if (target.protocol === "http:" && serverUrl.protocol === "https:") return "is plain HTTP while the server is not";
  if (isPrivateHost(target.hostname) && !isPrivateHost(serverUrl.hostname)) {
    return "is a private address while the server is public";
  }
  if (target.protocol === "http:" && !isPrivateHost(target.hostname) && target.origin !== serverUrl.origin) {
    return "is plain HTTP";
  }
  return undefined;
}

/**
 * Whether a host belongs to this machine or its network: by name, or as an address of a range that is not global.
 * A public name that resolves to such an address is not seen here; that takes a `fetch` that looks at addresses.
 *
 * @param hostname `URL.hostname`, in which every form of an IPv4 address is normalised
 * @returns true for private hosts
 */
export function isPrivateHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPrivateIpv6(hostname.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return isPrivateIpv4(hostname);
  // A name without a dot is looked up in the local domain.
  return PRIVATE_NAME.test(hostname) || !hostname.includes(".");
}

/** RFC 6890: this network, private use, shared, loopback, link-local, benchmarking, multicast and reserved. */
function isPrivateIpv4(address: string): boolean {
  const [a, b] = address.split(".").map(Number);
  return a === 0 || a === 10 || a === 127 || a >= 224 || a === 100 && b >= 64 && b < 128 || a === 169 && b === 254 ||
    a === 172 && b >= 16 && b < 32 || a === 192 && (b === 168 || b === 0) || a === 198 && (b === 18 || b === 19);
}

/** Global unicast is 2000::/3 alone; within it, 6to4 carries an IPv4 address. */
function isPrivateIpv6(address: string): boolean {
  const first = parseInt(address.split(":")[0] || "0", 16);
  return first < 0x2000 || first > 0x3fff || first === 0x2002;
}

/**
 * Makes a fetch that refuses targets a server may not name, also when a redirect leads there.
 *
 * @param serverUrl the server
 * @param fetch does the requests
 * @param signal ends them
 * @param onRefused told of each refusal; the SDK goes on without what it could not fetch
 * @returns the fetch
 */
export function guardedFetch(
  serverUrl: URL,
  fetch: FetchLike,
  signal: AbortSignal | undefined,
  onRefused: (reason: string) => void,
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  const check = (target: URL) => {
    const problem = targetProblem(target, serverUrl);
    if (problem === undefined) return;
    const reason = `${showUrl(target.href)} ${problem}`;
    onRefused(reason);
    throw new Error(`not fetched: ${reason}`);
  };
  return async (input, init = {}) => {
    let target = new URL(input);
    for (let followed = 0;; followed++) {
      check(target);
      const limits = { redirect: "manual" as const, ...(signal === undefined ? {} : { signal }) };
      const response = await fetch(target.href, { ...init, ...limits });
      // A TypeError, as for every request that a browser does not let be made: the SDK goes on without the document.
      if (isHiddenRedirect(response)) throw new TypeError(`${showUrl(target.href)} answered with a redirect`);
      const location = response.headers.get("location");
      if (!isRedirect(response.status) || location === null) return response;
      await response.body?.cancel();
      // A token request carries secrets, which are meant for its endpoint alone.
      const method = init.method?.toUpperCase() ?? "GET";
      if (method !== "GET" || followed === DEFAULT_LIMITS.maxRedirects) {
        throw new Error(`${showUrl(target.href)} answered ${method} with a redirect`);
      }
      target = new URL(location, target);
    }
  };
}
