import { parentPort, workerData } from "node:worker_threads";
import type { Transaction } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import { serveCalls } from "../series/embedded/calls.js";
import { asStoreError } from "../series/embedded/failures.js";
import { unpack } from "./packed-statement.js";
import { openSessionFile } from "./session-file.js";
import type { SessionFileCalls } from "./session-file-thread.js";

/** Writes the saved form of the sessions over the only connection to its file while the thread runs. */
if (parentPort === null) throw new Error("session-file.worker runs in a worker thread only");
const port = parentPort;
const { path } = workerData as { readonly path: string };

const opening = openSessionFile(path);
// Reported to the first request.
opening.catch(() => undefined);
let transaction: Transaction | null = null;

function giveUp(): void {
  transaction?.close();
  transaction = null;
}

/** A step of the transaction: if it fails, the transaction ends and nothing of it is kept. */
async function step(work: (transaction: Transaction) => Promise<unknown>): Promise<void> {
  try {
    if (transaction === null) throw new Error("no transaction is open");
    await work(transaction);
  } catch (error) {
    giveUp();
    throw asStoreError(error, "save the sessions");
  }
}

serveCalls<SessionFileCalls>(port, {
  begin: async () => {
    try {
      transaction = await (await opening).transaction("write");
      return null;
    } catch (error) {
      throw asStoreError(error, "save the sessions");
    }
  },
  run: async (packed) => {
    await step((tx) => tx.execute(unpack(packed)));
    return packed.room;
  },
  commit: async (journalID) => {
    await step(async (tx) => {
      await tx.execute("delete from saved");
      await tx.execute({ sql: "insert into saved (journalID) values (?)", args: [journalID] });
      await tx.commit();
      transaction = null;
    });
    return null;
  },
  rollback: () => {
    giveUp();
    return null;
  },
  close: async () => {
    giveUp();
    const client = await opening.catch(() => null);
    if (client !== null) await closeAtOnce(client, path);
    // The answer must leave first.
    setImmediate(() => port.close());
    return null;
  },
});
