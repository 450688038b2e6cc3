import { readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { createYielder } from "../../store/lib/scheduling.js";

/** Addresses of the names that the machine's own file gives; the file is read again when it has changed. */
type HostsFile = (name: string) => Promise<readonly string[]>;

/** Larger files are not read: they are lists of what is to be blocked. */
const fileBytesMax = 4 * 2 ** 20;

/** hosts(5): an address and its names a line, `#` begins a comment. */
export async function parseHosts(text: string): Promise<Map<string, string[]>> {
  const yieldIfDue = createYielder();
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    await yieldIfDue();
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = found.get(key);
      if (known === undefined) found.set(key, [address]);
      else known.push(address);
    }
  }
  return found;
}

export function createHostsFile(path = "/etc/hosts"): HostsFile {
  let known = new Map<string, string[]>();
  let readAt: number | null = null;
  return async (name) => {
    const found = await stat(path).catch(() => null);
    if (found === null || found.size > fileBytesMax) return [];
    if (found.mtimeMs !== readAt) {
      known = await parseHosts(await readFile(path, "utf8"));
      readAt = found.mtimeMs;
    }
    return known.get(name.toLowerCase().replace(/\.$/, "")) ?? [];
  };
}
