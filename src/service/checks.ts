import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DamageLog } from "../../store/files/damage.js";
import { checkDatabases } from "../../store/files/database-check.js";
import { singleFlight } from "../../store/lib/single-flight.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import { metadataFile } from "../host/metadata.js";
import type { Logger } from "../observability/log.js";
import type { Shard } from "./shard.js";

/** Checks every database of the data folder in the background. */
export interface Checks {
  /** Returns at once; if a check is due, it runs in the background. */
  look(): void;
  close(): void;
}

interface ChecksDeps {
  readonly config: Config;
  /** Those that are here. */
  readonly shards: () => readonly Pick<Shard, "dir" | "events" | "remakeSessions">[];
  readonly series: Pick<SeriesStore, "files">;
  readonly report: DamageLog["report"];
  readonly log: Logger;
}

const dayMs = 86_400_000;

/** Checks once after a start, then daily. Damaged files are rebuilt if possible, and otherwise reported. */
export function createChecks({ config, shards, series, report, log }: ChecksDeps): Checks {
  const ending = new AbortController();
  let dueAt = 0;
  const checking = singleFlight(run);

  const metadata = metadataFile(config);

  /** By database, a function that repairs a fault of it, or reports one that cannot be repaired. */
  function listRepairs(): Map<string, (fault: string) => Promise<void>> {
    const repairs = new Map<string, (fault: string) => Promise<void>>();
    for (const { dir, events, remakeSessions } of shards()) {
      repairs.set(join(dir, "events.db"), (fault) => events.remake(fault));
      repairs.set(join(dir, "sessions.db"), (fault) => remakeSessions(fault));
    }
    if (metadata === null) return repairs;
    return repairs.set(metadata, async (fault) => {
      const what = `${fault}; it cannot be made again: restore it from a backup`;
      report({ part: "metadata", file: metadata, what, lostBytes: 0 });
    });
  }

  function onFault({ path, fault }: { path: string; fault: string }): void {
    // If its shard has left this node, the path is no longer in the map.
    const repair = listRepairs().get(path) ?? ((found: string) => series.files?.suspect(path, found));
    repair(fault)?.catch((error: unknown) => log.error("cannot mend a damaged database", { path, error }));
  }

  async function run(): Promise<void> {
    const paths = [...listRepairs().keys(), ...(series.files?.list() ?? [])].filter((path) =>
      existsSync(path),
    );
    const startedAt = performance.now();
    await checkDatabases(paths, onFault, ending.signal);
    log.debug("databases checked", {
      files: paths.length,
      seconds: (performance.now() - startedAt) / 1000,
    });
  }

  return {
    look: () => {
      if (checking.running !== null || ending.signal.aborted || performance.now() < dueAt) return;
      dueAt = performance.now() + dayMs;
      checking.run().catch((error: unknown) => log.warn("cannot check the databases", { error }));
    },
    close: () => ending.abort(),
  };
}
