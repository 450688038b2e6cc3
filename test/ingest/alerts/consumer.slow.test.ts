/** The alerts consumer on a real journal and real metadata: handed over, reading by itself, restarted, refused. */

import { type CompileCondition, createCompiledRulesCache } from "../../../ingest/alerts/compiled-rules.js";
import { type AlertsConsumer, startAlertsConsumer } from "../../../ingest/alerts/consumer.js";
import { type DecodedPoint, decodePoints } from "../../../ingest/decode/points.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { createDirectory, type Directory } from "../../../ingest/directory/directory.js";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import { isDecodable, toMessage } from "../../../ingest/followers/records.js";
import { createMeter } from "../../../ingest/meter.js";
import type { Journal } from "../../../store/journal/journal.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { systemClock } from "../../../store/lib/clock.js";
import { StoreError } from "../../../store/lib/errors.js";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { createAlertRule } from "../../../store/metadata/alerts/alert-rules.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import { createDevice, type DeviceStore } from "../../../store/metadata/devices/devices.js";
import { createDataPoint } from "../../../store/metadata/products/data-points.js";
import { createProduct } from "../../../store/metadata/products/products.js";
import { createTenant } from "../../../store/metadata/users/tenants.js";
import { keep, openTestJournal, readAll } from "../../store/journal/support.js";
import { assert, openTempDir, suite, until } from "../../suite.js";

const rules = { local: utcMicros, earliest: earliestTime, oldest: 0 };
const heavy = "dataPoint > 50";
/** As slow as a formula of some hundred parts. */
const compileHeavy: CompileCondition = () => ({
  variables: ["dataPoint"],
  weight: 100,
  evaluate: ([value = 0]) => {
    for (const end = performance.now() + 0.003; performance.now() < end; );
    return value > 50 ? 1 : 0;
  },
});

suite("the alerts consumer", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let store: DeviceStore;
  let journal: Journal;
  let directory: Directory;
  let actor = { tenant: 0, userIntID: null, username: null };
  let product = 0;
  let device = 0;
  /** Set: the metadata fails so often, after or before it has written. */
  let failures = 0;
  let failsAfter = false;

  test.before.each(async () => {
    dir = await openTempDir();
    const db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    const vault = createVault(Buffer.alloc(32, 7));
    store = { db, vault };
    actor = { ...actor, tenant: (await createTenant(db, 0, "one")).id };
    product = (
      await createProduct(db, actor, 0, {
        productName: "p",
        description: null,
        cloudProtocol: 1,
      })
    ).id;
    const common = { pointDataType: 1, dataTransType: 1, dataPointName: "temp" };
    await createDataPoint(db, actor, 0, product, "temp", { ...common, upperLimit: 50 });
    const names = { deviceID: "d", deviceName: "d", deviceUsername: "d", token: "t" };
    device = (await createDevice(store, actor, 0, { ...names, productIntID: product })).id;
    journal = await openTestJournal(`${dir.path}/journal`);
    directory = createDirectory(store, 100);
    failures = 0;
  });
  test.after.each(async () => {
    await journal.close();
    await store.db.close();
    await dir.close();
  });

  const nothing: CompileCondition = () => ({ variables: [], weight: 1, evaluate: () => 0 });
  const start = (offlineGraceMs = 60_000, compile = nothing): Promise<AlertsConsumer> =>
    startAlertsConsumer({
      journal,
      directory,
      db: failing(store.db),
      node: 0,
      offlineGraceMs,
      ...systemClock,
      meter: createMeter(),
      compiledRules: createCompiledRulesCache(store.db, compile, () => undefined),
      rules: () => rules,
      onCarried: () => undefined,
      onTrouble: () => undefined,
      narrow: noIsolation,
      onFailed: ({ error }) => {
        throw error;
      },
      onFailure: (error) => {
        throw error;
      },
    });
  const failing = (db: Db): Db => ({
    ...db,
    write: async (statements) => {
      const fails = failures > 0;
      failures = Math.max(0, failures - 1);
      const results = fails && !failsAfter ? [] : await db.write(statements);
      if (fails) throw new StoreError("UNAVAILABLE", "the answer is lost");
      return results;
    },
  });
  const send = (temp: number) =>
    keep(journal, { device, tenant: actor.tenant, payload: Buffer.from(JSON.stringify({ temp })) });
  const settled = (consumer: AlertsConsumer) =>
    until(() => consumer.settledID === journal.committedID, { what: "the effects" });
  const alerts = () =>
    store.db.all<{ alertName: string; alertTimes: number; endTime: number | null }>(
      "select alertName, alertTimes, endTime from alert order by id",
    );
  const counts = async () => (await alerts()).map((one) => [one.alertTimes, one.endTime !== null]);

  test("counts each message once over restarts at any place", async () => {
    for (let run = 1; run <= 5; run++) {
      const consumer = await start();
      for (let i = 0; i < 7; i++) await send(60);
      if (run % 2 === 0) await settled(consumer);
      await consumer.close();
    }
    const consumer = await start();
    await settled(consumer);
    assert.equal(await counts(), [[35, false]]);
    assert.is((await consumer.ingestOf(device))?.messages, 35);
    await consumer.close();
  });

  for (const after of [false, true]) {
    test(`counts each message once where writes fail ${after ? "after" : "before"} they are done`, async () => {
      failsAfter = after;
      const consumer = await start();
      for (let i = 0; i < 20; i++) {
        failures = i % 3 === 0 ? 1 : 0;
        await send(i % 5 === 4 ? 10 : 60);
        if (i % 4 === 0) await settled(consumer);
      }
      failures = 2;
      await settled(consumer);
      assert.equal(await counts(), [
        [4, true],
        [4, true],
        [4, true],
        [4, true],
      ]);
      await consumer.close();
    });
  }

  test("a heavy message counts as a whole, whatever stops it, and others are not held up by it", async () => {
    const points = await store.db.all<{ id: number }>("select id from data_point");
    for (let i = 0; i < 20; i++) {
      await createAlertRule(store.db, actor, 0, product, {
        alertName: `rule ${i}`,
        alertContent: "",
        alertSeverity: 1,
        duration: 0,
        dataPointIntID: points[0]?.id as number,
        condition: heavy,
      });
    }
    const base = Date.UTC(2026, 0, 1);
    const swings = Array.from({ length: 1501 }, (_, i) => ({
      temp: i % 2 === 0 ? 60 : 10,
      time: new Date(base + i * 1000).toISOString(),
    }));
    const payload = Buffer.from(JSON.stringify(swings));
    await keep(journal, { device, tenant: actor.tenant, payload });
    for (let run = 0; run < 3; run++) {
      const consumer = await start(60_000, compileHeavy);
      await new Promise((resolve) => setTimeout(resolve, 30 * run));
      await consumer.close();
    }
    const consumer = await start(60_000, compileHeavy);
    await settled(consumer);
    assert.is((await consumer.ingestOf(device))?.messages, 1);
    const rows = await store.db.all<{ cause: string; rows: number; open: number }>(
      "select cause, count(*) rows, sum(endTime is null) open from alert group by cause",
    );
    assert.is(rows.length, 21);
    for (const row of rows) assert.equal([row.rows, row.open], [6, 1], row.cause);
    await send(10);
    await settled(consumer);
    assert.equal(await store.db.all("select id from alert where endTime is null"), []);
    await consumer.close();
  });

  test("what a message is bringing about is written before what is then changed by hand", async () => {
    const points = await store.db.all<{ id: number }>("select id from data_point");
    const dataPointIntID = points[0]?.id as number;
    for (let i = 0; i < 20; i++) {
      const fields = { alertName: `rule ${i}`, alertContent: "", alertSeverity: 1, duration: 0 };
      await createAlertRule(store.db, actor, 0, product, { ...fields, dataPointIntID, condition: heavy });
    }
    const base = Date.UTC(2026, 0, 1);
    const swings = Array.from({ length: 1501 }, (_, i) => ({
      temp: i % 2 === 0 ? 60 : 10,
      time: new Date(base + i * 1000).toISOString(),
    }));
    const consumer = await start(60_000, compileHeavy);
    await keep(journal, { device, tenant: actor.tenant, payload: Buffer.from(JSON.stringify(swings)) });
    const written = () => store.db.first<{ messages: number }>("select messages from device_ingest");
    // Looked for in each turn: it takes some dozens.
    while ((await consumer.ingestOf(device))?.messages !== 1) await nextTurn();
    assert.is(await written(), undefined, "it is being applied");
    await consumer.settle([device]);
    assert.equal(await written(), { messages: 1 });
    const open = "select count(*) open from alert where endTime is null";
    assert.equal(await store.db.first(open), { open: 21 });
    await consumer.close();
  });

  test("takes what is handed over where it stands there, and reads by itself where it does not", async () => {
    const consumer = await start();
    await send(60);
    await settled(consumer);
    for (let i = 0; i < 30; i++) await send(i % 2 === 0 ? 60 : 61);
    const entry = await directory.get(device);
    let previous = 0;
    for (const record of await readAll(journal)) {
      const before = previous;
      previous = record.id;
      // Every third is kept back, as if the series consumer had gone ahead while this one was reading.
      if (record.id % 3 === 0 || entry === undefined || !isDecodable(record)) continue;
      const points: DecodedPoint[] = [];
      const how = { ...rules, asOfReceipt: false };
      const outcome = decodePoints(entry, toMessage(record), how, points, () => undefined);
      consumer.offer(before, record, entry, { points, from: 0, outcome, refusals: [] });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await settled(consumer);
    assert.equal(await counts(), [[31, false]]);
    await consumer.close();
  });

  test("a device whose connection breaks off and that does not come back is offline until it does", async () => {
    const common = () => ({ device, tenant: actor.tenant });
    const connect = () => keep(journal, { ...common(), kind: recordKinds.connect });
    const disconnect = (connection: number, orderly: boolean) =>
      keep(journal, { ...common(), kind: recordKinds.disconnect, connection, orderly });
    let consumer = await start(50);
    await disconnect(await connect(), true);
    const [one, two] = [await connect(), await connect()];
    await disconnect(one, false);
    await settled(consumer);
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(await alerts(), []);
    await disconnect(two, false);
    await until(async () => (await alerts()).length === 1, { what: "the alert" });
    await consumer.close();
    consumer = await start(50);
    const third = await connect();
    await settled(consumer);
    const [alert] = await alerts();
    assert.equal([alert?.alertName, alert?.alertTimes, alert?.endTime !== null], ["设备离线", 1, true]);
    await disconnect(third, false);
    await settled(consumer);
    await consumer.close();
    consumer = await start(50);
    await until(async () => (await alerts()).length === 2, { what: "the alert, after a restart" });
    await consumer.close();
  });
});
