/**
 * One HTTP request as the transport makes them all: with the program's credentials, redirects followed by hand, and
 * sent once more after the server refused the credentials.
 *
 * @module
 */
import { DEFAULT_LIMITS } from "../limits.ts";
import { discard } from "./body.ts";
import { parseChallenge } from "./challenge.ts";
import type { CredentialsSource, GivenCredentials } from "./credentials.ts";
import type { Endpoint } from "./endpoint.ts";
import { type HttpFailures, readRefusal } from "./http_failures.ts";
import { isHiddenRedirect, isRedirect, redirectStep } from "./redirect.ts";

/** `fetch` as far as it is used here. */
export type FetchLike = (input: string, init: RequestInit) => Promise<Response>;

/** One request. */
export interface HttpRequest {
  method: "POST" | "GET" | "DELETE";
  /** Headers but for those of the credentials hook. */
  headers: Record<string, string>;
  /** A Blob, never text or bytes: Deno's fetch sends those again by itself when a pooled connection was reset. */
  body?: Blob;
  signal: AbortSignal;
  /** Called just before the request is handed to `fetch`; again when it is sent again. */
  onsent?: (() => void) | undefined;
  /** Called when the server refused the credentials of the request and others are asked for. */
  onrefused?: (() => void) | undefined;
}

/** Makes the requests of one transport. */
export class HttpRequester {
  readonly #endpoint: Endpoint;
  readonly #failures: HttpFailures;
  readonly #credentials: CredentialsSource | undefined;
  readonly #fetch: FetchLike;

  /**
   * @param endpoint where requests go
   * @param failures makes the errors
   * @param credentials the hook, when there is one
   * @param fetch used for every request
   */
  constructor(
    endpoint: Endpoint,
    failures: HttpFailures,
    credentials: CredentialsSource | undefined,
    fetch: FetchLike | undefined,
  ) {
    this.#endpoint = endpoint;
    this.#failures = failures;
    this.#credentials = credentials;
    // Looked up at each call, so that a program that replaces the global one is heard.
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /**
   * Makes a request.
   *
   * @param request the request
   * @returns the response, of any status but 401, 403 and redirects; its body is the caller's to read or cancel
   * @throws {McpRuntimeError} `AUTH_REJECTED`; `HTTP_ERROR` for a redirect that is not followed; what `fetch` throws
   */
  async send(request: HttpRequest): Promise<Response> {
    const given = this.#credentials && await this.#credentials.headers(request.signal);
    const response = await this.#follow(request, given);
    if (response.status !== 401 && response.status !== 403) return response;
    if (!this.#credentials || !this.#mayRenew(response)) throw this.#failures.rejected(await readRefusal(response), "");
    return await this.#sendAgain(request, this.#credentials, given!, response);
  }

  /** MCP 2025-11-25, Authorization, Error Handling: 403 asks for other credentials only with `insufficient_scope`. */
  #mayRenew(response: Response): boolean {
    if (response.status === 401) return true;
    const challenge = parseChallenge(response.headers.get("www-authenticate"), this.#failures.redactor);
    return challenge?.error === "insufficient_scope";
  }

  /** The server refused the request before it did anything, so sending it once more runs nothing twice. */
  async #sendAgain(
    request: HttpRequest,
    credentials: CredentialsSource,
    refused: GivenCredentials,
    response: Response,
  ): Promise<Response> {
    request.onrefused?.();
    const refusal = await readRefusal(response);
    const renewed = await credentials.renew(refused, refusal.status, refusal.challenge, request.signal);
    if (!renewed) throw this.#failures.rejected(refusal, " and the credentials hook has no others");
    const second = await this.#follow(request, renewed);
    if (second.status !== 401 && second.status !== 403) return second;
    throw this.#failures.rejected(await readRefusal(second), " again, after they were renewed");
  }

  async #follow(request: HttpRequest, given: GivenCredentials | undefined): Promise<Response> {
    const init = this.#initOf(request, given);
    // A cancelled request must not be told as sent.
    request.signal.throwIfAborted();
    request.onsent?.();
    const response = await this.#fetch(this.#endpoint.url, init);
    if (isHiddenRedirect(response)) throw this.#failures.hiddenRedirect(request.method);
    return isRedirect(response.status) ? await this.#redirected(request, init, response) : response;
  }

  #initOf({ method, headers, body, signal }: HttpRequest, given: GivenCredentials | undefined): RequestInit {
    const init: RequestInit = { method, headers, redirect: "manual", signal };
    if (body) init.body = body;
    if (given) {
      init.headers = { ...headers, ...given.headers };
      this.#failures.addHookHeaders(given.headers);
    }
    return init;
  }

  async #redirected(request: HttpRequest, init: RequestInit, first: Response): Promise<Response> {
    let response = first;
    let from = this.#endpoint.url;
    for (let followed = 0; isRedirect(response.status); followed++) {
      const step = redirectStep(response.status, response.headers.get("location"), from);
      await discard(response);
      const refused = "refused" in step
        ? step.refused
        : followed === DEFAULT_LIMITS.maxRedirects
        ? `it was redirected more than ${followed} times`
        : undefined;
      if (refused !== undefined) throw this.#failures.redirected(request.method, refused, response.status);
      from = (step as { url: string }).url;
      response = await this.#fetch(from, init);
    }
    return response;
  }
}
