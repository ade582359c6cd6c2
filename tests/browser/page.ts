/**
 * What the pages of the browser's tests do. It runs as a page's own script, under the page's Content-Security-Policy:
 * what a test driver evaluates in a page is exempt from it. The page's query says what to do.
 *
 * @module
 */
import type * as Package from "../../mod.ts";

/** What a page leaves for its test. */
export interface PageReport {
  value?: unknown;
  error?: Record<string, unknown>;
  /** Violations of the Content-Security-Policy. */
  violations: string[];
}

// What is used of the DOM; its whole library would replace types of Deno's in every file.
declare const document: {
  addEventListener(
    type: "securitypolicyviolation",
    listener: (event: { effectiveDirective: string; blockedURI: string }) => void,
  ): void;
  querySelector(selector: string): { textContent: string } | null;
};

const violations: string[] = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.effectiveDirective} ${event.blockedURI}`);
});

const query = new URL(location.href).searchParams;
const path = "/mod.js"; // The package's own bundle, not a part of this script's.
const { McpRuntimePool, PersistentSessionFactory, parseConnection } = await import(path) as typeof Package;

const events: string[] = [];
const token = query.get("token");
const hookToken = query.get("hook-token");
const pool = new McpRuntimePool(
  new PersistentSessionFactory({
    ...(hookToken === null ? {} : { credentials: () => ({ "x-hook-key": hookToken }) }),
  }),
  { onEvent: ({ type }) => void events.push(type) },
);
const connection = parseConnection({
  id: "test.page",
  provider: "test",
  account: "page",
  transport: query.has("stdio") ? { kind: "stdio", command: "server" } : { kind: "http", url: query.get("url") },
});
const auth = token === null ? null : { connectionId: connection.id, scheme: "bearer", payload: { token } };
const call = (options?: Package.PoolCallOptions) => pool.callTool(connection, auth, "echo", { a: 1 }, options);

const SCENARIOS: Record<string, () => Promise<unknown>> = {
  async calls() {
    const results = [await call(), await call()];
    return results.map(({ output, session }) => ({ output, generation: session?.generation }));
  },
  async progress() {
    const reports: unknown[] = [];
    const { output } = await call({ onProgress: (report) => void reports.push(report) });
    return { reports, output };
  },
  abort() {
    const controller = new AbortController();
    const signal = controller.signal;
    return call({ signal, onProgress: () => controller.abort("enough") }).catch((reason) => ({ reason }));
  },
  timeout: () => call({ timeoutMs: 200 }),
  async fingerprint() {
    const { connectionRuntimeFingerprint } = await import(path) as typeof Package;
    return connectionRuntimeFingerprint(connection, auth);
  },
  // Shows that the tests would see what they look for.
  forbidden: () => Promise.resolve(new Function("return 1")()),
};

const report: PageReport = { violations };
try {
  report.value = await SCENARIOS[query.get("scenario")!]();
} catch (error) {
  const { name, message } = error as Error;
  const { code, delivery, status } = error as Record<string, unknown>;
  report.error = { name, message, code, delivery, status };
}
await pool.closeAll();
// A violation is reported by a task of its own.
await new Promise((resolve) => setTimeout(resolve, 0));
document.querySelector("output")!.textContent = JSON.stringify(report);
