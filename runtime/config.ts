/**
 * Reading the `mcpServers` object that desktop clients and editors keep their servers in.
 *
 * @module
 */
import { type McpSourceConnection, parseConnection, shownKey } from "./connection.ts";
import { McpRuntimeError } from "./errors.ts";
import { checkOptions } from "./input.ts";
import { isPlainObject } from "./json.ts";

/** Options of {@linkcode connectionsFromMcpServers}. */
export interface McpServersOptions {
  /**
   * What `${NAME}` in the configuration stands for. Default none: nothing is read from this program's environment unless
   * it is given here, as with `Deno.env.toObject()` or `process.env`.
   */
  variables?: Readonly<Record<string, string | undefined>>;
}

/** Why an entry, or the whole configuration, cannot be used. */
export interface McpServersProblem {
  /** Name of the entry as it stands in the configuration; `null` when the configuration itself is not one. */
  server: string | null;
  /** What is wrong, with the entry and the field; no value of the configuration is shown. */
  message: string;
  /** The variable that is not set or is not a string, when that is what is wrong. */
  variable?: string;
}

/** What a `mcpServers` object holds. Each entry is in one of the lists: a connection, a disabled one, or problems. */
export interface McpServersResult {
  /** What can be used, parsed and frozen, in the order of the configuration. */
  connections: McpSourceConnection[];
  /** The entries with `disabled: true`, checked like the others; their `enabled` is `false`. */
  disabled: McpSourceConnection[];
  /** What is wrong with the rest. */
  problems: McpServersProblem[];
}

const TRANSPORT_KEYS: ReadonlySet<string> = new Set(["command", "args", "env", "cwd", "url", "headers"]);
const OWN_KEYS: ReadonlySet<string> = new Set([...TRANSPORT_KEYS, "type", "disabled"]);

/** What clients write as `type`, in lower case and without hyphens and underscores. */
const KINDS: Readonly<Record<string, "stdio" | "http" | "sse">> = {
  stdio: "stdio",
  http: "http",
  streamablehttp: "http",
  sse: "sse",
};

/** `${NAME}`, `${env:NAME}`, either with `:-default`; and whatever else begins like it, to be refused. */
const PLACEHOLDER = /\$\{(?:(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?/g;

/** A problem of one entry before the entry's name is put in front. */
type Finding = Omit<McpServersProblem, "server">;

/**
 * Makes connections of the `mcpServers` object that desktop clients and editors use.
 *
 * - The id of an entry is `<name>.default`; characters that no id may have, dots too, become `_`. When two names come
 *   to the same id, the first keeps it and the other is a problem.
 * - `command`, `args`, `env` and `cwd` make a stdio server, `url` and `headers` one over HTTP. `type` may say which:
 *   `stdio`, `http`, or a spelling of `streamable-http`. `sse` is a problem: that transport is not supported.
 * - In the text of those fields `${NAME}` and `${env:NAME}` stand for a variable, `${NAME:-default}` for a default when
 *   it is not set or empty. What is filled in is not looked at again. A variable that is not set is a problem.
 * - Other fields are kept in the connection's `metadata`, as they are.
 * - A bad entry does not touch the others. Nothing of the configuration is thrown.
 *
 * @param config a parsed configuration: an object with `mcpServers`, or the `mcpServers` object itself
 * @param options the variables
 * @returns connections, disabled ones and problems; the latter show no value
 * @throws {McpRuntimeError} `INPUT_INVALID` for options that are none
 *
 * @example
 * ```ts
 * import { connectionsFromMcpServers } from "@wf/sources-mcp";
 *
 * const file = `{ "mcpServers": {
 *   "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] },
 *   "issues": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer \${ISSUES_TOKEN}" } }
 * } }`;
 * const { connections, problems } = connectionsFromMcpServers(JSON.parse(file), { variables: {} });
 * console.log(connections.map(({ id }) => id)); // [ "memory.default" ]
 * console.log(problems[0].message); // server "issues": headers.Authorization: the variable ISSUES_TOKEN is not set
 * ```
 */
export function connectionsFromMcpServers(config: unknown, options: McpServersOptions = {}): McpServersResult {
  checkOptions(options, { variables: "object" });
  const result: McpServersResult = { connections: [], disabled: [], problems: [] };
  const servers = isPlainObject(config) && Object.hasOwn(config, "mcpServers") ? config.mcpServers : config;
  if (!isPlainObject(servers)) {
    result.problems.push({ server: null, message: "the configuration must be an object with servers by name" });
    return result;
  }
  const names = new Map<string, string>();
  for (const [name, entry] of Object.entries(servers)) {
    const id = `${name.replace(/^-|[^A-Za-z0-9_-]/gu, "_")}.default`;
    const first = names.get(id);
    const read = first === undefined
      ? readEntry(id, entry, options.variables ?? {})
      : [{ message: `comes to the same id as server ${quote(first)}: ${id}` }];
    if (first === undefined) names.set(id, name);
    if (Array.isArray(read)) {
      for (const { message, ...more } of read) {
        result.problems.push({ server: name, message: `server ${quote(name)}: ${message}`, ...more });
      }
    } else (read.enabled === false ? result.disabled : result.connections).push(read);
  }
  return result;
}

function readEntry(
  id: string,
  entry: unknown,
  variables: Readonly<Record<string, string | undefined>>,
): McpSourceConnection | Finding[] {
  if (!isPlainObject(entry)) return [{ message: "must be an object" }];
  const { disabled = false } = entry;
  if (typeof disabled !== "boolean") return [{ message: "disabled must be a boolean" }];
  const kind = kindOf(entry);
  if (typeof kind !== "string") return [kind];
  const findings: Finding[] = [];
  const fields = Object.entries(entry);
  const transport = fields.filter(([key]) => TRANSPORT_KEYS.has(key))
    .map(([key, value]) => [key, fill(value, key, variables, findings)]);
  if (findings.length > 0) return findings;
  const unknown = fields.filter(([key]) => !OWN_KEYS.has(key));
  try {
    return parseConnection({
      id,
      provider: id.slice(0, id.indexOf(".")),
      account: "default",
      transport: { kind, ...Object.fromEntries(transport) },
      ...(disabled ? { enabled: false } : {}),
      ...(unknown.length > 0 ? { metadata: Object.fromEntries(unknown) } : {}),
    });
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return [{ message: error.message }];
  }
}

function kindOf(entry: Record<string, unknown>): "stdio" | "http" | Finding {
  const { type } = entry;
  if (type === undefined) {
    if (Object.hasOwn(entry, "command")) return "stdio";
    return Object.hasOwn(entry, "url") ? "http" : { message: "has neither command nor url" };
  }
  const word = typeof type === "string" ? type.toLowerCase().replace(/[-_]/g, "") : "";
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word]! : undefined;
  if (kind === "sse") {
    return { message: 'type "sse" is not supported: MCP 2025-03-26 replaced that transport by Streamable HTTP' };
  }
  return kind ?? { message: 'type must be "stdio", "http" or "streamable-http"' };
}

/** Fills variables in: text, and the text one level inside arrays and objects. Other values are for the schema to refuse. */
function fill(
  value: unknown,
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
  findings: Finding[],
): unknown {
  if (typeof value === "string") return fillText(value, path, variables, findings);
  if (path.includes(".")) return value;
  const inside = ([key, item]: [string, unknown]) => fill(item, `${path}.${shownKey(key)}`, variables, findings);
  if (Array.isArray(value)) return value.map((item, index) => inside([String(index), item]));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map((entry) => [entry[0], inside(entry)]));
}

function fillText(
  text: string,
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
  findings: Finding[],
): string {
  return text.replace(PLACEHOLDER, (_match, name: string | undefined, fallback: string | undefined) => {
    if (name === undefined) {
      findings.push({
        message: `${path}: what follows "\${" is not understood; known are \${NAME}, \${env:NAME}, \${NAME:-default}`,
      });
      return "";
    }
    const value: unknown = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value !== undefined && typeof value !== "string") {
      findings.push({ message: `${path}: the variable ${name} is not a string`, variable: name });
      return "";
    }
    if (fallback !== undefined) return value || fallback;
    if (value !== undefined) return value;
    findings.push({ message: `${path}: the variable ${name} is not set`, variable: name });
    return "";
  });
}

function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
