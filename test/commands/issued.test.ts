import { join } from "node:path";
import { createPendingReceipts } from "../../ingest/sessions/pending-receipts.js";
import { settleIssued, startExpiry } from "../../src/commands/issued.js";
import { createReceipts } from "../../src/commands/receipts.js";
import { createLogger } from "../../src/observability/log.js";
import { createControlLog, publishStatuses } from "../../store/metadata/commands/control-logs.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { assert, suite, until, withTempDir } from "../suite.js";

const time = 1_800_000_000_000;
const now = () => time;
const log = createLogger("error", () => undefined, now);
const actor = { tenant: 1, username: "admin", userIntID: null };

/** A log of this process that is issued, made at `createAt` for ten seconds. */
function issue(db: Db, qos: 0 | 1, createAt = time): Promise<number> {
  return createControlLog(db, actor, createAt, {
    deviceIntID: 1,
    groupLogIntID: null,
    node: 0,
    topic: "inbox",
    payload: Buffer.from("on"),
    qos,
    ttl: 10,
    publishStatus: publishStatuses.issued,
  });
}

const statuses = async (db: Db) =>
  (await db.all<{ publishStatus: number }>("select publishStatus from control_log order by id")).map(
    ({ publishStatus }) => publishStatus,
  );

async function withDb(use: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await use(db);
    await db.close();
  });
}

suite("issued commands without a waiting caller", (test) => {
  test("what a killed run has issued and nobody holds has failed, at QoS 0 as well", async () => {
    await withDb(async (db) => {
      for (const qos of [0, 1] as const) await issue(db, qos);
      const receipts = createReceipts({ db, log, now });
      await settleIssued({ db, now, node: 0, held: createPendingReceipts(), receipts });
      assert.equal(await statuses(db), [0, 0]);
      await receipts.close();
    });
  });

  test("what its time was over for is corrected by the receipt, or by the word that it was sent", async () => {
    await withDb(async (db) => {
      const ids = [await issue(db, 0, time - 20_000), await issue(db, 1, time - 20_000)];
      const expiry = startExpiry({ db, now, log });
      await until(async () => String(await statuses(db)) === "0,0", { what: "the end of their time" });
      const receipts = createReceipts({ db, log, now });
      const { noReceipt, confirmed } = publishStatuses;
      for (const [i, id] of ids.entries()) {
        receipts.add({ id, groupLogIntID: null, publishStatus: i === 0 ? noReceipt : confirmed });
      }
      await receipts.stored();
      assert.equal(await statuses(db), [3, 2]);
      await expiry.close();
      await receipts.close();
    });
  });
});
