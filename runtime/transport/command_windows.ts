/**
 * Finding programs on Windows the way its shell does, and starting scripts without letting that shell read their
 * arguments. Pure.
 *
 * @module
 */

/** The platform, as far as the resolver looks at it. */
export interface WindowsPlatform {
  /** `PATH` of the child. */
  path: string;
  /** `PATHEXT` of the child; Windows' own default when empty. */
  pathExt: string;
  /** `COMSPEC`; `cmd.exe` when empty. */
  comSpec: string;
  /** Working directory of the child; that of this program when absent. */
  cwd?: string | undefined;
  /** Whether a file is there. */
  isFile(path: string): boolean;
}

/** What is started in place of the configured command. */
export interface WindowsCommand {
  /** The program. */
  command: string;
  /** Its arguments. */
  args: readonly string[];
  /** Whether `args` is a command line that is already quoted. */
  verbatim: boolean;
}

/** Why a command is not started. */
export interface WindowsRefusal {
  /** The reason, with the argument's position and never its text. */
  refused: string;
}

const DEFAULT_PATHEXT = ".COM;.EXE;.BAT;.CMD";

/**
 * What `cmd.exe` reads in an argument even between double quotes: a quote ends them, a percent sign or (in a script
 * that asks for it) an exclamation mark is replaced by a variable, a line break ends the command (CVE-2024-24576 and
 * its kin). No quoting keeps these whole for every script, so they are refused.
 */
const UNQUOTABLE = /["%!\r\n\0]/;

/**
 * Finds the program: a bare name in each directory of `PATH`, with each ending of `PATHEXT`. A `.cmd` or `.bat` is
 * started through `cmd.exe` with every argument in double quotes.
 *
 * @param command the configured command
 * @param args the configured arguments
 * @param platform the surroundings
 * @returns what to start, or why not; a command that is not found is returned as it is, for the system to report
 */
export function resolveWindowsCommand(
  command: string,
  args: readonly string[],
  platform: WindowsPlatform,
): WindowsCommand | WindowsRefusal {
  const program = findProgram(command, platform) ?? command;
  if (!/\.(cmd|bat)$/i.test(program)) return { command: program, args, verbatim: false };
  if (UNQUOTABLE.test(program)) {
    return { refused: 'the path of a .cmd or .bat must not contain ", %, ! or a line break' };
  }
  const bad = args.findIndex((arg) => UNQUOTABLE.test(arg));
  if (bad !== -1) {
    return {
      refused: `argument ${bad + 1} contains ", %, ! or a line break, which a .cmd or .bat cannot be given whole`,
    };
  }
  const line = [program, ...args].map((part) => `"${doubleTrailingBackslashes(part)}"`).join(" ");
  // /d: no AutoRun commands; /v:off: no `!variables!`; /s with the outer quotes: the rest is taken as it stands.
  return {
    command: platform.comSpec || "cmd.exe",
    args: ["/d", "/v:off", "/s", "/c", `"${line}"`],
    verbatim: true,
  };
}

/** A backslash before the closing quote would escape it for the program that the script hands its arguments to. */
function doubleTrailingBackslashes(part: string): string {
  return part.replace(/\\+$/, (backslashes) => backslashes + backslashes);
}

function findProgram(command: string, platform: WindowsPlatform): string | undefined {
  const extensions = (platform.pathExt || DEFAULT_PATHEXT).split(";").filter((extension) => extension.startsWith("."));
  const hasExtension = extensions.some((extension) => command.toLowerCase().endsWith(extension.toLowerCase()));
  // A name without a known ending is tried with endings only: npm puts a shell script `npx` beside `npx.cmd`.
  const endings = hasExtension ? ["", ...extensions] : extensions;
  for (const directory of searchDirectories(command, platform)) {
    for (const ending of endings) {
      const path = directory + command + ending;
      if (platform.isFile(path)) return path;
    }
  }
  return undefined;
}

function searchDirectories(command: string, platform: WindowsPlatform): string[] {
  if (/^([A-Za-z]:|[\\/])/.test(command)) return [""];
  if (/[\\/]/.test(command)) return [platform.cwd === undefined ? "" : withSeparator(platform.cwd)];
  // The working directory is not searched, unlike in the shell: a server's folder must not shadow a program.
  return platform.path.split(";").map((entry) => entry.trim().replace(/^"(.*)"$/, "$1")).filter((entry) => entry !== "")
    .map(withSeparator);
}

function withSeparator(directory: string): string {
  return /[\\/]$/.test(directory) ? directory : `${directory}\\`;
}
