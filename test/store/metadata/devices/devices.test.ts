import { StoreError, type StoreErrorCode } from "../../../../store/lib/errors.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { createVault } from "../../../../store/metadata/db/secrets.js";
import { beingRemoved } from "../../../../store/metadata/db/sql-errors.js";
import { insertInto } from "../../../../store/metadata/db/table.js";
import {
  createDevice,
  type DeviceStore,
  listDevices,
  removeDevices,
  updateDevice,
} from "../../../../store/metadata/devices/devices.js";
import { createProduct } from "../../../../store/metadata/products/products.js";
import { endRemovals, newestRemoval } from "../../../../store/metadata/removals.js";
import { createTenant } from "../../../../store/metadata/users/tenants.js";
import { assert, openTempDir, rejects, suite } from "../../../suite.js";

async function failsWith(code: StoreErrorCode, action: () => Promise<unknown>): Promise<StoreError> {
  const error = await rejects(action);
  if (!(error instanceof StoreError) || error.code !== code) throw error;
  return error;
}

suite("devices in the store", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let store: DeviceStore;
  let productIntID = 0;
  let actor = { tenant: 0, userIntID: null, username: null };
  const add = (name: string, fields: object = {}) =>
    createDevice(store, actor, 0, {
      deviceID: name,
      deviceName: name,
      deviceUsername: name,
      token: `token of ${name}`,
      productIntID,
      ...fields,
    });
  const insert = async (table: string, record: Readonly<Record<string, string | number>>) =>
    Number((await db.write([insertInto(table, record)]))[0]?.lastInsertRowid);
  const count = async (table: string) =>
    (await db.first<{ n: number }>(`select count(*) n from ${table}`))?.n;

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    store = { db, vault: createVault(Buffer.alloc(32, 7)) };
    actor = { ...actor, tenant: (await createTenant(db, 0, "one")).id };
    const input = { productName: "p", description: null, cloudProtocol: 1 };
    productIntID = (await createProduct(db, actor, 0, input)).id;
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  /** One record of everything that hangs on a device. */
  async function hangOn(device: number): Promise<void> {
    const { tenant } = actor;
    const own = { tenant, createAt: 0 };
    const names = { groupID: "g", groupName: "g", productIntID };
    const groupIntID = await insert("device_group", { ...own, ...names });
    const policyIntID = await insert("policy", { ...own, name: "n", topic: "t", access: 0, allow: 1 });
    const pem = { CN: "c", cert: "c", key: "k", root: "r", fingerprint: "f", expiresAt: 1 };
    await db.write([
      {
        sql: `insert into cert (tenant, name, enable, CN, cert, key, root, fingerprint, expiresAt, createAt)
          values (?, 'n', 1, ?, ?, x'00', ?, ?, ?, 0)`,
        args: [tenant, pem.CN, pem.cert, pem.root, pem.fingerprint, pem.expiresAt],
      },
      insertInto("group_member", { groupIntID, deviceIntID: device }),
      insertInto("policy_device", { policyIntID, deviceIntID: device }),
      insertInto("cert_device", { certIntID: 1, deviceIntID: device }),
      insertInto("subscription", { ...own, deviceIntID: device, topic: "t" }),
      {
        sql: `insert into schedule (tenant, publishType, deviceIntID, scheduleName, scheduleType, topic, payload, createAt)
          values (?, 0, ?, 's', 1, 't', x'00', 0)`,
        args: [tenant, device],
      },
      ...[{}, { endTime: 1 }].map((end) =>
        insertInto("alert", {
          ...own,
          deviceIntID: device,
          cause: "c",
          alertName: "a",
          alertContent: "a",
          alertSeverity: 1,
          startTime: 0,
          ...end,
        }),
      ),
    ]);
  }

  test("what hangs on a device goes with it; what it was bound to stays", async () => {
    const { id } = await add("a");
    const other = await add("b");
    await hangOn(id);
    const group = { page: 1, limit: 10, filters: [{ field: "groupID", like: false, value: "g" }] };
    assert.equal(
      (await listDevices(store, actor.tenant, group)).items.map((device) => device.id),
      [id],
    );
    await removeDevices(store, actor, 1, [id]);
    const gone = ["group_member", "policy_device", "cert_device", "subscription", "schedule", "alert"];
    for (const table of gone) assert.is(await count(table), 0, table);
    for (const table of ["device_group", "policy", "cert", "departed_device", "removal"]) {
      assert.is(await count(table), 1, table);
    }
    assert.equal((await listDevices(store, actor.tenant, group)).count, 0);
    assert.equal((await listDevices(store, actor.tenant, { ...group, filters: [] })).items[0]?.id, other.id);
  });

  test("a deviceID is free when its points are gone; until then it is taken, by name", async () => {
    const { id } = await add("a");
    await removeDevices(store, actor, 1, [id]);
    const again = () => add("a", { deviceName: "new", deviceUsername: "new" });
    assert.equal((await failsWith("CONFLICT", again)).fields, { deviceID: beingRemoved });
    await endRemovals(db, [await newestRemoval(db)]);
    assert.ok((await add("a")).id > id, "the record id is a new one");
  });

  test("a gateway or parent stays while something hangs on it, and goes together with it", async () => {
    const gateway = await add("g", { kind: "gateway" });
    const parent = await add("p", { gateway: gateway.id });
    const child = await add("c", { parentDevice: parent.id });
    await failsWith("REFERENCED", () => removeDevices(store, actor, 1, [gateway.id]));
    await failsWith("REFERENCED", () => removeDevices(store, actor, 1, [gateway.id, parent.id]));
    assert.equal([await count("device"), await count("removal"), await count("departed_device")], [3, 0, 0]);
    await removeDevices(store, actor, 1, [gateway.id, parent.id, child.id]);
    assert.is(await count("device"), 0);
  });

  test("no edit closes the chain of parents, whatever was checked before", async () => {
    const top = await add("a");
    const middle = await add("b", { parentDevice: top.id });
    const bottom = await add("c", { parentDevice: middle.id });
    for (const parentDevice of [top.id, middle.id, bottom.id]) {
      await failsWith("REFERENCED", () => updateDevice(store, actor, 1, top.id, { parentDevice }));
    }
    const moved = await updateDevice(store, actor, 1, bottom.id, { parentDevice: top.id });
    assert.is(moved.parentDevice, top.id);
  });

  test("the audit log shows no token and no key", async () => {
    const { id } = await add("a", { lora: { type: "otaa", appKey: "secret key" } });
    await updateDevice(store, actor, 1, id, { token: "secret token", lora: { appKey: "secret key" } });
    const rows = await db.all<{ detail: string }>("select detail from change where entity = 'device'");
    assert.is(rows.length, 2);
    for (const { detail } of rows) {
      assert.not.match(detail, /secret|token of/);
      assert.match(detail, /\*\*\*/);
    }
  });
});
