import type { Catalog, Part } from "./catalog.js";
import { trimChunk } from "./flush.js";
import type { Parts } from "./parts.js";
import { inTransaction } from "./sqlite.js";

export interface Removal {
  /** Deletes some chunks of a removed series; false when no removed series is left. */
  sweepStep(): Promise<boolean>;
  /** Deletes or trims some chunks older than `time` in the months that reach over it; false when done. */
  trimStep(time: number): Promise<boolean>;
}

const CHUNKS_A_STEP_MAX = 64;
const SCANNED_A_STEP_MAX = 512;

/** The slow half of removals: what they take is never answered any more, here its space is freed. */
export function createRemoval({ catalog, parts }: { catalog: Catalog; parts: Parts }): Removal {
  let trim: { time: number; part: Part; after: number } | undefined;

  async function sweepStep(): Promise<boolean> {
    const series = await catalog.nextRemoved();
    if (series === undefined) return false;
    for (const part of parts.list()) {
      const client = await parts.client(part);
      const { rowsAffected } = await client.execute({
        sql: "delete from chunk where id in (select id from chunk where series = ?1 limit ?2)",
        args: [BigInt(series), BigInt(CHUNKS_A_STEP_MAX)],
      });
      if (rowsAffected > 0) return true;
    }
    await catalog.forget(series);
    return true;
  }

  async function trimStep(time: number): Promise<boolean> {
    if (trim?.time !== time) {
      const part = parts.list().find(({ start, stop }) => start < time && time < stop);
      if (part === undefined) return false;
      trim = { time, part, after: 0 };
    }
    const last = await trimSome(trim.part, trim.after, time);
    if (last === undefined) trim = undefined;
    else trim.after = last;
    return last !== undefined;
  }

  /** One stretch of ids behind `after`; answers the last id seen, undefined at the end. */
  async function trimSome(part: Part, after: number, time: number): Promise<number | undefined> {
    const client = await parts.client(part);
    const { rows } = await client.execute({
      sql: `select id, series, start, stop from (select * from chunk where id > ? order by id limit ?)`,
      args: [BigInt(after), BigInt(SCANNED_A_STEP_MAX)],
    });
    const old = rows.filter((row) => Number(row[2]) < time).slice(0, CHUNKS_A_STEP_MAX);
    if (old.length > 0) {
      await inTransaction(client, async (tx) => {
        for (const row of old) {
          const series = Number(row[1]);
          await trimChunk(tx, { id: Number(row[0]), series, text: await catalog.isText(series) }, time);
        }
      });
    }
    const cut = old.length === CHUNKS_A_STEP_MAX ? old.at(-1) : rows.at(-1);
    return cut === undefined ? undefined : Number(cut[0]);
  }

  return { sweepStep, trimStep };
}
