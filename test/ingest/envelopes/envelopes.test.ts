/** An envelope of many entries: what it appends, and that it waits for capacity as it goes. */
import { utcMicros } from "../../../ingest/decode/time.js";
import { createDirectory } from "../../../ingest/directory/directory.js";
import { openEnvelopes } from "../../../ingest/envelopes/envelopes.js";
import type { Journal } from "../../../store/journal/journal.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { StoreError } from "../../../store/lib/errors.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import { createDevice } from "../../../store/metadata/devices/devices.js";
import { createProduct } from "../../../store/metadata/products/products.js";
import { createTenant } from "../../../store/metadata/users/tenants.js";
import { keep, openTestJournal, readAll, readMessages } from "../../store/journal/support.js";
import { assert, suite, until, withTempDir } from "../../suite.js";

/** A gateway that carries one device, `child`. */
async function carrier(db: Db): Promise<{ gateway: number; child: number }> {
  const store = { db, vault: createVault(Buffer.alloc(32, 7)) };
  const tenant = (await createTenant(db, 0, "one")).id;
  const actor = { tenant, userIntID: null, username: null };
  const { id: product } = await createProduct(db, actor, 0, {
    productName: "p",
    description: null,
    cloudProtocol: 1,
  });
  const make = async (name: string, parentDevice?: number) => {
    const names = { deviceID: name, deviceName: name, deviceUsername: name, token: "t" };
    const above = parentDevice === undefined ? {} : { upLinkSystem: 3, parentDevice };
    return (await createDevice(store, actor, 0, { ...names, ...above, productIntID: product })).id;
  };
  const gateway = await make("gateway");
  return { gateway, child: await make("child", gateway) };
}

const deps = (db: Db, journal: Journal) => ({
  directory: createDirectory({ db, vault: createVault(Buffer.alloc(32, 7)) }, 100),
  journal,
  rules: () => ({ local: utcMicros, earliest: earliestTime, oldest: 0 }),
  onCarried: () => undefined,
});

const envelopeOf = (entries: number): Buffer =>
  Buffer.from(
    JSON.stringify({ Telemetry: Array.from({ length: entries }, (_, n) => ({ DeviceID: "child", n })) }),
  );

suite("envelopes", (test) => {
  test("9,600 entries under a topic of 1,000 bytes: as many records, in order; the topic does not swell the journal", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      const { gateway, child } = await carrier(db);
      const journal = await openTestJournal(`${dir}/journal`);
      const envelopes = await openEnvelopes(deps(db, journal), 0);
      const topic = "t".repeat(1000);
      const payload = envelopeOf(9600);
      const id = await keep(journal, { device: gateway, topic, payload });
      const before = journal.segments.at(-1)?.bytes ?? 0;
      const [envelope] = await readMessages(journal);
      assert.ok(envelope);
      await envelopes.expand(envelope);
      await envelopes.written();
      const records = (await readAll(journal, id)).filter((record) => record.kind === recordKinds.entry);
      assert.equal(
        records.map(({ ordinal, device, topic: of, envelope: from }) => [
          ordinal,
          device,
          of === topic,
          from,
        ]),
        Array.from({ length: 9600 }, (_, n) => [n, child, true, id]),
      );
      const grown = (journal.segments.at(-1)?.bytes ?? 0) - before;
      assert.ok(grown < 9600 * 110, `${grown} bytes of ${payload.length}`);
      await journal.close();
      await db.close();
    }));

  test("while the journal is full they wait, and no more of them than one lies beyond its bound", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      const { gateway } = await carrier(db);
      const pendingBytesMax = 8 * 1024;
      let most = 0;
      const journal = await openTestJournal(`${dir}/journal`, { pendingBytesMax });
      const counting = {
        ...journal,
        get full() {
          most = Math.max(most, journal.pendingBytes);
          return journal.full;
        },
        append: (...args: Parameters<typeof journal.append>) => journal.append(...args),
      };
      const envelopes = await openEnvelopes(deps(db, counting as never), 0);
      const id = await keep(journal, { device: gateway, payload: envelopeOf(3000) });
      const [envelope] = await readMessages(journal);
      assert.ok(envelope);
      await envelopes.expand(envelope);
      await envelopes.written();
      const count = (await readAll(journal, id)).filter((record) => record.kind === recordKinds.entry).length;
      assert.is(count, 3000);
      assert.ok(most <= pendingBytesMax + 300, `${most} bytes pending`);
      await journal.close();
      await db.close();
    }));

  test("one that is closed half way appends nothing more; the next goes on after what is there", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      const { gateway } = await carrier(db);
      const journal = await openTestJournal(`${dir}/journal`, { pendingBytesMax: 1024 });
      const first = await openEnvelopes(deps(db, journal), 0);
      await keep(journal, { device: gateway, payload: envelopeOf(2000), topic: "a long topic" });
      const [envelope] = await readMessages(journal);
      assert.ok(envelope);
      const running = first.expand(envelope);
      await until(() => journal.committedID > 20, { what: "some entries" });
      first.close();
      await running;
      await journal.waitFor(journal.appendedID - 1);
      const half = journal.appendedID;
      assert.ok(half < 2000, `${half} records`);
      let away = false;
      const faulty: Db = {
        ...db,
        all: (sql, args) =>
          away ? Promise.reject(new StoreError("UNAVAILABLE", "the metadata are away")) : db.all(sql, args),
      };
      const next = await openEnvelopes(deps(faulty, journal), 0);
      away = true;
      const failed = await next.expand(envelope).catch((error: Error) => error.message);
      assert.is(failed, "the metadata are away");
      away = false;
      await next.expand(envelope);
      await next.written();
      const entries = (await readAll(journal)).filter((record) => record.kind === recordKinds.entry);
      assert.equal(
        entries.map(({ ordinal, topic }) => [ordinal, topic]),
        Array.from({ length: 2000 }, (_, n) => [n, "a long topic"]),
      );
      await journal.close();
      await db.close();
    }));
});
