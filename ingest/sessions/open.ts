import type { Journal } from "../../store/journal.js";
import type { JournalReader } from "../../store/journal-reader.js";
import { decodeRecord, type JournalRecord } from "../../store/journal-record.js";
import type { SessionStore } from "../../store/session-store.js";
import type { Meter } from "../meter.js";
import { createChanges } from "./changes.js";
import { createHeldReceipts, type HeldReceipts, takeUpReceipts } from "./held-receipts.js";
import { replay } from "./replay.js";
import { loadSpaces, rowsOf } from "./saved-form.js";
import { createSpaces, type Spaces } from "./spaces.js";

export interface SavedSpaces {
  readonly spaces: Spaces;
  /** Commands of earlier runs. */
  readonly held: HeldReceipts;
  /** The journal id that the saved state stands for: what is behind it is still needed. */
  readonly savedID: number;
  /**
   * Writes what has changed, with the journal id it stands for, once `stored` has resolved: what the records up to
   * there have settled elsewhere is then on disk as well, for they will not be read again.
   */
  save(stored?: () => Promise<void>): Promise<void>;
}

/** Rebuilds the sessions from their saved form and the journal behind it. */
export async function openSpaces(store: SessionStore, journal: Journal, meter: Meter): Promise<SavedSpaces> {
  const changes = createChanges();
  const spaces = createSpaces(changes, meter, await loadSpaces(store));
  let savedID = await store.savedID();
  const held = createHeldReceipts();
  takeUpReceipts(held, spaces);
  await replayBehind(await journal.read(savedID), (record) => replay(spaces, record, held));

  return {
    spaces,
    held,
    get savedID() {
      return savedID;
    },
    save: async (stored) => {
      // A change follows its record's commit within the same turn: the state is that of what is committed.
      const journalID = journal.committedID;
      if (journalID === savedID) return;
      const marked = changes.take();
      try {
        const rows = rowsOf(spaces, marked);
        await stored?.();
        await store.save(rows, journalID);
        savedID = journalID;
      } catch (error) {
        changes.putBack(marked);
        throw error;
      }
    },
  };
}

async function replayBehind(reader: JournalReader, apply: (record: JournalRecord) => void): Promise<void> {
  for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
    for (const at of batch.offsets) apply(decodeRecord(batch.buffer, at));
  }
  await reader.close();
}
