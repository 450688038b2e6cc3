import {
  type NodeZones,
  publishZones,
  readOtherZones,
} from "../../store/metadata/cluster/time-zone-versions.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Troubles } from "../observability/status.js";

interface ZoneVersionsDeps {
  readonly config: Pick<Config, "nodeNumber" | "timeZones">;
  readonly db: Pick<Db, "shared" | "write" | "all">;
  readonly note: Troubles["note"];
  readonly log: Logger;
}

/** How often the function below is to be called. */
export const zoneVersionsMs = 10_000;
/** A process that has published nothing for so long has ended. */
const forgottenSeconds = 60;

/**
 * Compares the time zone rules of this process with those of the others on the same metadata: with different ones, they
 * answer the same query with different windows.
 */
export function createZoneComparison({ config, db, note, log }: ZoneVersionsDeps): () => Promise<void> {
  const own = { node: config.nodeNumber, version: config.timeZones.version };
  let noted: string | null = null;
  return async () => {
    if (!db.shared) return;
    await publishZones(db, own);
    const all = await readOtherZones(db, own.node, forgottenSeconds);
    const others = all.filter(({ version }) => version !== own.version);
    const trouble = others.length === 0 ? null : differenceIn([own, ...others]);
    note("time zones", trouble);
    if (trouble !== null && trouble !== noted) log.warn(trouble);
    noted = trouble;
  };
}

function differenceIn(nodes: readonly NodeZones[]): string {
  const list = nodes.map(({ node, version }) => `node ${node} by ${version ?? "an unknown version"}`);
  return `nodes go by different time zone rules: ${list.join(", ")}`;
}
