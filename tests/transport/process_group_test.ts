import { assertEquals } from "@std/assert";
import { hasRunningMember, isRunningMember } from "../../runtime/transport/process_group.ts";

Deno.test("isRunningMember reads state and group behind the program's name, whatever that is (S11)", () => {
  assertEquals(isRunningMember("12 (node) S 1 10 10 0 -1", 10), true);
  assertEquals(isRunningMember("12 (a) R (b) S 1 10 10 0 -1", 10), true);
  assertEquals(isRunningMember("12 (node) Z 1 10 10 0 -1", 10), false);
  assertEquals(isRunningMember("12 (node) X 1 10 10 0 -1", 10), false);
  assertEquals(isRunningMember("12 (node) S 1 11 10 0 -1", 10), false);
});

Deno.test("hasRunningMember finds a member that runs, and takes silence of the system for yes (S11)", () => {
  const files: Record<string, string> = { "/proc/5/stat": "5 (x) Z 1 10 10", "/proc/6/stat": "6 (y) S 1 10 10" };
  const read = (path: string) => {
    if (files[path] === undefined) throw new Error("gone");
    return files[path];
  };
  assertEquals(hasRunningMember(10, () => ["self", "5", "6", "7"], read), true);
  assertEquals(hasRunningMember(10, () => ["self", "5", "7"], read), false);
  assertEquals(hasRunningMember(10, () => [], read), true);
  const refuse = () => {
    throw new Error("not permitted");
  };
  assertEquals(hasRunningMember(10, refuse, read), true);
});
