import { createPresence } from "../../../ingest/directory/presence.js";
import { openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import { createDevice, type DeviceStore, getDevice } from "../../../store/metadata/devices/devices.js";
import { clearPresence } from "../../../store/metadata/devices/presence.js";
import { createProduct } from "../../../store/metadata/products/products.js";
import { createTenant } from "../../../store/metadata/users/tenants.js";
import { assert, openTempDir, rejects, suite, until } from "../../suite.js";

suite("presence", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let store: DeviceStore;
  let tenant: number;
  let device: number;
  test.before(async () => {
    dir = await openTempDir();
    const db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    store = { db, vault: createVault(Buffer.alloc(32, 7)) };
    tenant = (await createTenant(db, 0, "one")).id;
    const actor = { tenant, userIntID: null, username: null };
    const product = await createProduct(db, actor, 0, {
      productName: "p",
      description: null,
      cloudProtocol: 1,
    });
    const names = { deviceID: "d", deviceName: "d", deviceUsername: "d", token: "t" };
    device = (await createDevice(store, actor, 0, { ...names, productIntID: product.id })).id;
  });
  test.after(async () => {
    await store.db.close();
    await dir.close();
  });
  const stored = async () => {
    const { deviceStatus, clientIP, keepAlive, connectedAt } = await getDevice(store, tenant, device);
    return { deviceStatus, clientIP, keepAlive, connectedAt };
  };

  test("online while at least one connection is; the time of connecting stays behind", async () => {
    const presence = createPresence(store.db, 0, () => 0);
    presence.connected(device, "10.0.0.1", 60, 1000);
    presence.connected(device, "10.0.0.2", 30, 2000);
    presence.disconnected(device);
    await presence.save();
    const online = { deviceStatus: 1, clientIP: "10.0.0.2", keepAlive: 30, connectedAt: 2000 };
    assert.equal(await stored(), online);
    assert.is(presence.online, 1);
    presence.disconnected(device);
    await presence.save();
    assert.equal(await stored(), { deviceStatus: 0, clientIP: null, keepAlive: null, connectedAt: 2000 });
    assert.is(presence.online, 0);
  });

  test("a child is there from its first message until its gateway goes, or while it is there itself", async () => {
    const presence = createPresence(store.db, 0, () => 0);
    const [gateway, other] = [device + 100, device + 101];
    const status = async () => {
      await presence.save();
      return (await stored()).deviceStatus;
    };
    presence.connected(device, "10.0.0.1", 60, 1000);
    presence.disconnected(device);
    presence.carried(device, gateway, 2000);
    assert.is(await status(), 0, "the gateway is not there: the message is old");
    presence.connected(gateway, "10.0.0.2", 60, 3000);
    presence.carried(device, gateway, 4000);
    await presence.save();
    assert.equal(await stored(), { deviceStatus: 1, clientIP: null, keepAlive: null, connectedAt: 4000 });
    presence.disconnected(gateway);
    assert.is(await status(), 0);

    presence.connected(gateway, "10.0.0.2", 60, 5000);
    presence.connected(other, "10.0.0.3", 60, 5000);
    presence.carried(device, gateway, 6000);
    presence.carried(device, other, 7000);
    presence.disconnected(gateway);
    assert.is(await status(), 1, "another carries it now");
    presence.connected(device, "10.0.0.1", 60, 8000);
    presence.disconnected(other);
    assert.is(await status(), 1, "it is there itself");
    presence.disconnected(device);
    assert.is(await status(), 0);

    presence.connected(gateway, "10.0.0.2", 60, 9000);
    presence.carried(other, gateway, 9000);
    presence.carried(device, other, 9000);
    assert.is(await status(), 1, "behind one that is itself carried");
    presence.disconnected(gateway);
    assert.is(await status(), 0);
  });

  test("what a write could not store is stored by the next, unless something newer happened", async () => {
    let failing = true;
    const { write } = store.db;
    const flaky = {
      ...store.db,
      write: (all: Parameters<typeof write>[0]) => (failing ? Promise.reject(new Error("disk")) : write(all)),
    };
    const presence = createPresence(flaky, 0, () => 0);
    presence.connected(device, "10.0.0.3", 60, 3000);
    await rejects(() => presence.save(), /disk/);
    presence.disconnected(device);
    failing = false;
    await presence.save();
    assert.is((await stored()).deviceStatus, 0);
  });

  test("who settles waits for what has changed so far, also while it is being written, and for nothing later", async () => {
    const { write } = store.db;
    let release = (): void => undefined;
    let writes = 0;
    const slow = {
      ...store.db,
      write: async (all: Parameters<typeof write>[0]) => {
        writes++;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return write(all);
      },
    };
    const presence = createPresence(slow, 0, () => 0);
    await presence.settle();
    assert.is(writes, 0);
    presence.connected(device, "10.0.0.5", 60, 5000);
    const saved = presence.save();
    await until(() => writes === 1, { what: "the write" });
    let settled = false;
    const settling = presence.settle().then(() => {
      settled = true;
    });
    await stored();
    assert.not(settled);
    presence.disconnected(device);
    release();
    await settling;
    assert.is((await stored()).deviceStatus, 1);
    await until(() => writes === 2, { what: "the next write of save" });
    release();
    await saved;
    assert.is((await stored()).deviceStatus, 0);

    // One read is never held by a storm that goes on: 450 changes take three writes.
    let made = 0;
    const storm = createPresence(
      {
        ...store.db,
        write: (all: Parameters<typeof write>[0]) => {
          made++;
          for (let i = 0; i < 500; i++) storm.connected(1_000_000 * made + i, "", 60, 6000);
          return write(all);
        },
      },
      0,
      () => 0,
    );
    for (let i = 0; i < 450; i++) storm.connected(500_000 + i, "", 60, 6000);
    await storm.settle();
    assert.is(made, 3);
  });

  test("a reader goes on where presence cannot be written", async () => {
    const broken = { ...store.db, write: () => Promise.reject(new Error("disk")) };
    const presence = createPresence(broken, 0, () => 0);
    presence.connected(device, "10.0.0.6", 60, 7000);
    await presence.settle();
    await rejects(() => presence.save(), /disk/);
  });

  test("a start finds nobody of its own node connected", async () => {
    const presence = createPresence(store.db, 4, () => 0);
    presence.connected(device, "10.0.0.4", 60, 4000);
    await presence.save();
    await clearPresence(store.db, 3);
    assert.is((await stored()).deviceStatus, 1);
    await clearPresence(store.db, 4);
    assert.is((await stored()).deviceStatus, 0);
  });
});
