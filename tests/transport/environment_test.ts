import { assertEquals } from "@std/assert";
import { childEnvironment, DEFAULT_INHERITED } from "../../runtime/transport/environment.ts";

function parent(variables: Record<string, string>, windows = false) {
  return { windows, get: (name: string) => variables[name] };
}

const LOCATIONS = "DENO_CERT DENO_DIR DENO_TLS_CA_STORE NODE_EXTRA_CA_CERTS SSL_CERT_DIR SSL_CERT_FILE";

// A pin. When it goes red: the list is part of the public surface, so change docs/stdio.md and CHANGELOG.md with it, and
// add no variable that commonly holds a secret.
Deno.test("DEFAULT_INHERITED is the documented list (S15)", () => {
  assertEquals(
    DEFAULT_INHERITED.posix.join(" "),
    "HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER " + LOCATIONS,
  );
  assertEquals(
    DEFAULT_INHERITED.windows.join(" "),
    "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATH PATHEXT PROCESSOR_ARCHITECTURE " +
      "PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR " +
      LOCATIONS,
  );
});

Deno.test("DEFAULT_INHERITED is what docs/stdio.md says", async () => {
  const page = (await Deno.readTextFile(new URL("../../docs/stdio.md", import.meta.url))).replace(/\s+/g, " ");
  for (const list of Object.values(DEFAULT_INHERITED)) {
    assertEquals(page.includes(list.map((name) => `\`${name}\``).join(", ")), true, list.join(" "));
  }
});

Deno.test("childEnvironment inherits the list, lays env over it and the auth record's env over that (S15)", () => {
  const variables = { PATH: "/bin", HOME: "/home/me", USER: "me", OUR_TOKEN: "secret", TERM: "() { :; }; echo" };
  assertEquals(childEnvironment(parent(variables), "default", { A: "1", HOME: "/x" }, { A: "2", B: "3" }), {
    clear: true,
    env: { PATH: "/bin", HOME: "/x", USER: "me", A: "2", B: "3" },
  });
});

Deno.test("childEnvironment inherits all, none or the names given (S15)", () => {
  const variables = parent({ PATH: "/bin", HOME: "/home/me", MINE: "1" });
  assertEquals(childEnvironment(variables, "all", { A: "1" }), { clear: false, env: { A: "1" } });
  assertEquals(childEnvironment(variables, "none", { A: "1" }), { clear: true, env: { A: "1" } });
  assertEquals(childEnvironment(variables, ["MINE", "NOT_SET"], {}), { clear: true, env: { MINE: "1" } });
});

Deno.test("childEnvironment compares names without case on Windows (S15)", () => {
  const { env } = childEnvironment(parent({ PATH: "C:\\Windows" }, true), "default", { Path: "C:\\mine" }, {});
  assertEquals(env, { Path: "C:\\mine" });
});
