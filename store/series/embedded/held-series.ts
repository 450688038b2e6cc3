/** Which series each part may hold, on record in the catalog before the first chunk of a series is in the part. */

import type { SeriesCatalog } from "./catalog.js";
import type { StoredPart } from "./stored-part.js";
import type { WriterFiles } from "./writer-files.js";

interface HeldSeries {
  /** The part is about to take chunks of these series. */
  add(part: StoredPart, series: readonly number[]): Promise<void>;
  /** The survey of a part has ended: it holds nothing else. */
  looked(part: StoredPart): Promise<void>;
  /** Puts on record what the part may hold, together with the present version of its file. */
  record(part: StoredPart): Promise<void>;
  /** The same, where the record is of an earlier version of the file. */
  refresh(part: StoredPart): Promise<void>;
}

export function createHeldSeries(
  catalog: Pick<SeriesCatalog, "setHeld">,
  files: Pick<WriterFiles, "version">,
): HeldSeries {
  async function record(part: StoredPart): Promise<void> {
    if (part.held === null) return;
    const version = files.version(part.path);
    await catalog.setHeld(part, part.held.encode(), version);
    part.recorded = version;
  }

  return {
    add: async (part, series) => {
      part.looking?.add(series);
      if (part.held?.add(series) === true) part.recorded = null;
      // Also what a full disk kept off the record before.
      if (part.recorded === null) await record(part);
    },
    looked: async (part) => {
      part.held = part.looking;
      part.looking = null;
      await record(part);
    },
    record,
    refresh: async (part) => {
      if (part.held !== null && part.recorded !== files.version(part.path)) await record(part);
    },
  };
}
