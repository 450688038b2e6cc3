/** When the sessions of a shard are copied into its journal. */
import { stat } from "node:fs/promises";
import type { Journal } from "../../store/journal/journal.js";
import { StoreError } from "../../store/lib/errors.js";
import { createLock } from "../../store/lib/scheduling.js";
import { appendSnapshot } from "../../store/mqtt-sessions/journal-snapshot.js";
import type { SessionStore } from "../../store/mqtt-sessions/session-store.js";

/** A journal that other nodes may open removes only records that its newest snapshot covers. */
export interface SessionSnapshots {
  /** The journal id whose state the newest snapshot holds; 0 while none of this process is there. */
  readonly coveredID: number;
  /**
   * Appends a new one if so much has come since the last that a node that opens the shard without the sessions' file
   * would read for long. The signal ends it early.
   * @throws StoreError UNAVAILABLE
   */
  keepUp(signal: AbortSignal): Promise<void>;
  /**
   * The same so that segments may go, if that is worth it: once a day, or when twice its bytes have come since the last
   * one; so a journal that is kept short is not made of snapshots.
   * @throws StoreError UNAVAILABLE
   */
  renew(signal: AbortSignal): Promise<void>;
  /** The file was damaged, and the newest may be a copy of that. */
  forget(): void;
}

interface SessionSnapshotsDeps {
  readonly store: Pick<SessionStore, "copyTo">;
  readonly journal: Pick<
    Journal,
    "append" | "appendedID" | "committedID" | "waitFor" | "stopped" | "segments"
  >;
  /** The sessions' file. */
  readonly file: string;
  /** A path for its copy. */
  readonly scratch: string;
  /** Bytes of the disk that may be used. */
  readonly spare: () => Promise<number>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const oftenMs = 86_400_000;
const bytesBetween = 2;
/** The copy of the file, and the journal's. */
const copies = 2;
/** From so many journal bytes on, a snapshot saves reading them again. */
const behindBytes = 128 * 1024 * 1024;
/** Times the bytes of a snapshot: no more than a fourth of the journal is snapshots. */
const bytesToKeepUp = 4;

/** Whether reading the journal after what is saved takes so long that a snapshot is looked for first. */
export function isFarBehind(journal: Pick<Journal, "segments">, savedID: number): boolean {
  return bytesAfter(journal, savedID) >= behindBytes;
}

/** Counts the bytes of the segments that begin after an id. */
function bytesAfter({ segments }: Pick<Journal, "segments">, id: number): number {
  return segments.reduce((sum, { firstID, bytes }) => (firstID > id ? sum + bytes : sum), 0);
}

export function createSessionSnapshots(deps: SessionSnapshotsDeps): SessionSnapshots {
  const { store, journal, file, scratch, spare, now } = deps;
  let newest: {
    readonly savedID: number;
    readonly bytes: number;
    readonly endID: number;
    readonly at: number;
  } | null = null;

  /** Parts of two at once would be those of none. */
  const runExclusive = createLock();
  /** What others have appended is not known. */
  const begunID = journal.committedID;

  /** How often the file was found damaged. */
  let faults = 0;

  function appendIf(isWorthIt: () => boolean, signal: AbortSignal): Promise<void> {
    // A snapshot that begins before the damage is found may be a copy of the damaged file.
    const before = faults;
    return runExclusive(async () => {
      if (!isWorthIt()) return;
      signal.throwIfAborted();
      await refuseFull();
      const written = await appendSnapshot(store, journal, scratch, signal);
      if (faults === before) newest = { ...written, endID: journal.appendedID, at: now() };
    });
  }

  function isFarFromNewest(): boolean {
    const { endID, bytes } = newest ?? { endID: begunID, bytes: 0 };
    return bytesAfter(journal, endID) >= Math.max(behindBytes, bytesToKeepUp * bytes);
  }

  function isDue(): boolean {
    if (newest === null || now() - newest.at >= oftenMs) return true;
    return bytesAfter(journal, newest.endID) >= bytesBetween * newest.bytes;
  }

  /** On a disk that it fills no journal of this process would take anything. */
  async function refuseFull(): Promise<void> {
    const needed = copies * (await stat(file)).size;
    const left = await spare();
    if (left >= needed) return;
    const what = `it may need ${needed} bytes, and the disk has ${Math.max(0, left)} to spare`;
    throw new StoreError("UNAVAILABLE", `cannot make a snapshot of the sessions: ${what}`);
  }

  return {
    get coveredID() {
      return newest?.savedID ?? 0;
    },
    keepUp: (signal) => appendIf(isFarFromNewest, signal),
    renew: (signal) => appendIf(isDue, signal),
    forget: () => {
      faults++;
      newest = null;
    },
  };
}
