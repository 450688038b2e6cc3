import type { Journal } from "../../store/journal.js";
import type { JournalReader } from "../../store/journal-reader.js";
import { decodeRecord, type JournalRecord } from "../../store/journal-record.js";
import type { SessionStore } from "../../store/session-store.js";
import type { Meter } from "../meter.js";
import { createChanges } from "./changes.js";
import { replay } from "./replay.js";
import { loadSpaces, rowsOf } from "./saved-form.js";
import { createSpaces, type Spaces } from "./spaces.js";

export interface SavedSpaces {
  readonly spaces: Spaces;
  /** The journal id that the saved state stands for: what is behind it is still needed. */
  readonly savedID: number;
  /** Writes what has changed, with the journal id it stands for. */
  save(): Promise<void>;
}

/** Rebuilds the sessions from their saved form and the journal behind it. */
export async function openSpaces(store: SessionStore, journal: Journal, meter: Meter): Promise<SavedSpaces> {
  const changes = createChanges();
  const spaces = createSpaces(changes, meter, await loadSpaces(store));
  let savedID = await store.savedID();
  await replayBehind(await journal.read(savedID), (record) => replay(spaces, record));

  return {
    spaces,
    get savedID() {
      return savedID;
    },
    save: async () => {
      // A change follows its record's commit within the same turn: the state is that of what is committed.
      const journalID = journal.committedID;
      if (journalID === savedID) return;
      const marked = changes.take();
      try {
        await store.save(rowsOf(spaces, marked), journalID);
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
