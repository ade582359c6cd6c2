/**
 * From a configured stdio server to what is started, and from a failed start to an error that says which part to mend.
 *
 * @module
 */
import type { McpSourceConnection, StdioSourceTransport } from "../connection.ts";
import { McpRuntimeError, ProcessError } from "../errors.ts";
import { excerpt, type Redactor, safeCause } from "../secrets.ts";
import { resolveWindowsCommand } from "./command_windows.ts";
import { childEnvironment, type InheritEnv } from "./environment.ts";
import type { TransportOptions } from "./mod.ts";
import { type ProcessHost, SpawnFailure, type SpawnRequest } from "./process.ts";

/** Programs that fetch what they run, and so need a registry and perhaps a proxy. */
const FETCHING = /^(npx|npm|pnpm|pnpx|yarn|bunx|bun|uvx|uv|pipx|deno|dnx|docker)(\.(cmd|exe|bat|ps1))?$/i;

/**
 * What to start for a configured server.
 *
 * @param host where it runs
 * @param transport the configured server
 * @param authEnv the auth record's variables, laid over all others
 * @param options `inheritEnv` and `stderr`
 * @returns the request
 * @throws {SpawnFailure} on Windows, for arguments that cannot be given whole
 */
export function spawnRequest(
  host: ProcessHost,
  transport: StdioSourceTransport,
  authEnv: Readonly<Record<string, string>>,
  options: TransportOptions,
): SpawnRequest {
  const parent = { windows: host.windows, get: (name: string) => host.getEnv(name) };
  const { clear, env } = childEnvironment(parent, options.inheritEnv ?? "default", transport.env ?? {}, authEnv);
  const cwd = transport.cwd ?? undefined;
  const command = { command: transport.command, args: transport.args ?? [], verbatim: false };
  return {
    ...(host.windows ? windowsCommand(host, command, env, cwd) : command),
    env,
    clearEnv: clear,
    cwd,
    ownGroup: host.ownsGroups(),
    stdout: "pipe",
    stderr: options.stderr === "inherit" ? "inherit" : "pipe",
  };
}

function windowsCommand(
  host: ProcessHost,
  { command, args }: { command: string; args: readonly string[] },
  env: Record<string, string>,
  cwd: string | undefined,
) {
  const names = new Map(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
  const valueOf = (name: string) => names.get(name) ?? host.getEnv(name) ?? "";
  const resolved = resolveWindowsCommand(command, args, {
    path: valueOf("PATH"),
    pathExt: valueOf("PATHEXT"),
    comSpec: valueOf("COMSPEC"),
    cwd,
    isFile: (path) => host.isFile(path),
  });
  if ("refused" in resolved) throw new SpawnFailure({ kind: "other" }, new Error(resolved.refused));
  return resolved;
}

/**
 * The error for a server that could not be started.
 *
 * @param error what the host threw
 * @param connection the connection
 * @param transport its stdio part
 * @param redactor knows the secrets
 * @returns `OPEN_FAILED` that names the command or the directory
 */
export function spawnError(
  error: unknown,
  connection: McpSourceConnection,
  transport: StdioSourceTransport,
  redactor: Redactor,
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const failure = error instanceof SpawnFailure ? error : new SpawnFailure({ kind: "other" }, error);
  const cause = failure.cause === undefined ? undefined : safeCause(failure.cause, redactor);
  const reason = explain(failure, transport, redactor);
  return new ProcessError(`connection "${connection.id}": server could not be started: ${reason}`, {
    code: "OPEN_FAILED",
    connectionId: connection.id,
    ...(cause === undefined ? {} : { cause }),
    phase: "spawn",
    exitCode: null,
    signal: null,
    stderrTail: "",
  });
}

function explain({ problem, cause }: SpawnFailure, transport: StdioSourceTransport, redactor: Redactor): string {
  const command = JSON.stringify(excerpt(transport.command, redactor));
  switch (problem.kind) {
    case "command-missing": {
      const advice = /\s/.test(transport.command) && !transport.args?.length ? "; arguments belong in args" : "";
      return `command ${command} was not found, or the interpreter it names was not${advice}`;
    }
    case "not-executable":
      return `command ${command} is not an executable file`;
    case "cwd":
      return `working directory ${JSON.stringify(excerpt(transport.cwd ?? "", redactor))} does not exist`;
    case "permission":
      return `command ${command} may not be run: add ${excerpt(problem.flag ?? "", redactor)}`;
    default:
      return `command ${command}: ${excerpt(cause instanceof Error ? cause.message : String(cause), redactor)}`;
  }
}

/**
 * What a server that says nothing may be waiting for.
 *
 * @param transport the configured server
 * @param inherit what it inherits
 * @returns advice, or `undefined`
 */
export function startupHint(transport: StdioSourceTransport, inherit: InheritEnv = "default"): string | undefined {
  const program = transport.command.split(/[\\/]/).pop()!;
  if (inherit === "all" || !FETCHING.test(program)) return undefined;
  return `${program} may be waiting for its registry: it does not inherit registry and proxy settings ` +
    `(npm_config_*, HTTPS_PROXY); give them in env, or set inheritEnv`;
}
