import { readCheckpoint, saveCheckpoint } from "../store/checkpoints.js";
import type { Db } from "../store/db.js";
import { StoreError } from "../store/errors.js";
import type { Journal } from "../store/journal.js";
import { decodeRecord, type JournalInput, type JournalRecord, recordKinds } from "../store/journal-record.js";
import {
  type OpenConnection,
  readOpenConnections,
  removeOpenConnection,
  storeOpenConnection,
} from "../store/open-connections.js";

/**
 * The connections that are open, as the journal tells it: connect records without a disconnect. A killed run leaves
 * such records behind; the next start ends them, so that every connection in the log has its end.
 */
export interface Connections {
  opened(connection: OpenConnection): void;
  closed(connection: number): void;
  /** The journal id that the saved state stands for: what is behind it is still needed. */
  readonly savedID: number;
  /** Writes what has changed, with the journal id it stands for. */
  save(): Promise<void>;
}

const consumer = "connections";
/** Rows of one write, so that a reconnect storm does not hold the loop. */
const rowsPerWrite = 200;

/** Rebuilds the state from its saved form and the journal behind it, and ends what a killed run left open. */
export async function openConnections(db: Db, journal: Journal, node: number): Promise<Connections> {
  // Its connections had ended by the time of its last record.
  const killedAt = journal.lastStamp;
  const open = new Map((await readOpenConnections(db, node)).map((one) => [one.connection, one]));
  let dirty = new Set<number>();
  let savedID = await readCheckpoint(db, node, consumer);
  const reader = await journal.read(savedID);
  for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
    for (const at of batch.offsets) replay(decodeRecord(batch.buffer, at));
  }
  await reader.close();
  for (const left of open.values()) {
    journal.append(endOf(left, killedAt));
    closed(left.connection);
  }

  function replay(record: JournalRecord): void {
    if (record.kind === recordKinds.disconnect) closed(record.connection);
    if (record.kind !== recordKinds.connect) return;
    const { id: connection, tenant, device, session, ip, messageID: keepAlive } = record;
    opened({ connection, tenant, device, session, ip, keepAlive });
  }

  function opened(connection: OpenConnection): void {
    open.set(connection.connection, connection);
    dirty.add(connection.connection);
  }

  function closed(connection: number): void {
    if (open.delete(connection)) dirty.add(connection);
  }

  return {
    opened,
    closed,
    get savedID() {
      return savedID;
    },
    save: async () => {
      // State and id are read together: every connection in the state is at or below it once committed.
      const journalID = journal.appendedID;
      if (journalID === savedID) return;
      const changed = dirty;
      dirty = new Set();
      const statements = [...changed].map((id) => {
        const one = open.get(id);
        return one === undefined ? removeOpenConnection(node, id) : storeOpenConnection(node, one);
      });
      try {
        await journal.waitFor(journalID - 1);
        if (journal.committedID < journalID) {
          throw new StoreError("UNAVAILABLE", "cannot save the connections: the journal takes nothing");
        }
        for (let at = 0; at < statements.length; at += rowsPerWrite) {
          await db.write(statements.slice(at, at + rowsPerWrite));
        }
        await db.write([saveCheckpoint(node, consumer, journalID)]);
        savedID = journalID;
      } catch (error) {
        for (const id of changed) dirty.add(id);
        throw error;
      }
    },
  };
}

/** The end of a connection that nobody saw; its payload is when it was, at the latest. */
function endOf({ connection, keepAlive, ...rest }: OpenConnection, killedAt: number): JournalInput {
  const payload = Buffer.alloc(8);
  payload.writeDoubleLE(killedAt);
  return {
    ...rest,
    kind: recordKinds.disconnect,
    connection,
    messageID: keepAlive,
    qos: 0,
    dup: false,
    retain: false,
    flag: false,
    topic: "killed",
    payload,
  };
}

/** When the connection of a disconnect record ended, microseconds since 1970. */
export function endedAt(record: Pick<JournalRecord, "receivedAt" | "payload">): number {
  const { payload, receivedAt } = record;
  if (payload.length !== 8) return receivedAt;
  return Buffer.from(payload.buffer, payload.byteOffset, 8).readDoubleLE();
}
