/**
 * Following redirects by hand: within the origin, with method and body kept. Pure.
 *
 * @module
 */
import { showUrl } from "../secrets.ts";

/** Where a redirect leads, or why it is not followed. */
export type RedirectStep = { url: string } | { refused: string };

/**
 * Whether a response is a redirect that cannot be followed by hand: a browser hides its status and target (Fetch,
 * "opaque-redirect filtered response").
 *
 * @param response any response to a request with `redirect: "manual"`
 * @returns true in a browser, for any redirect
 */
export function isHiddenRedirect(response: Response): boolean {
  return response.type === "opaqueredirect";
}

/**
 * Whether a status is one of the redirects of RFC 9110, section 15.4.
 *
 * @param status status of a response
 * @returns true for 301, 302, 303, 307 and 308
 */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * Decides one redirect. Credentials must not leave the origin, and a POST must not become a GET, which 301, 302 and 303
 * allow (RFC 9110, section 15.4), so only 307 and 308 within the origin are followed.
 *
 * @param status status of the response
 * @param location its `Location` header
 * @param from the URL that was fetched
 * @returns the next URL, without user info, or the reason for not going there
 */
export function redirectStep(status: number, location: string | null, from: string): RedirectStep {
  const target = location === null ? null : parse(location, from);
  if (target === null) return { refused: "it was redirected to nowhere" };
  if (target.origin !== new URL(from).origin) {
    return { refused: `it was redirected to another origin, ${showUrl(target.href)}` };
  }
  if (status !== 307 && status !== 308) {
    return {
      refused: `it was redirected with status ${status}, which may change its method, to ${showUrl(target.href)}`,
    };
  }
  target.username = target.password = target.hash = "";
  return { url: target.href };
}

function parse(location: string, base: string): URL | null {
  try {
    return new URL(location, base);
  } catch {
    return null; // The text comes from the server and is not worth showing.
  }
}
