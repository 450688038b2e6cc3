/** An error that lies in one record costs that record: it is counted with its reason, and what follows goes on. */

import { createDirectory } from "../../../ingest/directory/directory.js";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import { createMeter } from "../../../ingest/meter.js";
import { openSessions } from "../../../ingest/sessions/open.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { createDevice } from "../../../store/metadata/devices/devices.js";
import { openSessionStore } from "../../../store/mqtt-sessions/session-store.js";
import { keep } from "../../store/journal/support.js";
import { assert, suite } from "../../suite.js";
import { type ConsumerWorld, failingValue, failingYear, openConsumerWorld } from "../consumers/support.js";

suite("errors of single records", (test) => {
  let world: ConsumerWorld;
  /** Device whose children cannot be read. */
  let unreadable = 0;
  const wrap = (db: Db): Db => ({
    ...db,
    all: (sql, args) => {
      if (sql.includes("recursive below") && args?.[0] === unreadable)
        throw new TypeError("cannot read its children");
      return db.all(sql, args);
    },
  });
  test.before.each(async () => {
    world = await openConsumerWorld(wrap);
    unreadable = 0;
  });
  test.after.each(async () => world.close());

  const alertTimes = async () =>
    (
      await world.store.db.all<{ alertTimes: number }>(
        "select alertTimes from alert where alertName = 'rule'",
      )
    ).map((one) => one.alertTimes);
  const failures = () => world.failed.map(({ follower, id, error }) => [follower, id, error.message]);
  const failing = { temp: 2, time: `${failingYear}-01-01 00:00:00` };

  test("decoding: its points are left out, those of its neighbours are there", async () => {
    await world.send({ temp: 1 });
    const bad = await world.send(failing);
    await world.send({ temp: 3 });
    const alerts = await world.alerts();
    const series = await world.series({ listener: alerts });
    await world.settled(series);
    await world.settled(alerts);
    assert.equal(world.values, [1, 3]);
    assert.equal(failures(), [["series", bad, "the year"]]);
    assert.equal([...world.meter.refused], [["error", 1]]);
    const counted = await alerts.ingestOf(world.device);
    assert.equal([counted?.messages, counted?.points, counted?.refused], [3, 2, { error: 1 }]);
    assert.equal(await alertTimes(), [2]);
    await series.close();
    await alerts.close();
  });

  test("decoding by the alerts consumer itself: the same", async () => {
    await world.send(failing);
    await world.send({ temp: 3 });
    const alerts = await world.alerts();
    await world.settled(alerts);
    const counted = await alerts.ingestOf(world.device);
    assert.equal([counted?.messages, counted?.points, counted?.refused], [2, 1, { error: 1 }]);
    await alerts.close();
  });

  for (const handedOver of [false, true]) {
    test(`evaluating${handedOver ? ", handed over by the series consumer" : ""}: the points are stored, what follows is evaluated`, async () => {
      const alerts = await world.alerts();
      const series = handedOver ? await world.series({ listener: alerts }) : null;
      const sent: number[] = [];
      for (const temp of [1, failingValue, 2]) {
        sent.push(await world.send({ temp }));
        await world.settled(alerts);
      }
      assert.equal(failures(), [["alerts", sent[1], "the value"]]);
      assert.is(world.meter.refused.get("error"), 1);
      assert.equal(await alertTimes(), [2]);
      assert.is((await alerts.ingestOf(world.device))?.messages, 3);
      assert.equal((await alerts.ingestOf(world.device))?.refused, { error: 1 });
      if (series !== null) assert.equal(world.values, [1, failingValue, 2]);
      await series?.close();
      await alerts.close();
    });
  }

  test("an envelope whose carrier cannot be read: others are expanded", async () => {
    const actor = { tenant: world.tenant, userIntID: null, username: null };
    const named = (name: string) => ({ deviceID: name, deviceName: name, deviceUsername: name, token: "t" });
    const make = (name: string, parentDevice: number | null) =>
      createDevice(world.store, actor, 0, {
        ...named(name),
        productIntID: world.product,
        parentDevice,
      } as never);
    const broken = await make("broken", null);
    const whole = await make("whole", null);
    await make("child", whole.id);
    unreadable = broken.id;
    const payload = Buffer.from('{"Telemetry":[{"DeviceID":"child","temp":5}]}');
    const bad = await keep(world.journal, { device: broken.id, tenant: world.tenant, payload });
    await keep(world.journal, { device: whole.id, tenant: world.tenant, payload });
    const alerts = await world.alerts();
    const series = await world.series({ listener: alerts });
    await world.settled(alerts);
    await world.settled(series);
    assert.equal(failures(), [["alerts", bad, "cannot read its children"]]);
    assert.equal(world.values, [5]);
    assert.equal((await alerts.ingestOf(broken.id))?.refused, { error: 1 });
    await series.close();
    await alerts.close();
  });

  test("a device whose rows cannot be read holds up nobody", async () => {
    const other = createDirectory(
      {
        db: world.store.db,
        vault: {
          ...world.store.vault,
          open: () => {
            throw new SyntaxError("its row");
          },
        },
      },
      10,
    );
    // What is in memory is not read again.
    await world.directory.get(world.device);
    const unknown = (await world.store.db.first<{ id: number }>("select max(id) id from device"))?.id ?? 0;
    const bad = await keep(world.journal, { device: unknown, tenant: world.tenant });
    const series = await world.series({
      directory: {
        ...other,
        peek: (id) => (id === unknown && world.values.length === 0 ? undefined : world.directory.peek(id)),
      },
    });
    await world.settled(series);
    assert.equal(failures(), [["series", bad, "its row"]]);
    await series.close();
  });

  test("replaying sessions: a record that cannot be read is passed over", async () => {
    const common = { device: world.device, tenant: world.tenant, session: 5 };
    const details = (said: object) => Buffer.from(JSON.stringify(said));
    const connect = (clientID: string, details: Buffer) =>
      keep(world.journal, { ...common, kind: recordKinds.connect, clientID, details });
    const bad = await connect("broken", Buffer.from("{"));
    await connect("whole", details({ d: "d", e: 3600 }));
    const store = await openSessionStore(`${world.dir}/sessions.db`, assert.unreachable);
    const failed: number[] = [];
    const { registry } = await openSessions(store, world.journal, createMeter(), {
      narrow: noIsolation,
      onFailed: ({ id }) => failed.push(id),
    });
    assert.equal(failed, [bad]);
    assert.is(registry.find(world.device, 5)?.clientID, "whole");
    await store.close();
  });
});
