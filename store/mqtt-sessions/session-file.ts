import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import { connect } from "../files/connection.js";

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

/** A connection to the saved form of the sessions; makes the file and its tables if missing. */
export async function openSessionFile(path: string): Promise<Client> {
  const client = connect(path);
  try {
    await client.execute("pragma journal_mode = wal");
    await client.execute("pragma synchronous = full");
    await client.batch(schema, "write");
    await addReceipts(client);
    return client;
  } catch (error) {
    await closeAtOnce(client, path);
    throw error;
  }
}

/** The journal id of the state that the rows hold; 0 before the first save. */
export async function readSavedID(client: Client): Promise<number> {
  return Number((await client.execute("select journalID from saved")).rows[0]?.journalID ?? 0);
}

/** Files from before commands had receipts lack the column. */
async function addReceipts(client: Client): Promise<void> {
  const columns = await client.execute("select name from pragma_table_info('message')");
  if (columns.rows.some(({ name }) => name === "receipt")) return;
  await client.execute("alter table message add column receipt integer");
}
