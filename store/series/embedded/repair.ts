import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import type { Damage } from "../../files/damage.js";
import { isDamage } from "../../files/database-faults.js";
import { quarantineFile } from "../../files/database-file.js";
import type { GapRow, SeriesCatalog } from "./catalog.js";
import { type ChunkFault, loadChunks, quarantineChunkRow } from "./chunk-rows.js";
import type { Gap } from "./gaps.js";
import type { Parts } from "./parts.js";
import { salvageFile } from "./salvage.js";
import { lostWith, type StoredPart } from "./stored-part.js";

/** Quarantines damaged chunks and files, reports them, and records which points have to be written again. */
export interface Repair {
  /** A chunk that could not be read, to be quarantined at the next step. */
  note(part: StoredPart, fault: ChunkFault): void;
  /** What a reader left out of an answer: a chunk, or (null) something else of the part. */
  suspect(path: string, chunk: ChunkFault | null, fault: string): void;
  /** Quarantines what was noted, and moves parts whose files are gone; false when there was nothing to do. */
  step(): Promise<boolean>;
  /** Moves what can be read of a part into a new file. */
  move(part: StoredPart, fault: string): Promise<void>;
}

export function createRepair(deps: {
  dir: string;
  catalog: SeriesCatalog;
  parts: Parts;
  onDamage: (damage: Damage) => void;
  onGap: (gap: Gap) => void;
}): Repair {
  const { dir, catalog, parts, onDamage, onGap } = deps;
  const chunks = new Map<string, { part: StoredPart; fault: ChunkFault }>();
  const givenUp = new Map<StoredPart, string>();

  /** Puts a gap on record before anything is moved, so that a kill forgets nothing, and reports it afterwards. */
  async function withGap(gap: Omit<GapRow, "id">, work: () => Promise<void>): Promise<void> {
    const row = await catalog.addGap(gap);
    await work();
    const named = await toGap(catalog, row);
    if (named === null) await catalog.removeGap(row.id);
    else onGap(named);
  }

  async function quarantineChunk(part: StoredPart, chunk: ChunkFault): Promise<void> {
    const { id, series, start, stop, points, fault } = chunk;
    const text = await catalog.isText(series);
    const size = await parts.use(part, (client) => chunkBytes(client, id));
    const faults: ChunkFault[] = [];
    const look = (client: Client) =>
      loadChunks(client, series, [chunk], text, { onFault: (one) => faults.push(one) });
    const found = await parts.use(part, look);
    // Removed or rewritten since.
    if (faults.length + found.length === 0) return;
    const name = await catalog.nameOf(series);
    const of =
      name === undefined ? series : `${name.tenant}/${name.productID}/${name.deviceID}/${name.field}`;
    const span = spanText(start, stop);
    const what = `chunk ${id} of series ${of}, ${span}: ${fault}; its ${points} points are left out until kept messages bring them again`;
    onDamage({ part: "series", file: join(dir, part.path), what, lostBytes: size });
    await withGap({ start, stop: stop + 1, series }, () =>
      parts.use(part, (client) => quarantineChunkRow(client, id)),
    );
  }

  async function move(part: StoredPart, fault: string): Promise<void> {
    givenUp.delete(part);
    const old = part.path;
    const sizeBefore = existsSync(join(dir, old)) ? statSync(join(dir, old)).size : 0;
    const path = parts.nextName(old);
    const saved = await salvageFile(
      join(dir, old),
      parts.connected(part) ?? null,
      join(dir, path),
      catalog.isText,
    );
    const { start, stop } = lostWith(part);
    await withGap({ start, stop, series: 0 }, () => parts.replace(part, path));
    const quarantined = existsSync(join(dir, old)) ? await quarantineFile(join(dir, old)) : null;
    const where = quarantined === null ? "" : `; put aside as ${quarantined}`;
    const span = spanText(start, stop);
    const what = `${fault}${where}; ${saved.chunks} sound chunks now lie in ${path}, its other points of ${span} are left out`;
    const lostBytes = Math.max(0, sizeBefore - saved.bytes);
    onDamage({ part: "series", file: join(dir, old), what, lostBytes });
  }

  async function step(): Promise<boolean> {
    for (const part of parts.list()) {
      const gone = parts.missing(part);
      if (gone !== null) givenUp.set(part, gone);
    }
    const [lost] = givenUp;
    if (lost !== undefined) {
      await move(...lost);
      return true;
    }
    const [chunk] = chunks;
    if (chunk === undefined) return false;
    const [key, { part, fault }] = chunk;
    chunks.delete(key);
    if (parts.list().includes(part)) await quarantineChunk(part, fault);
    return true;
  }

  return {
    note: (part, fault) => {
      chunks.set(`${part.path} ${fault.id}`, { part, fault });
    },
    suspect: (path, chunk, fault) => {
      const part = parts.list().find((one) => one.path === path);
      // Everything about a file that is no longer used has been reported.
      if (part === undefined) return;
      if (chunk !== null) chunks.set(`${path} ${chunk.id}`, { part, fault: chunk });
      else givenUp.set(part, fault);
    },
    step,
    move,
  };
}

/** A gap with the name of its series, whose points are then looked for elsewhere; null where the series was removed. */
export async function toGap(catalog: Pick<SeriesCatalog, "nameOf">, row: GapRow): Promise<Gap | null> {
  const { id, start, stop, series } = row;
  if (series === 0) return { id, start, stop, series: null };
  const name = await catalog.nameOf(series);
  return name === undefined ? null : { id, start, stop, series: name };
}

/** The bytes of a damaged chunk, as its row still gives them. */
async function chunkBytes(client: Client, id: number): Promise<number> {
  try {
    const { rows } = await client.execute({
      sql: "select length(data) from chunk where id = ?",
      args: [BigInt(id)],
    });
    return Number(rows[0]?.[0] ?? 0);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return 0;
  }
}

/** Both in microseconds. */
const spanText = (start: number, stop: number): string =>
  `${new Date(start / 1000).toISOString()} to ${new Date(stop / 1000).toISOString()}`;
