import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { createVault } from "../../../../store/metadata/db/secrets.js";
import { createDevice, type DeviceStore, updateDevice } from "../../../../store/metadata/devices/devices.js";
import { findTopmost } from "../../../../store/metadata/devices/topmost.js";
import { forgetInfluxList, keepInfluxShards } from "../../../../store/metadata/influx-list.js";
import { createProduct } from "../../../../store/metadata/products/products.js";
import { createTenant } from "../../../../store/metadata/users/tenants.js";
import { assert, openTempDir, suite } from "../../../suite.js";

suite("what is above devices", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let store: DeviceStore;
  let productIntID = 0;
  let actor = { tenant: 0, userIntID: null, username: null };
  const ids = new Map<string, number>();
  const add = async (name: string, parent: string | null) => {
    const token = `token of ${name}`;
    const fields = { deviceID: name, deviceName: name, deviceUsername: name, token, productIntID };
    const parentDevice = parent === null ? null : (ids.get(parent) ?? 0);
    ids.set(name, (await createDevice(store, actor, 0, { ...fields, parentDevice })).id);
  };
  const move = (name: string, parent: string | null) =>
    updateDevice(store, actor, 0, ids.get(name) ?? 0, {
      parentDevice: parent === null ? null : (ids.get(parent) ?? 0),
    });
  /** By name: the topmost device, with an asterisk for what may have been elsewhere. */
  const found = async (...names: readonly string[]) => {
    const nameOf = new Map([...ids].map(([name, id]) => [id, name]));
    const all = await findTopmost(db, names);
    return names.map((name) => {
      const { id = 0, hasMoved = false } = all.get(name) ?? {};
      return `${nameOf.get(id) ?? "none"}${hasMoved ? "*" : ""}`;
    });
  };

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    store = { db, vault: createVault(Buffer.alloc(32, 7)) };
    actor = { ...actor, tenant: (await createTenant(db, 0, "one")).id };
    const input = { productName: "p", description: null, cloudProtocol: 1 };
    productIntID = (await createProduct(db, actor, 0, input)).id;
    await add("top", null);
    await add("middle", "top");
    await add("low", "middle");
    await add("lowest", "low");
    await add("other", null);
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  const all = ["top", "middle", "low", "lowest", "other"];

  test("is the topmost, however far; of nobody it is nothing", async () => {
    assert.equal(await found(...all), ["top", "top", "top", "top", "other"]);
    assert.equal(await found("nobody", "low"), ["none", "top"]);
    const many = Array.from({ length: 1200 }, (_, i) => `nobody-${i}`);
    assert.equal([...(await findTopmost(db, [...many, "low"])).keys()], ["low"]);
    assert.equal(await findTopmost(db, []), new Map());
  });

  test("a device below one that moved is known to have been elsewhere, also once it has left it", async () => {
    await move("middle", "other");
    assert.equal(await found(...all), ["top", "other*", "other*", "other*", "other"]);
    await move("lowest", null);
    assert.equal(await found(...all), ["top", "other*", "other*", "lowest*", "other"]);
    await move("middle", "top");
    assert.equal(await found(...all), ["top", "top*", "top*", "lowest*", "other"]);
  });

  test("an edit that leaves a device where it is moves nothing", async () => {
    await move("low", "middle");
    await updateDevice(store, actor, 0, ids.get("low") ?? 0, { description: "a description" });
    assert.equal(await found("low"), ["top"]);
  });

  test("everything may have been elsewhere once devices are shared out among another number of shards", async () => {
    await keepInfluxShards(db, 3);
    await keepInfluxShards(db, 3);
    assert.equal(await found(...all), ["top", "top", "top", "top", "other"]);
    await keepInfluxShards(db, 6);
    await add("later", null);
    assert.equal(await found(...all, "later"), ["top*", "top*", "top*", "top*", "other*", "later"]);
    await forgetInfluxList(db);
    await keepInfluxShards(db, 2);
    assert.equal(await found("later"), ["later"]);
  });
});
