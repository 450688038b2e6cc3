/** Reads every byte of a data folder, live or copied, and reports each damaged file. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Throttle } from "../../store/files/copy-file.js";
import { integrityFault } from "../../store/files/integrity.js";
import { verifyJournal } from "../../store/journal/verify.js";
import { verifyPoints } from "../../store/series/embedded/verify.js";
import { shardFolders } from "../host/shard-folders.js";
import { holdsFilesAlone, isBackup, verifyBackup } from "./verify-backup.js";

/** A fault, its consequences, and what can be done. */
interface Finding {
  readonly file: string;
  readonly fault: string;
  readonly means: string;
  readonly mend: string;
}

interface Meaning {
  readonly means: string;
  readonly mend: string;
}

const fromBackup = "restore the file from a backup";
const journalMeaning: Meaning = {
  means: "the messages there are lost as events; points that were stored of them stay",
  mend: "nothing can make them again but a backup; the service goes on without them",
};
const pointsMeaning: Meaning = {
  means: "these points are missing from answers",
  mend: "the service finds them within a day, or as they are read, and writes them again from messages that are kept",
};
const ofBackup: Meaning = {
  means: "the backup is not what was written, and restore refuses it",
  mend: "use another backup; what is sound in this one can be copied by hand",
};
/** By the file's name. */
const meanings: Readonly<Record<string, Meaning>> = {
  "metadata.db": { means: "products, devices, rules and logs may be missing or wrong", mend: fromBackup },
  "events.db": {
    means: "lists of events fail until it is made again",
    mend: "the service makes it again from the journal",
  },
  "sessions.db": {
    means: "what waited for clients before the journal's oldest message is lost",
    mend: "the service makes it again from the journal",
  },
  "catalog.db": {
    means: "points cannot be found until it is made again",
    mend: "the service makes it again from the files of points and names.log",
  },
  "names.log": {
    means: "should catalog.db be lost too, these series have no names",
    mend: "nothing is to be done while catalog.db is sound",
  },
};

/** @param hasMetadata whether the metadata are a file of the folder */
export async function verifyFolder(dir: string, hasMetadata: boolean, throttle?: Throttle) {
  const shards = await shardFolders(dir);
  const journals = shards
    .map((folder) => join(dir, folder, "journal"))
    .filter((journal) => existsSync(journal));
  if (journals.length === 0 && !existsSync(join(dir, "metadata.db")))
    throw new Error(`${dir} is no data folder: it has neither a journal nor metadata.db`);
  const findings: Finding[] = [];
  const backup = isBackup(dir)
    ? await verifyBackup(dir, (file, fault) => findings.push({ file, fault, ...ofBackup }), throttle)
    : null;
  const find = (file: string, fault: string): void => {
    findings.push({ file, fault, ...describeFile(file) });
  };
  const told =
    backup === null
      ? {}
      : {
          backup: {
            createdAt: backup.createdAt,
            journalID: backup.journalID,
            journalIDs: backup.journalIDs ?? [backup.journalID],
          },
        };
  // Entries that are no files have been reported. Reading them could block, or lead out of the folder.
  if (isBackup(dir) && !(await holdsFilesAlone(dir))) {
    return { folder: dir, sound: false, ...told, databases: [], journal: null, series: null, findings };
  }
  const databases: string[] = [];
  if (hasMetadata && backup === null && !existsSync(join(dir, "metadata.db"))) {
    find(join(dir, "metadata.db"), "it is missing");
  }
  const ofShards = shards.flatMap((folder) => [join(folder, "events.db"), join(folder, "sessions.db")]);
  for (const name of ["metadata.db", ...ofShards]) {
    const path = join(dir, name);
    if (!existsSync(path)) continue;
    databases.push(name);
    const fault = await integrityFault(path);
    if (fault !== null) find(path, fault);
  }
  const journal = journals.length === 0 ? null : await verifyJournals(journals, find);
  const series = existsSync(join(dir, "series")) ? await verifyPoints(join(dir, "series"), find) : null;
  return { folder: dir, sound: findings.length === 0, ...told, databases, journal, series, findings };
}

/** Verifies journals and counts what was read of all of them. */
async function verifyJournals(dirs: readonly string[], find: (file: string, fault: string) => void) {
  const all = { segments: 0, records: 0, bytes: 0 };
  for (const dir of dirs) {
    const { segments, records, bytes } = await verifyJournal(dir, find);
    all.segments += segments;
    all.records += records;
    all.bytes += bytes;
  }
  return all;
}

function describeFile(file: string): Meaning {
  return meanings[basename(file)] ?? (basename(dirname(file)) === "journal" ? journalMeaning : pointsMeaning);
}
