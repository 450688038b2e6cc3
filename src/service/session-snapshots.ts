/** When the sessions of a shard are copied into its journal. */
import type { Journal } from "../../store/journal/journal.js";
import { createLock } from "../../store/lib/turns.js";
import { appendSnapshot } from "../../store/mqtt-sessions/journal-snapshot.js";
import type { SessionStore } from "../../store/mqtt-sessions/session-store.js";

/** A journal that others may open elsewhere lets go only of what its newest snapshot stands for. */
export interface SessionSnapshots {
  /** The journal id whose state the newest snapshot holds; 0 while none of this process is there. */
  readonly coveredID: number;
  /**
   * Appends a new one if so much has come since the last that whoever opens the shard without the sessions' file would
   * have long to read.
   * @throws StoreError UNAVAILABLE
   */
  keepUp(): Promise<void>;
  /**
   * Appends a new one if that is worth it to let segments go: once a day, or when twice its bytes have come since the last one; so a journal
   * that is kept short is not made of snapshots.
   * @throws StoreError UNAVAILABLE
   */
  renew(): Promise<void>;
}

const oftenMs = 86_400_000;
const bytesBetween = 2;
/** Of the journal, that are read again at the most without need. */
const behindBytes = 128 * 1024 * 1024;
/** Times the bytes of a snapshot: no more than a fourth of the journal is snapshots. */
const bytesToKeepUp = 4;

/** Whether reading the journal after what is saved takes so long that a snapshot is looked for first. */
export function isFarBehind(journal: Pick<Journal, "segments">, savedID: number): boolean {
  return bytesAfter(journal, savedID) >= behindBytes;
}

/** Of the segments that begin after an id. */
function bytesAfter({ segments }: Pick<Journal, "segments">, id: number): number {
  return segments.reduce((sum, { firstID, bytes }) => (firstID > id ? sum + bytes : sum), 0);
}

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

  /** Parts of two at once would be those of none. */
  const inTurn = createLock();
  /** What others have appended is not known. */
  const begunID = journal.committedID;

  async function append(): Promise<void> {
    const written = await appendSnapshot(store, journal, scratch);
    newest = { ...written, endID: journal.appendedID, at: now() };
  }

  return {
    get coveredID() {
      return newest?.savedID ?? 0;
    },
    keepUp: () =>
      inTurn(async () => {
        const { endID, bytes } = newest ?? { endID: begunID, bytes: 0 };
        if (bytesAfter(journal, endID) >= Math.max(behindBytes, bytesToKeepUp * bytes)) await append();
      }),
    renew: () =>
      inTurn(async () => {
        const isWorthIt =
          newest === null ||
          now() - newest.at >= oftenMs ||
          bytesAfter(journal, newest.endID) >= bytesBetween * newest.bytes;
        if (isWorthIt) await append();
      }),
  };
}
