import { isDamage } from "../../store/files/database-faults.js";
import type { Journal } from "../../store/journal/journal.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { decodeUplinkDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import { createLock, nextTurn } from "../../store/lib/scheduling.js";
import type { SessionStore } from "../../store/mqtt-sessions/session-store.js";
import type { StartIsolation } from "../followers/crash-isolation.js";
import type { OnFailed } from "../followers/failures.js";
import { followJournal, type RecordConsumer } from "../followers/follower.js";
import type { Meter } from "../meter.js";
import { type SessionBounds, sessionBounds } from "./bounds.js";
import { createChanges, type Marked } from "./changes.js";
import { createPendingReceipts, type PendingReceipts, takeUpReceipts } from "./pending-receipts.js";
import { replay } from "./replay.js";
import { createSessionRegistry, type SessionRegistry } from "./session-registry.js";
import { createSnapshotRows, loadSessions } from "./snapshot.js";

export interface SavedSessions {
  readonly registry: SessionRegistry;
  /** Commands of earlier runs. */
  readonly held: PendingReceipts;
  /** The journal id that the saved state stands for: what comes after it is still needed. */
  readonly savedID: number;
  /**
   * Writes what has changed, with the journal id it stands for, once `stored` has resolved: what the records up to
   * there have settled elsewhere is then on disk as well, for they will not be read again.
   */
  save(stored?: () => Promise<void>): Promise<void>;
  /** Begins a new file in place of one in which `fault` was found: the next save writes the whole state. */
  remake(fault: string): Promise<void>;
}

/** A replay reports failed records here, and asks which records to skip. */
export interface ReplayGuard {
  readonly onFailed: OnFailed;
  readonly narrow: StartIsolation;
}

/**
 * Rebuilds the sessions from their snapshot and the journal after it, or from all that the journal keeps if the
 * snapshot cannot be read. A record that cannot be replayed is skipped and reported to the guard; one that has ended
 * starts is not replayed.
 */
export async function openSessions(
  store: SessionStore,
  journal: Journal,
  meter: Meter,
  { onFailed, narrow }: ReplayGuard,
  bounds: SessionBounds = sessionBounds,
): Promise<SavedSessions> {
  const changes = createChanges();
  const loaded = await loadOrRemake(store, async () =>
    // What the file was made again from may be damaged as well.
    loadOrRemake(store, async () => []),
  );
  const registry = createSessionRegistry(changes, meter, loaded, bounds);
  let savedID = await store.savedID();
  const held = createPendingReceipts();
  takeUpReceipts(held, registry);
  const narrowing = narrow(savedID, journal.committedID);
  const apply = (record: JournalRecord): void => {
    try {
      replay(registry, record, held);
    } catch (error) {
      onFailed({ follower: "sessions", id: record.id, device: record.device, error: asError(error) });
    }
  };
  const replaying: RecordConsumer = {
    pass: (id) => narrowing.pass(id, id - 1),
    // Records are applied to memory at once: before a record nothing is left to settle.
    enter: (record) => narrowing.enter(record, () => Promise.resolve()),
    take: (record, isAside) => (isAside ? undefined : void apply(record)),
    caughtUp: async () => false,
  };
  await followJournal(await journal.read(savedID), replaying, new AbortController().signal);
  narrowing.settled(journal.committedID);
  await narrowing.close();

  /** A file that is begun anew during a save would be left with only the changes of that save. */
  const inTurn = createLock();
  /** Whether the file lacks what has not changed since. */
  let isNew = false;

  async function save(stored?: () => Promise<void>): Promise<void> {
    // A change follows its record's commit within the same turn, whose end this waits for: the state is then that of what
    // is committed.
    await nextTurn();
    const journalID = journal.committedID;
    if (journalID === savedID && !isNew) return;
    const marked = changes.take();
    try {
      const changed = createSnapshotRows(registry, isNew ? everything(registry) : marked);
      await stored?.();
      await store.save(changed, journalID);
      savedID = journalID;
      isNew = false;
    } catch (error) {
      changes.putBack(marked);
      throw error;
    }
  }

  async function remake(fault: string): Promise<void> {
    await store.remake(fault);
    isNew = true;
  }

  return {
    registry,
    held,
    get savedID() {
      return savedID;
    },
    save: (stored) =>
      inTurn(async () => {
        try {
          await save(stored);
        } catch (error) {
          if (!isDamage(error)) throw error;
          await remake(asError(error).message);
          await save(stored);
        }
      }),
    remake: (fault) => inTurn(() => remake(fault)),
  };
}

/** `again` says what there is once the file, which is damaged, has been made again. */
async function loadOrRemake(
  store: SessionStore,
  again: () => ReturnType<typeof loadSessions>,
): ReturnType<typeof loadSessions> {
  try {
    return await loadSessions(store);
  } catch (error) {
    // A text in it that is not JSON is damage too.
    if (!isDamage(error) && !(error instanceof SyntaxError)) throw error;
    await store.remake(asError(error).message);
  }
  return again();
}

/** The whole state as if all of it had changed. */
function everything(registry: SessionRegistry): Marked {
  const all = [...registry.all()];
  const states = all.flatMap((deviceSessions) => [...deviceSessions.sessions.values()]);
  return {
    sessions: new Set(states),
    messages: new Map(states.map((state) => [state, new Set(state.outgoing.keys())])),
    retained: new Map(
      all.map((deviceSessions) => [deviceSessions.device, new Set(deviceSessions.retained.keys())]),
    ),
    wills: new Map(
      all.map((deviceSessions) => [
        deviceSessions.device,
        new Set(deviceSessions.wills.map((will) => will.connection)),
      ]),
    ),
  };
}

/**
 * Hands a device's message that was passed over at a start to its other sessions, as it would come now. Other records
 * say what a session was at their time, which has passed. @throws StoreError INVALID for these
 */
export function publishLate(registry: SessionRegistry, record: JournalRecord): void {
  if (record.kind !== recordKinds.uplink) {
    throw new StoreError("INVALID", "cannot replay it: it says what a session was at its time; give it up");
  }
  const { device, session, topic, payload, qos, retain, refused, details, receivedAt: at } = record;
  const { properties } = decodeUplinkDetails(details);
  if (!refused) registry.publish({ device, session, topic, payload, qos, retain, properties, at });
}
