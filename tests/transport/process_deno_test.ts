import { assert } from "@std/assert";
import { denoHost } from "../../runtime/transport/process_deno.ts";

Deno.test("ServerProcess: ref and unref never throw while the child ends (S10, S13)", async () => {
  for (let i = 0; i < 20; i++) {
    const child = await denoHost()!.spawn({
      command: "/bin/sh",
      args: ["-c", "exit 0"],
      env: {},
      clearEnv: true,
      ownGroup: true,
      stdout: "pipe",
      stderr: "pipe",
    });
    let over = false;
    const exited = child.exited.then(() => over = true);
    const bound = performance.now() + 10_000;
    while (!over && performance.now() < bound) {
      child.unref();
      child.ref();
      // The moment that matters lies between two turns of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    assert(over, "the child ended");
    await Promise.all([exited, child.stdoutEnded, child.stderrEnded]);
    child.release();
  }
});
