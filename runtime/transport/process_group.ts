/**
 * Whether a process group still has a member that runs. Pure: what is read of the system is handed in.
 *
 * @module
 */

/**
 * Tells from `/proc/<pid>/stat` (Linux, proc_pid_stat) whether a process belongs to a group and runs. A process that has
 * ended stays in its group until its parent asks for it; an orphan in a container whose first process never does so
 * would count as alive for ever.
 *
 * @param stat text of the file
 * @param group id of the group
 * @returns true for a member that has not ended
 */
export function isRunningMember(stat: string, group: number): boolean {
  // The second field is the program's name in parentheses, which may hold anything, parentheses too.
  const [state, _parent, memberOf] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(memberOf) === group && state !== "Z" && state !== "X";
}

/**
 * Whether a group that signals can still be sent to has a member that runs.
 *
 * @param group id of the group
 * @param list lists the names in `/proc`
 * @param read reads a file
 * @returns true also when the system does not tell
 */
export function hasRunningMember(group: number, list: () => Iterable<string>, read: (path: string) => string): boolean {
  let names: string[];
  try {
    names = [...list()].filter((name) => /^\d+$/.test(name));
  } catch {
    return true; // No such file system, or it may not be read.
  }
  return names.length === 0 || names.some((name) => {
    try {
      return isRunningMember(read(`/proc/${name}/stat`), group);
    } catch {
      return false; // Ended between the two looks.
    }
  });
}
