import { join } from "node:path";
import { readLogScope } from "../../src/http/log-scope.js";
import { openDb } from "../../store/metadata/db/db.js";
import type { Filter } from "../../store/metadata/db/table.js";
import { makeDevice, makeProduct, unique } from "../factories.js";
import { assert, suite, withTempDir } from "../suite.js";
import { worldSuite } from "../world.js";

const named = (value: string): Filter => ({ field: "deviceName", like: true, value });

suite("devices that a log's filters name", (test) => {
  test("beyond 100,000 the list says so, and one device's own logs are not cut", async () => {
    await withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      await db.write([
        {
          sql: `insert into departed_device (id, tenant, deviceID, deviceName)
            with recursive n (i) as (select 1 union all select i + 1 from n where i < 100005)
            select i, 1, 'd' || i, 'name ' || i from n`,
        },
      ]);
      const all = await readLogScope(db, 1, [named("NAME")], 0);
      assert.equal([all.devices?.length, all.truncated], [100_001, true]);
      assert.equal(await readLogScope(db, 1, [named("name")], 100_005), {
        devices: [100_005],
        truncated: false,
      });
      assert.equal(await readLogScope(db, 1, [named("other")], 100_005), { devices: [], truncated: false });
      assert.equal(await readLogScope(db, 1, [], 7), { devices: [7], truncated: false });
      assert.equal(await readLogScope(db, 1, [], 0), { devices: null, truncated: false });
      await db.close();
    });
  });
});

worldSuite("filters of logs", (test, world) => {
  test("letters beyond ASCII have a case too, as in the lists of the records", async () => {
    const product = await makeProduct(world, { productName: unique("Wärme") });
    const device = await makeDevice(world, product, { deviceName: "Öfen_1" });
    await world.call("POST", "/api/v1/device_publish", {
      deviceID: device.deviceID,
      payload: "x",
      topic: "KÜCHE",
    });
    await world.publish(device, { a: 1 });
    const count = async (path: string) =>
      (await world.call("GET", `/api/v1/${path}`, undefined, { headers: { "Api-Variant": "B" } })).page.meta
        .count;
    for (const query of ["deviceName_like=öfen_", "deviceName_like=ÖFEN"]) {
      assert.is(await count(`device_control_logs?${query}`), 1, query);
      assert.is(await count(`device_events?${query}`), 1, query);
    }
    assert.is(await count("device_control_logs?topic_like=küche"), 1);
    assert.is(await count("device_control_logs?deviceName_like=öfenx"), 0);
    assert.is(await count("device_events?productName_like=WÄRME"), 1);
    assert.is(await count(`devices/${device.id}/events?deviceName_like=öf`), 1);
  });
});
