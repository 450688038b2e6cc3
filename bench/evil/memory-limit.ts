import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface MemoryLimit {
  /** From now on the process and what it starts are killed beyond the limit. */
  add(pid: number): void;
  remove(): void;
}

/** The two ways in which Linux mounts the controller, and the names that each has for the limit. */
const controllers = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", shown: "memory.usage_in_bytes" },
  { root: "/sys/fs/cgroup", limit: "memory.max", shown: "cgroup.controllers" },
] as const;

/** A control group of the kernel with a bound on memory; null where this system gives us none. */
export function createMemoryLimit(name: string, bytes: number): MemoryLimit | null {
  for (const { root, limit, shown } of controllers) {
    if (!existsSync(join(root, shown))) continue;
    const group = join(root, name);
    try {
      mkdirSync(group, { recursive: true });
      writeFileSync(join(group, limit), String(bytes));
      if (Math.abs(Number(readFileSync(join(group, limit), "utf8")) - bytes) > 4096) continue;
      return {
        add: (pid) => writeFileSync(join(group, "cgroup.procs"), String(pid)),
        remove: () => {
          try {
            rmdirSync(group);
          } catch {
            // Somebody is still in it: the kernel removes nothing then, and neither do we.
          }
        },
      };
    } catch {
      // No right to it here.
    }
  }
  return null;
}
