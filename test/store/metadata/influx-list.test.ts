import { createClient } from "@libsql/client";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { migrations } from "../../../store/metadata/db/migrations.js";
import { influxListSchema } from "../../../store/metadata/db/schema-influx-list.js";
import { openInfluxLedger } from "../../../store/metadata/influx-ledger.js";
import { forgetInfluxList, keepInfluxBucket, keepInfluxCount } from "../../../store/metadata/influx-list.js";
import { assert, suite, withTempDir } from "../../suite.js";

const withDb = (action: (db: Db) => Promise<void>): Promise<void> =>
  withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
    try {
      await action(db);
    } finally {
      await db.close();
    }
  });

suite("the list of InfluxDBs in the metadata", (test) => {
  test("the first number counts until it is forgotten", () =>
    withDb(async (db) => {
      assert.equal(await Promise.all([keepInfluxCount(db, 2), keepInfluxCount(db, 2)]), [2, 2]);
      assert.is(await keepInfluxCount(db, 3), 2);
      assert.is(await keepInfluxCount(db, 1), 2);
      await forgetInfluxList(db);
      assert.is(await keepInfluxCount(db, 3), 3);
    }));

  test("a bucket stays where it was seen first; a place may get a bucket that nobody knows", () =>
    withDb(async (db) => {
      await keepInfluxCount(db, 2);
      assert.equal(await keepInfluxBucket(db, 0, "a"), { place: 0, before: null });
      assert.equal(await keepInfluxBucket(db, 1, "a"), { place: 0, before: null });
      assert.equal(await keepInfluxBucket(db, 1, "b"), { place: 1, before: null });
      assert.equal(await keepInfluxBucket(db, 0, "b"), { place: 1, before: "a" });
      assert.equal(await keepInfluxBucket(db, 0, "a"), { place: 0, before: "a" });
      assert.equal(await keepInfluxBucket(db, 0, "c"), { place: 0, before: "a" });
      assert.equal(await keepInfluxBucket(db, 1, "a"), { place: 1, before: "b" });
    }));

  test("what is known of the bucket of one place says nothing of another", () =>
    withDb(async (db) => {
      const [first, second] = [0, 1].map((place) => openInfluxLedger(db, { org: "o", bucket: "b" }, place));
      await first?.keepBucketOrigin("made");
      assert.is(await first?.bucketOrigin(), "made");
      assert.is(await second?.bucketOrigin(), null);
    }));

  test("a deployment from before lists has one InfluxDB if it has written points there, and keeps what it knew", () =>
    withTempDir(async (dir) => {
      for (const [n, [known, count]] of (
        [
          ["insert into influx_bucket (org, bucket, origin) values ('o', 'b', 'made')", 1],
          ["insert into checkpoint (node, consumer, journalID) values (0, 'series', 5)", 1],
          ["insert into checkpoint (node, consumer, journalID) values (0, 'alerts', 5)", 2],
        ] as const
      ).entries()) {
        const url = `file:${dir}/${n}.db`;
        const client = createClient({ url, concurrency: 1 });
        const before = migrations.slice(0, migrations.indexOf(influxListSchema));
        for (const sql of before.flat()) await client.execute(sql);
        await client.execute(known);
        await client.execute("create table format (version integer not null) strict");
        await client.execute(`insert into format (version) values (${before.length})`);
        client.close();
        const db = await openDb({ url, shared: false });
        assert.is(await keepInfluxCount(db, 2), count, known);
        const origin = await openInfluxLedger(db, { org: "o", bucket: "b" }, 0).bucketOrigin();
        assert.is(origin, n === 0 ? "made" : null);
        await db.close();
      }
    }));
});
