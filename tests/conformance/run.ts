/**
 * Runs the client scenarios of the MCP conformance suite against `client.ts` and prints a table; exits with 1 when one
 * that is in scope fails. Give scenario names to run only those.
 *
 * @module
 */
const SUITE = "npm:@modelcontextprotocol/conformance@0.1.16";
const SCENARIO_MS = 60_000;

const SCENARIOS = [
  "initialize",
  "tools_call",
  "sse-retry",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
];

const path = (relative: string) => decodeURIComponent(new URL(relative, import.meta.url).pathname);
const command = [Deno.execPath(), "run", "-A", "--config", path("../../deno.json"), path("client.ts")].join(" ");

interface Outcome {
  passed: boolean;
  checks: string;
  text: string;
}

async function run(scenario: string): Promise<Outcome> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", SUITE, "client", "--command", command, "--scenario", scenario],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
    signal: AbortSignal.timeout(SCENARIO_MS),
  });
  const { stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  // "Passed: 3/3, 0 failed, 0 warnings"
  const counts = /Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/.exec(text);
  const passed = counts !== null && counts[3] === "0" && counts[4] === "0" && /OVERALL: PASSED/.test(text);
  return { passed, checks: counts?.[0] ?? "no result", text };
}

let failures = 0;
for (const scenario of Deno.args.length > 0 ? Deno.args : SCENARIOS) {
  const { passed, checks, text } = await run(scenario);
  console.log(`${passed ? "pass" : "FAIL"}  ${scenario.padEnd(44)} ${checks}`);
  if (passed) continue;
  failures++;
  console.log(text.replace(/^/gm, "      "));
}
console.log(failures === 0 ? "all pass" : `${failures} failed`);
Deno.exitCode = failures === 0 ? 0 : 1;
