/** When the sessions of a shard are copied into its journal. */
import type { Journal } from "../../store/journal/journal.js";
import { appendSnapshot } from "../../store/mqtt-sessions/journal-snapshot.js";
import type { SessionStore } from "../../store/mqtt-sessions/session-store.js";

/** A journal that others may open elsewhere lets go only of what its newest snapshot stands for. */
export interface SessionSnapshots {
  /** The journal id whose state the newest snapshot holds; 0 while none of this process is there. */
  readonly coveredID: number;
  /**
   * Appends a new one if that is worth it: once a day, or when twice its bytes have come since the last one; so a journal
   * that is kept short is not made of snapshots.
   * @throws StoreError UNAVAILABLE
   */
  renew(): Promise<void>;
}

const oftenMs = 86_400_000;
const bytesBetween = 2;

/** `scratch`: a path for the copy of the sessions' file. `now`: milliseconds since 1970. */
export function createSessionSnapshots(
  store: Pick<SessionStore, "copyTo">,
  journal: Pick<Journal, "append" | "appendedID" | "committedID" | "waitFor" | "stopped" | "segments">,
  scratch: string,
  now: () => number,
): SessionSnapshots {
  let newest: {
    readonly savedID: number;
    readonly bytes: number;
    readonly endID: number;
    at: number;
  } | null = null;

  function isWorthIt(): boolean {
    if (newest === null || now() - newest.at >= oftenMs) return true;
    const { endID, bytes } = newest;
    const since = journal.segments.filter(({ firstID }) => firstID > endID);
    return since.reduce((sum, segment) => sum + segment.bytes, 0) >= bytesBetween * bytes;
  }

  return {
    get coveredID() {
      return newest?.savedID ?? 0;
    },
    renew: async () => {
      if (!isWorthIt()) return;
      const written = await appendSnapshot(store, journal, scratch);
      newest = { ...written, endID: journal.appendedID, at: now() };
    },
  };
}
