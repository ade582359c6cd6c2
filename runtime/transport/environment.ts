/**
 * The environment of a child process: a short list is inherited, the transport's `env` is laid over it, the auth
 * record's over that. Pure.
 *
 * @module
 */

/**
 * Which variables of this program a child inherits: the short list in docs/stdio.md, all, none, or those named.
 */
export type InheritEnv = "default" | "all" | "none" | readonly string[];

/** Where certificates and Deno's cache are: without them a server behind a company's own authority reaches nothing. */
const LOCATIONS = [
  "DENO_CERT",
  "DENO_DIR",
  "DENO_TLS_CA_STORE",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
];

/**
 * What `"default"` inherits: what programs need to find their files, their user, their language and the certificates
 * they trust, and nothing that usually holds a secret. docs/stdio.md shows the same lists and a test pins them; change all three together.
 */
export const DEFAULT_INHERITED: Readonly<Record<"posix" | "windows", readonly string[]>> = Object.freeze({
  posix: Object.freeze([
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    ...LOCATIONS,
  ]),
  windows: Object.freeze([
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
    ...LOCATIONS,
  ]),
});

/** What is read of the surroundings. */
export interface ParentEnvironment {
  /** Whether names are compared without case, as Windows does. */
  windows: boolean;
  /** Value of a variable of this program; `undefined` when it is not set or may not be read. */
  get(name: string): string | undefined;
}

/** What a child process is started with. */
export interface ChildEnvironment {
  /** Whether the child starts from nothing; otherwise from the whole environment of this program. */
  clear: boolean;
  /** The variables laid over that. */
  env: Record<string, string>;
}

/**
 * Puts the environment of a child process together.
 *
 * @param parent the surroundings
 * @param inherit which variables are inherited
 * @param layers what is laid over them, later ones over earlier ones
 * @returns what to start the child with
 */
export function childEnvironment(
  parent: ParentEnvironment,
  inherit: InheritEnv,
  ...layers: Readonly<Record<string, string>>[]
): ChildEnvironment {
  // Keyed by the compared name: on Windows `Path` of a layer must replace the inherited `PATH`, not stand beside it.
  const variables = new Map<string, [string, string]>();
  const set = (name: string, value: string) => variables.set(parent.windows ? name.toUpperCase() : name, [name, value]);
  for (const name of inheritedNames(inherit, parent.windows)) {
    const value = parent.get(name);
    // A value that begins so is a function exported by bash: code, not data (Shellshock, CVE-2014-6271).
    if (value !== undefined && !value.startsWith("()")) set(name, value);
  }
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer)) set(name, value);
  }
  return { clear: inherit !== "all", env: Object.fromEntries(variables.values()) };
}

function inheritedNames(inherit: InheritEnv, windows: boolean): readonly string[] {
  if (inherit === "default") return DEFAULT_INHERITED[windows ? "windows" : "posix"];
  return typeof inherit === "string" ? [] : inherit;
}
