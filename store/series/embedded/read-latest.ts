/** The last point of each of many series: files are read from the newest back, until each series has one. */

import type { Row } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { asError } from "../../lib/errors.js";
import { throwIfCancelled } from "./cancellation.js";
import type { CatalogPart } from "./catalog-schema.js";
import { openLast } from "./checksums.js";
import { noTimeAbove, noTimeBelow } from "./columns.js";
import { fetchMerged } from "./fetch.js";
import type { LastPoint, PartOfSome, ReaderCalls } from "./protocol.js";
import type { ReaderFiles } from "./reader-files.js";
import { whileBusy } from "./sqlite.js";

const seriesAtOnceMax = 256;

export async function readLatest(
  files: ReaderFiles,
  { ids, texts, parts, floor, left }: ReaderCalls["latest"]["args"],
): Promise<(LastPoint | null)[]> {
  const isText = new Map(ids.map((id, i) => [id, texts[i] === true]));
  const found = new Map<number, LastPoint>();
  for (const part of parts.toReversed()) {
    const wanted = [...new Set(ids.filter((_, i) => mayHold(part, i)))].filter((id) => !found.has(id));
    for (let i = 0; i < wanted.length; i += seriesAtOnceMax) {
      const some = wanted.slice(i, i + seriesAtOnceMax);
      throwIfCancelled(left);
      for (const [id, point] of await latestFound(files, part, some, isText)) found.set(id, point);
    }
    if (found.size === ids.length) break;
  }
  return ids.map((id) => {
    const point = found.get(id);
    return point === undefined || point.time < floor ? null : point;
  });
}

const mayHold = (part: PartOfSome, i: number): boolean => ((part.has[i >> 3] ?? 0) & (1 << (i & 7))) !== 0;

/** As `latestInPart`; a part that is damaged does not hide the others. */
async function latestFound(
  files: ReaderFiles,
  part: CatalogPart,
  ids: readonly number[],
  isText: ReadonlyMap<number, boolean>,
): Promise<[number, LastPoint][]> {
  try {
    return await latestInPart(files, part, ids, isText);
  } catch (error) {
    if (!isDamage(error)) throw error;
    files.onFault(part, null, asError(error).message);
    return [];
  }
}

/** The last point of each series' newest chunk; of numbers only twelve bytes leave the file. */
async function latestInPart(
  files: ReaderFiles,
  part: CatalogPart,
  ids: readonly number[],
  isText: ReadonlyMap<number, boolean>,
): Promise<[number, LastPoint][]> {
  const db = await files.open(part);
  // A chunk from before there were checksums answers with the end of its data.
  const sql = `select c.series, c.stop, c.tail, case when c.sum is null then substr(c.data, -8) end
    from json_each(?1) j join chunk c on c.id = (select id from chunk where series = j.value
      and stop = (select max(stop) from chunk where series = j.value) order by id desc limit 1)`;
  const { rows } = await whileBusy(() => db.execute({ sql, args: [JSON.stringify(ids)] }));
  const points: [number, LastPoint][] = [];
  for (const row of rows) {
    const series = Number(row[0]);
    const time = Number(row[1]);
    const text = isText.get(series) === true;
    const value = text ? null : lastValue(series, time, row);
    const point = value === null ? await lastPoint(files, part, series, text) : { time, value };
    if (point !== null) points.push([series, point]);
  }
  return points;
}

/** From the chunks themselves: for text, and where a chunk lacks its last value or that is damaged. */
async function lastPoint(
  files: ReaderFiles,
  part: CatalogPart,
  id: number,
  text: boolean,
): Promise<LastPoint | null> {
  const range = { id, text, parts: [part], start: noTimeBelow, stop: noTimeAbove, left: null };
  const { times, values } = await fetchMerged(files, range, null, { newest: 1 });
  const time = times[0];
  const value = values[0];
  return time === undefined || value === undefined ? null : { time, value };
}

/** The last point in a number chunk's row, as `latestInPart` selects it; null where the chunk itself must be read. */
function lastValue(series: number, time: number, row: Row): number | null {
  if (row[2] !== null) return openLast(series, time, row[2] as ArrayBuffer);
  const data = row[3];
  return data instanceof ArrayBuffer && data.byteLength === 8 ? (new Float64Array(data)[0] ?? null) : null;
}
