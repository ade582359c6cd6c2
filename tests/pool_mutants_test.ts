/** The model of the pool finds bugs: each is put into a copy of the sources, and the copy's model has to name the rule. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
/** What the model is made of. */
const PARTS = ["deno.json", "deno.lock", "runtime", "tests/model", "tests/fakes", "tests/std"];
/** The same sequences each time: whether a bug is found must not be luck. */
const SEED = "1";
const SEQUENCES = "3000";
const AT_ONCE = 3;
/** A bug may also make the model run for ever. */
const LIMIT_MS = 50_000;

interface Mutant {
  bug: string;
  file: string;
  /** Occurs once in the file. */
  text: string;
  becomes: string;
  /** What the model has to say. */
  rule: RegExp;
}

const MUTANTS: Mutant[] = [
  {
    bug: "a call is sent twice",
    file: "runtime/pool_call.ts",
    text: 'return error.delivery === "not-sent" || retry === "idempotent" && error.delivery === "unknown";',
    becomes: 'return error.delivery !== "answered";',
    rule: /^Error: call \d+ of \S+ is sent twice$/m,
  },
  {
    bug: "a late close event evicts the successor",
    file: "runtime/pool_sessions.ts",
    text: "    slot.leaving--;\n",
    becomes: "    slot.leaving--;\n    slot.live = undefined;\n",
    rule: /^Error: two sessions of \S+ live at the same time$/m,
  },
  {
    bug: "a waiter is lost",
    file: "runtime/slot.ts",
    text: "for (let waiter = group.waiters.shift(); waiter; waiter = group.waiters.shift()) waiter.deliver(live);",
    becomes: "group.waiters.shift()?.deliver(live);",
    rule: /^(Error: )?call \d+ waits for ever /m,
  },
  {
    bug: "a listener is left on a caller's signal",
    file: "runtime/pool_wait.ts",
    text: 'signal?.removeEventListener("abort", onAbort);',
    becomes: "",
    rule: /left a listener on its signal$|a listener is left on a shared signal$/m,
  },
  {
    bug: "the backoff is off",
    file: "runtime/backoff.ts",
    text: "const delayMs = limits === false || doublings < 0",
    becomes: "const delayMs = limits !== undefined",
    rule: /^Error: \S+ is opened \d+(\.\d+)? ms before its backoff is over$/m,
  },
  {
    bug: "the least recently used session may be a busy one",
    file: "runtime/pool_sessions.ts",
    text: "if (live?.idle && slot.waiting === 0 &&",
    becomes: "if (live && slot.waiting === 0 &&",
    rule: /^Error: \S+ is evicted \(max-sessions\) while busy$/m,
  },
  {
    bug: "one key has two sessions",
    file: "runtime/slot.ts",
    text: "if (!this.#driving) this.#drive();",
    becomes: "this.#drive();",
    rule: /^(first seen as: )?Error: two sessions of \S+ live at the same time$/m,
  },
];

async function copy(from: URL, to: string): Promise<void> {
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(new URL(`${from}/${name}`), `${to}/${name}`);
}

async function mutate(folder: string, { bug, file, text, becomes }: Mutant): Promise<void> {
  const path = `${folder}/${file}`;
  const pieces = (await Deno.readTextFile(path)).split(text);
  if (pieces.length !== 2) throw new Error(`"${bug}": its text is ${pieces.length - 1} times in ${file}, not once`);
  await Deno.writeTextFile(path, pieces.join(becomes));
}

/** Runs the model of a copy of the sources. */
async function modelOfCopy(mutant?: Mutant): Promise<{ code: number; said: string }> {
  const folder = await Deno.makeTempDir({ prefix: "pool_mutant_" });
  try {
    await Deno.mkdir(`${folder}/tests`);
    for (const part of PARTS) await copy(new URL(part, ROOT), `${folder}/${part}`);
    if (mutant) await mutate(folder, mutant);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", `--config=${folder}/deno.json`, `${folder}/tests/model/main.ts`, SEQUENCES, SEED],
      cwd: folder,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
    try {
      const { code, stdout, stderr } = await child.output();
      const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      return { code, said: `${out}\n${err}` };
    } finally {
      clearTimeout(limit);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Whether the model found the bug: by its exit code, with a way to repeat it, and by the right rule. */
async function verdict(mutant: Mutant): Promise<string> {
  const { code, said } = await modelOfCopy(mutant);
  if (code === 1 && mutant.rule.test(said) && said.includes("again: deno task model 1 ")) return "found";
  return `exit code ${code}: ${said.slice(said.indexOf("sequences, seed"), said.indexOf("sequences, seed") + 1_500)}`;
}

Deno.test("model of the pool: holds on an unchanged copy of the sources", async () => {
  const { code, said } = await modelOfCopy();
  assertStringIncludes(said, `${SEQUENCES} sequences, seed ${SEED}`);
  assertStringIncludes(said, "every rule held");
  assertEquals(code, 0);
});

Deno.test("model of the pool: finds each bug that is put into a copy of the sources, by its rule", async () => {
  const verdicts: Record<string, string> = {};
  const left = [...MUTANTS];
  const work = async () => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) verdicts[mutant.bug] = await verdict(mutant);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  assertEquals(verdicts, Object.fromEntries(MUTANTS.map(({ bug }) => [bug, "found"])));
});

Deno.test("model of the pool: a bug whose text is not there exactly once is refused, never run", async () => {
  for (const [text, times] of [["no such text", 0], ["this.#groups", 20]] as const) {
    const mutant = { ...MUTANTS[0], file: "runtime/slot.ts", text };
    const error = await assertRejects(() => modelOfCopy(mutant), Error, "not once");
    if (times === 0) assertStringIncludes(error.message, "is 0 times in runtime/slot.ts");
  }
});
