import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { integrityFault } from "../../files/integrity.js";
import { asError } from "../../lib/errors.js";
import { chunkSum } from "./checksums.js";
import { readNamesLog } from "./names-log.js";
import { openPartFileToRead } from "./part-file.js";

interface PointsVerified {
  readonly files: number;
  readonly chunks: number;
  readonly points: number;
  /** Chunks from before there were checksums: only their place in the file is checked. */
  readonly withoutSum: number;
}

const rowsPerRead = 64;
/** Faulty chunks of one file that are told one by one. */
const toldMax = 100;

/**
 * Checks every chunk of points, the catalog and the log of names in a folder that may be in use, and changes nothing.
 * `onFault` is told of each part that is not as it was written.
 */
export async function verifyPoints(
  dir: string,
  onFault: (file: string, fault: string) => void,
): Promise<PointsVerified> {
  const verified = { files: 0, chunks: 0, points: 0, withoutSum: 0 };
  for (const name of (await readdir(dir)).filter((one) => one.endsWith(".db")).sort()) {
    const path = join(dir, name);
    verified.files++;
    const fault = await integrityFault(path);
    if (fault !== null) onFault(path, fault);
    if (basename(path) === "catalog.db") continue;
    try {
      await verifyChunks(path, verified, (told) => onFault(path, told));
    } catch (error) {
      onFault(path, asError(error).message);
    }
  }
  let lines = 0;
  const log = join(dir, "names.log");
  for await (const _ of readNamesLog(log, () => void lines++)) if (lines > toldMax) break;
  if (lines > 0)
    onFault(log, `${lines > toldMax ? "more than " : ""}${Math.min(lines, toldMax)} lines are damaged`);
  return verified;
}

async function verifyChunks(
  path: string,
  verified: { chunks: number; points: number; withoutSum: number },
  onFault: (fault: string) => void,
): Promise<void> {
  const client = await openPartFileToRead(path);
  let faults = 0;
  try {
    for (let after = 0, isEnd = false; !isEnd; ) {
      const { rows } = await client.execute({
        sql: "select id, series, start, stop, n, sum, data from chunk where id > ? order by id limit ?",
        args: [BigInt(after), BigInt(rowsPerRead)],
      });
      for (const row of rows) {
        const [id = 0, series = 0, start = 0, stop = 0, points = 0] = numbers(row);
        after = id;
        verified.chunks++;
        verified.points += points;
        if (row[5] === null) verified.withoutSum++;
        // A series' negated id marks a chunk that was found damaged before, and put aside.
        else if (
          series > 0 &&
          chunkSum({ series, start, stop, points }, new Uint8Array(row[6] as ArrayBuffer)) !== Number(row[5])
        ) {
          if (++faults <= toldMax)
            onFault(
              `chunk ${id}: ${points} points of series ${series} from ${timeOf(start)} to ${timeOf(stop)}: its checksum differs`,
            );
        }
      }
      isEnd = rows.length < rowsPerRead;
    }
    if (faults > toldMax) onFault(`and ${faults - toldMax} chunks more`);
  } finally {
    client.close();
  }
}

const numbers = (row: ArrayLike<unknown>): number[] => [0, 1, 2, 3, 4].map((i) => Number(row[i]));

const timeOf = (micros: number): string => new Date(micros / 1000).toISOString();
