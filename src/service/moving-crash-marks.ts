/**
 * Crash marks of records that end the process, if shards move: they are in the metadata, for the node that takes the
 * shard of a process that has ended.
 */
import { createDeadLetters } from "../../store/journal/dead-letters.js";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { noWork, readWork, type Work, type WorkMark } from "../../store/journal/work-mark.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import {
  readDeadLetterRecord,
  readDeadLetters,
  readShardWork,
  removeDeadLetter,
  writeDeadLetter,
  writeShardWork,
} from "../../store/metadata/cluster/shard-crashes.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Logger } from "../observability/log.js";
import type { CrashMarks } from "./crash-marks.js";

/** @param databaseOfShard the metadata, written to only while this process has the shard */
export function movingCrashMarks(
  db: Pick<Db, "all">,
  databaseOfShard: (shard: number) => Db,
  log: Logger,
): CrashMarks {
  const works = new Map<number, ReadonlyMap<string, string>>();
  const asides = createDeadLetters({
    add: async (deadLetter, record) => {
      const shard = shardOfID(deadLetter.id);
      try {
        await writeDeadLetter(databaseOfShard(shard), shard, deadLetter, record);
      } catch (error) {
        // This must not end the process, which knows the record. The next owner of the shard may have to find it again.
        log.error("cannot write down for other nodes that a message is set aside", {
          shard,
          id: deadLetter.id,
          error: asError(error),
        });
      }
    },
    read: async ({ id, follower }) => {
      const record = await readDeadLetterRecord(databaseOfShard(shardOfID(id)), id, follower);
      if (record === undefined) throw new StoreError("NOT_FOUND", `no message ${id} is set aside`);
      return Buffer.from(record);
    },
    remove: ({ id, follower }) => removeDeadLetter(databaseOfShard(shardOfID(id)), id, follower),
  });

  return {
    // A note is a write to the metadata, and each further end takes another node along.
    pace: { notesMax: 32, aloneAtOnceMax: 16, endsMax: 1 },
    asides,
    everywhere: () => readDeadLetters(db, null),
    open: async (shard) => {
      const [work, deadLetter] = await Promise.all([readShardWork(db, shard), readDeadLetters(db, shard)]);
      works.set(shard, work);
      asides.open(deadLetter);
    },
    workMark: ({ number }, follower) => {
      const before = works.get(number)?.get(follower) ?? null;
      return createWorkMark(
        before,
        (work) => writeShardWork(databaseOfShard(number), number, follower, work),
        (error) =>
          log.warn("cannot write down what is in work: should it end this node, others do not know of it", {
            shard: number,
            follower,
            error,
          }),
      );
    },
    forget: (shard) => {
      works.delete(shard);
      asides.letGo(shard);
    },
  };
}

/** Once a note cannot be written there are no more of them: what follows the journal must not wait for each. */
function createWorkMark(
  before: string | null,
  write: (work: string | null) => Promise<void>,
  onFailed: (error: Error) => void,
): WorkMark {
  let isOpen = true;
  let written = before;
  let wanted = before;
  let writing: Promise<void> | null = null;

  async function writeWanted(): Promise<void> {
    // Only the last note of one turn of the event loop is written.
    await Promise.resolve();
    try {
      while (isOpen && wanted !== written) {
        const next = wanted;
        await write(next);
        written = next;
      }
    } catch (error) {
      isOpen = false;
      onFailed(asError(error));
    }
    writing = null;
  }

  return {
    before: before === null ? noWork : readWork(before),
    write: (work) => {
      if (!isOpen) return undefined;
      wanted = formatWork(work);
      if (writing === null && wanted === written) return undefined;
      writing ??= writeWanted();
      return writing;
    },
    close: () => {
      isOpen = false;
    },
  };
}

const formatWork = (work: Work): string | null =>
  work.work === null && work.suspect === null ? null : JSON.stringify(work);
