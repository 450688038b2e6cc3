/** Points older than a time are hidden at once, then deleted file by file and chunk by chunk. */

import { StoreError } from "../../lib/errors.js";
import type { Lock } from "../../lib/scheduling.js";
import { joinRemoved } from "../removed-points.js";
import type { RemovedPoints } from "../series.js";
import type { SeriesCatalog } from "./catalog.js";
import type { CatalogPart } from "./catalog-schema.js";
import { noTimeBelow } from "./columns.js";
import type { Flusher } from "./flusher.js";
import { stepThenRest } from "./housekeeping.js";
import type { PointIntake } from "./intake.js";
import type { Parts } from "./parts.js";
import type { WriterCalls } from "./protocol.js";

interface Retention {
  /** Points before this time are being removed: they are neither answered nor written to files. */
  floor(): number;
  /** Hides what is older than the time, and takes whole parts off the list. */
  retire(time: number): Promise<readonly CatalogPart[]>;
  /** Deletes the retired parts, and the older points of the part that spans the time. */
  dropOld(args: WriterCalls["dropOld"]["args"]): Promise<RemovedPoints>;
  /** Completes what an earlier run has begun. */
  resume(): Promise<void>;
}

/** @param trimStep deletes some chunks older than `time`, and reports their points; false when done */
export function createPartRetention(deps: {
  floor: number;
  catalog: Pick<SeriesCatalog, "dropBefore" | "clearFloor">;
  parts: Pick<Parts, "retire" | "unlink" | "contents">;
  flusher: Pick<Flusher, "flush">;
  intake: Pick<PointIntake, "held">;
  lock: Lock;
  closing: AbortSignal;
  trimStep: (time: number, onRemoved: (removed: RemovedPoints) => void) => Promise<boolean>;
}): Retention {
  const { catalog, parts, flusher, intake, lock, closing, trimStep } = deps;
  let floor = deps.floor;

  async function dropOld({ time, retired }: WriterCalls["dropOld"]["args"]): Promise<RemovedPoints> {
    let removed: RemovedPoints = { points: 0, oldest: null };
    const add = (more: RemovedPoints): void => {
      removed = joinRemoved(removed, more);
    };
    for (const part of retired) {
      await lock(async () => {
        add(await parts.contents(part));
        await parts.unlink(part);
      });
    }
    while (await stepThenRest(lock, closing, () => trimStep(time, add))) {
      if (closing.aborted)
        throw new StoreError("UNAVAILABLE", "cannot remove old points: the store is closing");
    }
    await lock(async () => {
      if (floor !== time) return;
      await catalog.clearFloor();
      floor = noTimeBelow;
    });
    return removed;
  }

  return {
    floor: () => floor,
    retire: async (time) => {
      // This flush lets new points in; the next one, which holds them up, has only few left to write.
      await flusher.flush();
      return intake.held(async () => {
        await flusher.flush();
        return lock(async () => {
          const limit = Math.max(floor, time);
          await catalog.dropBefore(limit);
          floor = limit;
          return parts.retire(limit);
        });
      });
    },
    dropOld,
    resume: async () => {
      if (floor !== noTimeBelow) await dropOld({ time: floor, retired: [] });
    },
  };
}
