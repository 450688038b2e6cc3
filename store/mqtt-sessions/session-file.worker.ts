import { parentPort } from "node:worker_threads";
import type { Transaction } from "@libsql/client";
import { createOpenClients } from "../file-threads/open-clients.js";
import { serveCalls } from "../series/embedded/calls.js";
import { toSeriesError } from "../series/embedded/failures.js";
import { unpack } from "./packed-statement.js";
import { openSessionFile } from "./session-file.js";
import type { SessionFileCalls } from "./session-file-thread.js";

/** Writes the saved form of sessions, over the only connection to each file while it is open here. */
if (parentPort === null) throw new Error("session-file.worker runs in a worker thread only");
const port = parentPort;
/** By the path of the file. */
const transactions = new Map<string, Transaction>();
const clients = createOpenClients(port, openSessionFile, giveUp);

function giveUp(path: string): void {
  transactions.get(path)?.close();
  transactions.delete(path);
}

/** A step of the transaction: if it fails, the transaction ends and nothing of it is kept. */
async function step(path: string, work: (transaction: Transaction) => Promise<unknown>): Promise<void> {
  try {
    const transaction = transactions.get(path);
    if (transaction === undefined) throw new Error("no transaction is open");
    await work(transaction);
  } catch (error) {
    giveUp(path);
    throw toSeriesError(error, "save the sessions");
  }
}

serveCalls<SessionFileCalls>(port, {
  ...clients.handlers,
  begin: async (path) => {
    try {
      const client = await clients.of(path);
      transactions.set(path, await client.transaction("write"));
      return null;
    } catch (error) {
      throw toSeriesError(error, "save the sessions");
    }
  },
  run: async ({ path, packed }) => {
    await step(path, (tx) => tx.execute(unpack(packed)));
    return packed.room;
  },
  commit: async ({ path, journalID }) => {
    await step(path, async (tx) => {
      await tx.execute("delete from saved");
      await tx.execute({ sql: "insert into saved (journalID) values (?)", args: [journalID] });
      await tx.commit();
      transactions.delete(path);
    });
    return null;
  },
  rollback: (path) => {
    giveUp(path);
    return null;
  },
});
