/** Reads every chunk of points now and then, so that damage is found while the journal still has the messages. */

import type { Client } from "@libsql/client/sqlite3";
import { chunkSum } from "./checksums.js";
import type { ChunkFault } from "./chunk-rows.js";
import type { Parts } from "./parts.js";
import type { Repair } from "./repair.js";
import { DamagedPart, type StoredPart } from "./stored-part.js";

interface Scrub {
  /** Verifies some chunks of one part; false when none is due. */
  step(): Promise<boolean>;
}

const dayMs = 86_400_000;
/** Some 2 MB. */
const chunksPerStep = 32;

/** @param firstAfterMs when the first round begins; further ones follow a day after the end of the one before */
export function createScrub(deps: {
  parts: Pick<Parts, "list" | "use">;
  repair: Pick<Repair, "note">;
  monotonic: () => number;
  firstAfterMs: number;
}): Scrub {
  const { parts, repair, monotonic } = deps;
  let dueAt = monotonic() + deps.firstAfterMs;
  /** The rest of a round; null between two. */
  let round: { readonly left: StoredPart[]; after: number } | null = null;

  return {
    step: async () => {
      if (round === null && monotonic() < dueAt) return false;
      round ??= { left: [...parts.list()], after: 0 };
      const [part] = round.left;
      if (part === undefined) {
        round = null;
        dueAt = monotonic() + dayMs;
        return false;
      }
      const { after } = round;
      const last = parts.list().includes(part)
        ? await parts.use(part, (client) => verifySome(client, part, after, repair.note))
        : null;
      if (last === null) round = { left: round.left.slice(1), after: 0 };
      else round.after = last;
      return true;
    },
  };
}

/**
 * Verifies the chunks with the next ids above `after`: what they hold, and that the index leads to them, which SQLite's
 * quick check does not look at. Returns the last id, null at the end.
 * @throws DamagedPart where the index does not
 */
async function verifySome(
  client: Client,
  part: StoredPart,
  after: number,
  onFault: (part: StoredPart, fault: ChunkFault) => void,
): Promise<number | null> {
  const { rows } = await client.execute({
    sql: `select id, series, start, stop, n, sum, data, not exists (
        select 1 from chunk i indexed by chunk_series
        where i.series = c.series and i.stop = c.stop and i.start = c.start and i.id = c.id)
      from (select * from chunk where id > ? order by id limit ?) c`,
    args: [BigInt(after), BigInt(chunksPerStep)],
  });
  let before = after;
  for (const row of rows) {
    const [id = 0, series = 0, start = 0, stop = 0, points = 0] = [0, 1, 2, 3, 4].map((i) => Number(row[i]));
    // Rows that are out of order would lead in a circle.
    if (id <= before) throw new DamagedPart(part, `chunk ${id} follows chunk ${before}`);
    before = id;
    if (Number(row[7]) === 1)
      throw new DamagedPart(part, `the index of its chunks does not lead to chunk ${id}`);
    // A negated id marks a quarantined chunk; one of format 1 has no checksum.
    if (series < 0 || row[5] === null) continue;
    const sum = chunkSum({ series, start, stop, points }, new Uint8Array(row[6] as ArrayBuffer));
    if (sum !== Number(row[5]))
      onFault(part, { id, series, start, stop, points, fault: "its checksum differs" });
  }
  return rows.length === 0 ? null : before;
}
