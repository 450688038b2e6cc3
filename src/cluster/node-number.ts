/** A process takes its number in the cluster at its start, unless another one is there with it. */
import type { sleep } from "../../store/lib/abortable.js";
import { type NodeIdentity, takeNumber } from "../../store/metadata/cluster/cluster-nodes.js";
import { type NodeState, readClusterState } from "../../store/metadata/cluster/cluster-state.js";
import type { Db } from "../../store/metadata/db/db.js";
import { ConfigError } from "../config/config.js";
import { beatMs, deadMs } from "./node-watch.js";

interface NodeNumberDeps {
  readonly db: Pick<Db, "write" | "snapshot">;
  readonly identity: NodeIdentity;
  readonly sleep: typeof sleep;
}

/** @throws ConfigError if another process beats with the number */
export async function takeOwnNumber(deps: NodeNumberDeps): Promise<void> {
  const { db, identity } = deps;
  for (;;) {
    const seen = await find(deps);
    // The row is of a killed process or of a live one: only a live one renews it in time.
    if (seen !== null && seen.owner !== identity.owner) await watch(deps, seen);
    if (await takeNumber(db, identity, seen)) return;
  }
}

/** Resolves once the process has not beaten for as long as the others wait for it. @throws ConfigError if it beats */
async function watch(deps: NodeNumberDeps, seen: NodeState): Promise<void> {
  const { signal } = new AbortController();
  for (let ms = 0; ms < deadMs; ms += beatMs) {
    await deps.sleep(beatMs, signal);
    const now = await find(deps);
    if (now === null) return;
    if (now.owner !== seen.owner || now.beat !== seen.beat)
      throw new ConfigError([
        `NODE_NUMBER: another process is node ${now.number}: each needs a number of its own`,
      ]);
  }
}

async function find({ db, identity }: NodeNumberDeps): Promise<NodeState | null> {
  const { nodes } = await readClusterState(db);
  return nodes.find(({ number }) => number === identity.number) ?? null;
}
