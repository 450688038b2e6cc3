import { openOrRemake, putAside } from "../files/database-file.js";
import { type Db, openDb, type SqlValue, type Statement } from "../metadata/db/db.js";

/** The saved form of the MQTT sessions: a file beside the journal, whose state at one id it is. */
export interface SessionStore {
  load(): Promise<SavedRows>;
  /** The journal id that the rows stand for; 0 before the first save. */
  savedID(): Promise<number>;
  /** All of it in one transaction. */
  save(rows: RowChanges, journalID: number): Promise<void>;
  /** Puts the file aside, in which `fault` was found, and begins an empty one. */
  remake(fault: string): Promise<void>;
  close(): void;
}

/** Of the space that a row belongs to. */
interface OfSpace {
  readonly tenant: number;
  readonly device: number;
  readonly deviceID: string;
}

export interface SessionRow extends OfSpace {
  readonly clientID: string;
  readonly session: number;
  readonly connection: number;
  readonly ip: string;
  readonly keepAlive: number;
  readonly endedAt: number;
  readonly expiry: number;
  readonly hasInbox: number;
  readonly lastMessageID: number;
  /** JSON texts. */
  readonly subscriptions: string;
  readonly platform: string | null;
  readonly unreleased: string;
  readonly will: string | null;
  readonly willPayload: Uint8Array | null;
}

export interface MessageRow {
  readonly device: number;
  readonly clientID: string;
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: number;
  readonly properties: string | null;
  readonly identifiers: string;
  readonly at: number;
  readonly sent: number;
  readonly received: number;
  readonly receipt: number | null;
}

export interface RetainedRow extends OfSpace {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly properties: string | null;
  readonly at: number;
}

export interface WillRow extends OfSpace {
  readonly connection: number;
  readonly session: number;
  readonly clientID: string;
  readonly ip: string;
  readonly dueAt: number;
  readonly will: string;
  readonly willPayload: Uint8Array;
}

export interface SavedRows {
  readonly sessions: readonly SessionRow[];
  /** In the order in which they came. */
  readonly messages: readonly MessageRow[];
  readonly retained: readonly RetainedRow[];
  readonly wills: readonly WillRow[];
}

export interface RowChanges {
  readonly sessions: readonly SessionRow[];
  readonly messages: readonly MessageRow[];
  readonly retained: readonly RetainedRow[];
  readonly wills: readonly WillRow[];
  /** Gone: a session takes its messages with it. */
  readonly endedSessions: readonly (readonly [device: number, clientID: string])[];
  readonly endedMessages: readonly (readonly [device: number, clientID: string, messageID: number])[];
  readonly endedRetained: readonly (readonly [device: number, topic: string])[];
  readonly endedWills: readonly (readonly [connection: number])[];
}

const schema = [
  `create table if not exists session (
    tenant integer not null, device integer not null, deviceID text not null, clientID text not null,
    session integer not null, connection integer not null, ip text not null, keepAlive integer not null, endedAt real not null, expiry integer not null, hasInbox integer not null,
    lastMessageID integer not null, subscriptions text not null, platform text, unreleased text not null,
    will text, willPayload blob, primary key (device, clientID)
  ) strict, without rowid`,
  `create table if not exists message (
    n integer primary key, device integer not null, clientID text not null, messageID integer not null,
    topic text not null, payload blob not null, qos integer not null, retain integer not null,
    properties text, identifiers text not null, at real not null, sent integer not null,
    received integer not null, receipt integer, unique (device, clientID, messageID)
  ) strict`,
  `create table if not exists retained (
    tenant integer not null, device integer not null, deviceID text not null,
    topic text not null, payload blob not null, qos integer not null, properties text, at real not null, primary key (device, topic)
  ) strict, without rowid`,
  `create table if not exists will (
    connection integer primary key, tenant integer not null, device integer not null, deviceID text not null,
    session integer not null, clientID text not null, ip text not null, dueAt real not null, will text not null, willPayload blob not null
  ) strict`,
  "create table if not exists saved (journalID integer not null) strict",
];

/**
 * Opens the file, made if missing. One that is damaged is put aside and begun anew, empty: `onDamage` is told of it,
 * here and at each `remake`.
 */
export async function openSessionStore(
  path: string,
  onDamage: (fault: string, aside: string) => void,
): Promise<SessionStore> {
  const open = async (): Promise<Db> => {
    const opened = await openDb({ url: `file:${path}`, shared: false, migrates: false });
    try {
      await opened.write(schema.map((sql) => ({ sql })));
      await addReceipts(opened);
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  };
  let db = await openOrRemake(path, open, onDamage);

  return {
    load: async () => ({
      sessions: await db.all("select * from session"),
      messages: await db.all("select * from message order by n"),
      retained: await db.all("select * from retained"),
      wills: await db.all("select * from will"),
    }),
    savedID: async () =>
      (await db.first<{ journalID: number }>("select journalID from saved"))?.journalID ?? 0,
    save: async (changes, journalID) => {
      await db.write([
        ...removed("session", ["device", "clientID"], changes.endedSessions),
        ...removed("message", ["device", "clientID"], changes.endedSessions),
        ...removed("message", ["device", "clientID", "messageID"], changes.endedMessages),
        ...removed("retained", ["device", "topic"], changes.endedRetained),
        ...removed("will", ["connection"], changes.endedWills),
        ...stored("session", ["device", "clientID"], changes.sessions),
        ...stored("message", ["device", "clientID", "messageID"], changes.messages),
        ...stored("retained", ["device", "topic"], changes.retained),
        ...stored("will", ["connection"], changes.wills),
        { sql: "delete from saved" },
        { sql: "insert into saved (journalID) values (?)", args: [journalID] },
      ]);
    },
    remake: async (fault) => {
      db.close();
      const aside = await putAside(path);
      db = await open();
      onDamage(fault, aside);
    },
    close: () => db.close(),
  };
}

/** Files of before commands had receipts lack the column. */
async function addReceipts(db: Db): Promise<void> {
  const columns = await db.all<{ name: string }>("select name from pragma_table_info('message')");
  if (columns.some(({ name }) => name === "receipt")) return;
  await db.write([{ sql: "alter table message add column receipt integer" }]);
}

/** Rows of one statement: its parameters stay below SQLite's bound. */
const rowsPerStatement = 200;

function removed(
  table: string,
  keys: readonly string[],
  rows: readonly (readonly (number | string)[])[],
): Statement[] {
  if (rows.length === 0) return [];
  const members = keys.map((_, i) => `value ->> ${i}`).join(", ");
  return chunks(rows).map((some) => ({
    sql: `delete from ${table} where (${keys.join(", ")}) in (select ${members} from json_each(?))`,
    args: [some as unknown as SqlValue],
  }));
}

function stored(table: string, keys: readonly string[], rows: readonly object[]): Statement[] {
  const first = rows[0];
  if (first === undefined) return [];
  const columns = Object.keys(first);
  const own = columns.filter((column) => !keys.includes(column));
  const row = `(${columns.map(() => "?").join(", ")})`;
  return chunks(rows).map((some) => ({
    sql: `insert into ${table} (${columns.join(", ")}) values ${some.map(() => row).join(", ")}
      on conflict (${keys.join(", ")}) do update set ${own.map((one) => `${one} = excluded.${one}`).join(", ")}`,
    args: some.flatMap((one) => columns.map((column) => (one as Record<string, SqlValue>)[column] ?? null)),
  }));
}

function chunks<Row>(rows: readonly Row[]): (readonly Row[])[] {
  return Array.from({ length: Math.ceil(rows.length / rowsPerStatement) }, (_, i) =>
    rows.slice(i * rowsPerStatement, (i + 1) * rowsPerStatement),
  );
}
