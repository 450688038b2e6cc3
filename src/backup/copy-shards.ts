import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { copyDatabase } from "../../store/files/copy-database.js";
import { lastRecordID } from "../../store/journal/last-record.js";
import { shardFolders } from "../host/shard-folders.js";
import type { Copying } from "./copying.js";

/** Copies the files of all shards: each one's databases before its journal, so that none knows of more than that. */
interface ShardCopying {
  copy(): Promise<void>;
  /** Copies what has come to the journals since, and shards that have come since. Returns the folders of all. */
  since(): Promise<readonly string[]>;
  /** The last record of each journal in the copy. */
  lastIDs(): Promise<number[]>;
}

const databases = ["events.db", "sessions.db"] as const;

export function createShardCopying(from: string, work: string, copying: Copying): ShardCopying {
  async function copyOne(folder: string): Promise<void> {
    await mkdir(join(work, folder), { recursive: true, mode: 0o700 });
    for (const name of databases) {
      const [source, target] = [join(from, folder, name), join(work, folder, name)];
      if (existsSync(source) && !existsSync(target)) await copyDatabase(source, target, copying.throttle);
    }
    if (existsSync(join(from, folder, "journal"))) await copying.folder(join(folder, "journal"));
  }

  return {
    copy: async () => {
      for (const folder of await shardFolders(from)) await copyOne(folder);
    },
    since: async () => {
      const folders = await shardFolders(from);
      for (const folder of folders) {
        const journal = join(folder, "journal");
        if (existsSync(join(work, journal))) await copying.journalSince(journal);
        else await copyOne(folder);
      }
      return folders;
    },
    lastIDs: async () => {
      const journals = (await shardFolders(work)).map((folder) => join(work, folder, "journal"));
      return Promise.all(journals.filter((journal) => existsSync(journal)).map(lastRecordID));
    },
  };
}
