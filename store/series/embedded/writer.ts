/** The writer thread, which holds the newest points and is the only one to write files: what it answers. */

import { join } from "node:path";
import type { Damage } from "../../files/damage.js";
import { headFault } from "../../files/database-file.js";
import { systemClock } from "../../lib/clock.js";
import { createLock } from "../../lib/scheduling.js";
import type { Handlers } from "./calls.js";
import { catalogName, openCatalog, type SeriesCatalog } from "./catalog.js";
import type { CatalogPart } from "./catalog-schema.js";
import { findCheckpoint } from "./checkpoints.js";
import { noTimeBelow } from "./columns.js";
import { createCompaction } from "./compact.js";
import { createFlusher } from "./flusher.js";
import type { Gap } from "./gaps.js";
import { startHousekeeping } from "./housekeeping.js";
import { createPointIntake } from "./intake.js";
import { createLookup } from "./lookup.js";
import { openParts, type Parts } from "./parts.js";
import { createReadProgress } from "./progress.js";
import type { Definitions, WriterCalls, WriterOptions } from "./protocol.js";
import { createRegistry } from "./registry.js";
import { createRemoval, hideRemoved } from "./removal.js";
import { createRepair, type Repair, toGap } from "./repair.js";
import { createPartRetention } from "./retention.js";
import { createScrub } from "./scrub.js";
import { createSeriesSurvey } from "./series-survey.js";
import { DamagedPart } from "./stored-part.js";

interface Writer {
  readonly handlers: Handlers<WriterCalls>;
  define(definitions: Definitions): void;
}

/** What happens besides the calls. */
interface WriterListeners {
  readonly onParts: (parts: readonly CatalogPart[]) => void;
  readonly onDamage: (damage: Damage) => void;
  readonly onGap: (gap: Gap) => void;
  /** The catalog can no longer be read: the thread must end, and the next start makes the catalog again. */
  readonly onCatalogLost: (error: Error) => void;
}

export async function openWriter(options: WriterOptions, listeners: WriterListeners): Promise<Writer> {
  const registry = createRegistry();
  const lock = createLock();
  const closing = new AbortController();
  const { catalog, parts, mender } = await openStorage(options, listeners);
  const progress = createReadProgress(await catalog.checkpoints());
  const savedFloor = (await catalog.floor()) ?? noTimeBelow;
  const floor = (): number => retention.floor();
  const flusher = createFlusher({ options, registry, catalog, parts, mender, lock, progress, floor });
  const intake = createPointIntake({ registry, flusher, progress });
  const removal = createRemoval({ catalog, parts, mender });
  const retention = createPartRetention({
    floor: savedFloor,
    catalog,
    parts,
    flusher,
    intake,
    lock,
    closing: closing.signal,
    trimStep: removal.trimStep,
  });
  const lookup = createLookup({ registry, catalog, parts, flusher, floor });
  const survey = createSeriesSurvey(parts);
  const compaction = createCompaction({ catalog, parts, mender, clock: systemClock });
  const scrub = createScrub({
    parts,
    repair: mender,
    monotonic: systemClock.monotonic,
    firstAfterMs: options.scrubAfterMs,
  });
  const housekeeping = startHousekeeping({
    lock,
    closing: closing.signal,
    resume: retention.resume,
    steps: [mender.step, removal.sweepStep, survey.step, compaction.step, scrub.step],
    // The sound parts of a damaged file move to a new one.
    repair: async (error) => {
      if (!(error instanceof DamagedPart)) return false;
      await lock(() => mender.move(error.part, error.fault));
      return true;
    },
  });
  flusher.onFlushed(() => {
    intake.pump();
    housekeeping.wake();
  });

  async function close(): Promise<null> {
    try {
      await flusher.flush();
    } finally {
      closing.abort();
      flusher.stop();
      intake.stop();
      await housekeeping.ended;
      await lock(async () => {
        await parts.close();
        catalog.close();
      });
    }
    return null;
  }

  return {
    define: ({ first, names }) => {
      for (const [i, name] of names.entries()) registry.define(first + i, name);
    },
    handlers: {
      write: intake.write,
      checkpoint: (shard) => findCheckpoint(flusher.checkpoints(), shard),
      flush: async () => {
        await flusher.flush();
        return null;
      },
      find: lookup.find,
      findLast: lookup.findLast,
      havePoints: lookup.havePoints,
      remove: async (scopes) => {
        await hideRemoved(scopes, { registry, catalog, intake, lookup, flusher, lock });
        housekeeping.wake();
        return null;
      },
      retire: retention.retire,
      dropOld: retention.dropOld,
      suspect: ({ path, chunk, fault }) => {
        if (path === catalogName) catalog.suspect(fault);
        else mender.suspect(path, chunk, fault);
        housekeeping.wake();
        return null;
      },
      endGap: async (id) => {
        await catalog.removeGap(id);
        return null;
      },
      close,
    },
  };
}

/** Opens what is on disk. Damage that is already known is reported before the first answer. */
async function openStorage(
  { dir, partBytesMin }: WriterOptions,
  listeners: WriterListeners,
): Promise<{ catalog: SeriesCatalog; parts: Parts; mender: Repair }> {
  const { onParts, onDamage, onGap } = listeners;
  const catalog = await openCatalog(dir, listeners);
  const parts = await openParts({ dir, catalog, partBytesMin, onChange: onParts });
  const mender = createRepair({ dir, catalog, parts, onDamage, onGap });
  await reportGaps(catalog, onGap);
  await moveUnusable(dir, parts, mender);
  return { catalog, parts, mender };
}

/** Moves parts whose files are gone or are no databases. */
async function moveUnusable(dir: string, parts: Parts, mender: Repair): Promise<void> {
  for (const part of parts.list()) {
    const fault = parts.missing(part) ?? (await headFault(join(dir, part.path)));
    if (fault !== null) await mender.move(part, fault);
  }
}

/** Reports gaps that earlier runs have left, and forgets those of series that were removed since. */
async function reportGaps(catalog: SeriesCatalog, onGap: (gap: Gap) => void): Promise<void> {
  for (const row of await catalog.gaps()) {
    const gap = await toGap(catalog, row);
    if (gap === null) await catalog.removeGap(row.id);
    else onGap(gap);
  }
}
