/**
 * A disk that loses, when its power fails, what was not synced: simulated. A library that is preloaded into the process
 * (`sync-ledger.c`) writes down the length of each file as it is synced; once the process has been killed, every file is
 * cut to that length, and what a process maps into its memory (Kafka's indexes) is lost. So everything is lost that was
 * not asked for to be kept, at once and always, where a real disk would have kept some of it. Names are different: files
 * that were made, renamed, removed or cut stay so, as with the journal of ext4.
 */
import { execFile, spawnSync } from "node:child_process";
import { appendFile, readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../repository.js";

/** A disk for one process at a time. */
export interface Disk {
  /** What the process must have in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What is there now is on the disk. */
  syncAll(): Promise<void>;
  /** The process has been killed, and the power was cut at that moment. */
  loseUnsynced(): Promise<void>;
}

/** Why there can be no such disk here, in one line. */
export function lossyDiskMissing(): string | undefined {
  if (process.platform !== "linux") return "disks that lose what was not synced are simulated on Linux alone";
  const { error } = spawnSync("gcc", ["--version"]);
  return error === undefined ? undefined : "gcc is not installed: apt-get install gcc libc6-dev";
}

/** Resolves with the library's path. */
export async function compileLedger(dir: string): Promise<string> {
  const library = join(dir, "sync-ledger.so");
  const source = join(repositoryRoot(), "test/kafka/sync-ledger.c");
  await promisify(execFile)("gcc", ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, source, "-ldl"]);
  return library;
}

const mapped = /\.(index|timeindex|txnindex)$/;

export function openDisk(library: string, dataDir: string, ledger: string): Disk {
  const files = async () =>
    (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const identify = async (path: string) => {
    const { ino, birthtimeNs, size } = await stat(path, { bigint: true });
    return { file: `${ino} ${birthtimeNs}`, size };
  };
  return {
    environment: { LD_PRELOAD: library, SYNC_LEDGER: ledger },
    syncAll: async () => {
      for (const { parentPath, name } of await files()) {
        const { file, size } = await identify(join(parentPath, name));
        await appendFile(ledger, `s ${file} ${size}\n`);
      }
    },
    loseUnsynced: async () => {
      const lengths = lengthsIn(await readFile(ledger, "latin1"));
      for (const { parentPath, name } of await files()) {
        const path = join(parentPath, name);
        if (mapped.test(name)) await rm(path);
        else {
          const { file, size } = await identify(path);
          const length = lengths.get(file) ?? 0;
          if (size > length) await truncate(path, length);
        }
      }
    },
  };
}

/** By inode and time: up to where each file is on the disk. */
function lengthsIn(ledger: string): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const line of ledger.split("\n")) {
    const [what, inode, madeAt, text] = line.split(" ");
    const [file, length] = [`${inode} ${madeAt}`, Number(text)];
    const before = lengths.get(file) ?? 0;
    if (what === "s") lengths.set(file, Math.max(before, length));
    else if (what === "c") lengths.set(file, Math.min(before, length));
  }
  return lengths;
}
