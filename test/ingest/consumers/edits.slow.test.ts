/** Endless edits hold up no message, neither those of the tenant that edits nor those of others. */
import type { AlertsConsumer } from "../../../ingest/alerts/consumer.js";
import type { Change } from "../../../store/metadata/db/changes.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { createDevice, updateDevice } from "../../../store/metadata/devices/devices.js";
import { keep } from "../../store/journal/support.js";
import { assert, suite } from "../../suite.js";
import { type ConsumerWorld, openConsumerWorld } from "./support.js";

suite("endless edits", (test) => {
  let world: ConsumerWorld;
  let alerts: AlertsConsumer;
  /** Edits that arrive after each statement that reads a plan, or the devices below a carrier. */
  let edits: readonly Partial<Change>[] = [];
  let looks = 0;
  const wrap = (db: Db): Db => ({
    ...db,
    all: async (sql, args) => {
      const rows = await db.all(sql, args);
      if (sql.includes("from product_resource") || sql.includes("recursive below")) {
        looks++;
        for (const edit of edits) void heard(change(edit));
      }
      return rows as never;
    },
  });
  /** As from the feed: the directory keeps what hangs below a carrier, the alerts keep the plans. */
  const heard = (one: Change): Promise<void> => {
    alerts.forget(one);
    return one.entity === "device" ? world.directory.apply(one) : Promise.resolve();
  };
  const change = (edit: Partial<Change>): Change => ({
    id: 1,
    tenant: 1,
    userIntID: null,
    username: null,
    at: 0,
    action: "update",
    entity: "",
    recordID: 0,
    detail: null,
    ...edit,
  });
  const envelope = Buffer.from('{"Telemetry":[{"DeviceID":"child","temp":5}]}');

  test.before.each(async () => {
    world = await openConsumerWorld(wrap);
    [edits, looks] = [[], 0];
    alerts = await world.alerts();
  });
  test.after.each(async () => {
    await alerts.close();
    await world.close();
  });

  async function addChild(): Promise<number> {
    const actor = { tenant: world.tenant, userIntID: null, username: null };
    const names = { deviceID: "child", deviceName: "child", deviceUsername: "child", token: "t" };
    const input = { ...names, productIntID: world.product, parentDevice: world.device };
    return (await createDevice(world.store, actor, 0, input)).id;
  }

  async function sendAll(payload: Uint8Array): Promise<void> {
    for (let i = 0; i < 5; i++) await keep(world.journal, { ...world, payload });
    const series = await world.series({ listener: alerts });
    await world.settled(series);
    await world.settled(alerts);
    await series.close();
  }

  test("of the product itself: its plan is read for each message, and each is processed", async () => {
    edits = [{ entity: "product", recordID: world.product }];
    await sendAll(Buffer.from('{"temp":1}'));
    assert.equal(world.values, [1, 1, 1, 1, 1]);
    assert.is((await alerts.ingestOf(world.device))?.points, 5);
    assert.ok(looks <= 10, `${looks} looks`);
  });

  test("of other products and their members: the plan is read once", async () => {
    const detail = JSON.stringify({ productIntID: world.product + 1 });
    edits = [
      { entity: "product", recordID: world.product + 1 },
      { entity: "data_point", recordID: 999 },
      { entity: "alert_rule", recordID: 999, action: "create", detail },
      { entity: "device", recordID: world.device, detail: '{"description":"new"}' },
    ];
    await sendAll(Buffer.from('{"temp":1}'));
    assert.equal([world.values.length, looks], [5, 1]);
  });

  test("of the devices below a carrier: its envelopes are still expanded", async () => {
    const child = await addChild();
    edits = [{ entity: "device", recordID: child, detail: '{"blocked":0}' }];
    await sendAll(envelope);
    assert.equal(world.values, [5, 5, 5, 5, 5]);
  });

  test("of devices elsewhere, or without a change of place: the devices below are read once", async () => {
    const child = await addChild();
    // The plan of the product.
    await world.send({ temp: 1 });
    await world.settled(alerts);
    looks = 0;
    edits = [
      { entity: "device", recordID: child, detail: '{"description":"new"}' },
      { entity: "device", recordID: 999, action: "delete" },
      { entity: "device", recordID: 999, action: "create", detail: '{"gateway":998}' },
      { entity: "device", recordID: 999, detail: '{"gateway":998,"blocked":1}' },
    ];
    await sendAll(envelope);
    assert.equal([world.values.filter((value) => value === 5).length, looks], [5, 1]);
  });

  test("what comes below a carrier, leaves it, or is blocked counts from then on", async () => {
    const actor = { tenant: world.tenant, userIntID: null, username: null };
    const follow = async () => {
      const rows = await world.store.db.all<Change>("select * from change order by id desc limit 1");
      for (const row of rows) await heard(row);
    };
    const sends = async () => {
      const before = world.journal.committedID;
      await keep(world.journal, { ...world, payload: envelope });
      await world.settled(alerts);
      // The envelope, the entry if it is taken, and the word that all are there.
      return world.journal.committedID - before === 3;
    };
    assert.not(await sends());
    const child = await addChild();
    await follow();
    assert.ok(await sends());
    await updateDevice(world.store, actor, 1, child, { blocked: 1 });
    await follow();
    assert.not(await sends());
    await updateDevice(world.store, actor, 2, child, { blocked: 0 });
    await follow();
    assert.ok(await sends());
    await updateDevice(world.store, actor, 3, child, { parentDevice: null });
    await follow();
    assert.not(await sends());
  });
});
