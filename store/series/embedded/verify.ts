import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { integrityFault } from "../../files/integrity.js";
import { asError } from "../../lib/errors.js";
import { chunkSum } from "./checksums.js";
import { readNamesLog } from "./names-log.js";
import { openPartFileToRead } from "./part-file.js";
import { readCatalog } from "./read-catalog.js";

interface PointsVerified {
  readonly files: number;
  readonly chunks: number;
  readonly points: number;
  /** Chunks from before there were checksums: only their place in the file is checked. */
  readonly withoutSum: number;
  /** Chunks that were found damaged before, and are left out of answers. */
  readonly setAside: number;
}

const rowsPerRead = 64;
/** Faulty chunks of one file that are reported one by one. */
const listedMax = 100;

/**
 * Checks every chunk of points, the catalog and the log of names in a folder that may be in use, and changes nothing.
 * `onFault` receives each part that is not as it was written.
 */
export async function verifyPoints(
  dir: string,
  onFault: (file: string, fault: string) => void,
): Promise<PointsVerified> {
  const verified = { files: 0, chunks: 0, points: 0, withoutSum: 0, setAside: 0 };
  const names = new Set((await readdir(dir)).filter((one) => one.endsWith(".db")));
  for (const name of await listParts(dir, onFault)) names.add(name);
  for (const name of [...names].sort()) {
    const path = join(dir, name);
    const faults = await listFaults(path, verified);
    if (faults.length > 0 && !existsSync(path)) {
      // In a folder in use a file that is replaced is gone, and in the catalog no more.
      if ((await listParts(dir, () => undefined)).includes(name)) onFault(path, "it is missing");
      continue;
    }
    verified.files++;
    for (const fault of faults) onFault(path, fault);
  }
  let lines = 0;
  const log = join(dir, "names.log");
  for await (const _ of readNamesLog(log, () => void lines++)) if (lines > listedMax) break;
  if (lines > 0)
    onFault(log, `${lines > listedMax ? "more than " : ""}${Math.min(lines, listedMax)} lines are damaged`);
  return verified;
}

/** The files of points that the catalog names; none where it cannot be read, which is reported separately. */
async function listParts(
  dir: string,
  onFault: (file: string, fault: string) => void,
): Promise<readonly string[]> {
  const path = join(dir, "catalog.db");
  if (!existsSync(path)) onFault(path, "it is missing");
  else if ((await integrityFault(path)) === null) return (await readCatalog(path)).parts;
  return [];
}

type Counts = { -readonly [name in keyof PointsVerified]: PointsVerified[name] };

async function listFaults(path: string, verified: Counts): Promise<string[]> {
  if (!existsSync(path)) return ["it is missing"];
  const fault = await integrityFault(path);
  const faults = fault === null ? [] : [fault];
  if (basename(path) === "catalog.db") return faults;
  try {
    await verifyChunks(path, verified, (told) => faults.push(told));
  } catch (error) {
    faults.push(asError(error).message);
  }
  return faults;
}

async function verifyChunks(path: string, verified: Counts, onFault: (fault: string) => void): Promise<void> {
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
        // Rows that are out of order would lead in a circle.
        if (id <= after) throw new Error(`chunk ${id} follows chunk ${after}`);
        after = id;
        verified.chunks++;
        verified.points += points;
        // A series' negated id marks a chunk that was found damaged before, and quarantined.
        if (series < 0) verified.setAside++;
        else if (row[5] === null) verified.withoutSum++;
        else if (
          chunkSum({ series, start, stop, points }, new Uint8Array(row[6] as ArrayBuffer)) !== Number(row[5])
        ) {
          if (++faults <= listedMax)
            onFault(
              `chunk ${id}: ${points} points of series ${series} from ${formatTime(start)} to ${formatTime(stop)}: its checksum differs`,
            );
        }
      }
      isEnd = rows.length < rowsPerRead;
    }
    if (faults > listedMax) onFault(`and ${faults - listedMax} chunks more`);
  } finally {
    client.close();
  }
}

const numbers = (row: ArrayLike<unknown>): number[] => [0, 1, 2, 3, 4].map((i) => Number(row[i]));

const formatTime = (micros: number): string => new Date(micros / 1000).toISOString();
