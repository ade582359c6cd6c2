import { assertEquals, assertMatch } from "@std/assert";
import {
  resolveWindowsCommand,
  type WindowsCommand,
  type WindowsRefusal,
} from "../../runtime/transport/command_windows.ts";

const FILES = [
  "c:\\tools\\npx",
  "c:\\tools\\npx.cmd",
  "c:\\tools\\node.exe",
  "c:\\program files\\py\\python.exe",
  "d:\\work\\bin\\server.bat",
];

function resolve(command: string, args: string[] = [], platform: Partial<{ pathExt: string; cwd: string }> = {}) {
  return resolveWindowsCommand(command, args, {
    path: 'C:\\tools;"C:\\Program Files\\py";',
    pathExt: ".COM;.EXE;.BAT;.CMD",
    comSpec: "C:\\Windows\\system32\\cmd.exe",
    isFile: (path) => FILES.includes(path.toLowerCase()),
    ...platform,
  });
}

Deno.test("resolveWindowsCommand finds a program by PATH and PATHEXT (S16)", () => {
  assertEquals(resolve("node", ["a b", "100%", '"q"', "x&y"]), {
    command: "C:\\tools\\node.EXE",
    args: ["a b", "100%", '"q"', "x&y"],
    verbatim: false,
  });
  assertEquals(resolve("python"), { command: "C:\\Program Files\\py\\python.EXE", args: [], verbatim: false });
  assertEquals(resolve("python.exe"), { command: "C:\\Program Files\\py\\python.exe", args: [], verbatim: false });
  assertEquals(resolve("node", [], { pathExt: "" }), { command: "C:\\tools\\node.EXE", args: [], verbatim: false });
});

Deno.test("resolveWindowsCommand finds the script behind bare npx, not the shell script beside it (S16)", () => {
  assertEquals(resolve("npx", ["-y", "a b", "x&y", "c:\\dir\\"]), {
    command: "C:\\Windows\\system32\\cmd.exe",
    args: ["/d", "/v:off", "/s", "/c", '""C:\\tools\\npx.CMD" "-y" "a b" "x&y" "c:\\dir\\\\""'],
    verbatim: true,
  });
});

Deno.test("resolveWindowsCommand refuses what no quoting keeps whole for a script, naming the place (S16)", () => {
  for (const bad of ["100%", '"q"', "a\nb", "a\r", "wow!"]) {
    const refusal = resolve("npx", ["-y", bad]) as WindowsRefusal;
    assertMatch(refusal.refused, /^argument 2 /);
    assertEquals(refusal.refused.includes(bad), false);
  }
});

Deno.test("resolveWindowsCommand looks for a path beside the working directory only (S16)", () => {
  assertEquals(
    (resolve("bin\\server", [], { cwd: "D:\\work" }) as WindowsCommand).args.at(-1),
    '""D:\\work\\bin\\server.BAT""',
  );
  assertEquals(resolve("C:\\tools\\node.exe"), { command: "C:\\tools\\node.exe", args: [], verbatim: false });
});

Deno.test("resolveWindowsCommand leaves a command that is not found to the system's own error (S16)", () => {
  assertEquals(resolve("missing", ["x"]), { command: "missing", args: ["x"], verbatim: false });
});
