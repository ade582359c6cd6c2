import { fromFileUrl } from "../transport/file_url.ts";

/** A server in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  pid: number;
  port: number;
  /** Settles when the process has ended. */
  ended: Promise<unknown>;
  /** Writes a line to its stdin; what ended meanwhile hears nothing. */
  tell(line: string): Promise<void>;
}

/**
 * Starts a program that prints its port and serves until its stdin ends.
 *
 * @param program a module
 * @param args its arguments
 * @returns the server, which listens
 */
export async function startServerProcess(program: URL, args: readonly string[] = []): Promise<ServerProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--unstable-no-legacy-abort", "-A", fromFileUrl(program), ...args],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const output = child.stdout.getReader();
  const input = child.stdin.getWriter();
  const ended = child.status.then(() => Promise.allSettled([output.cancel(), input.close()]));
  const { value } = await output.read();
  if (value === undefined) {
    await ended;
    throw new Error(`${program.pathname} ended before it served`);
  }
  return {
    pid: child.pid,
    port: Number(new TextDecoder().decode(value)),
    ended,
    tell: (line) => input.write(new TextEncoder().encode(line + "\n")).catch(() => {}),
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      await ended;
    },
  };
}
