import { createAlertRetention } from "../../src/alerts/alert-retention.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import { createDevice } from "../../store/metadata/devices/devices.js";
import { createProduct } from "../../store/metadata/products/products.js";
import { createTenant } from "../../store/metadata/users/tenants.js";
import { assert, openTempDir, suite } from "../suite.js";

const day = 86_400_000;
const now = 1000 * day;
const logged: unknown[] = [];
const log = { info: (msg: string, fields?: object) => void logged.push([msg, fields]) };

suite("retention of alerts", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  /** Tenants, each with a device. */
  let owners: { readonly tenant: number; readonly device: number }[];

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    owners = [];
    for (const name of ["one", "two"]) {
      const { id: tenant } = await createTenant(db, 0, name);
      const actor = { tenant, userIntID: null, username: null };
      const fields = { productName: "p", description: null, cloudProtocol: 1 };
      const { id: productIntID } = await createProduct(db, actor, 0, fields);
      const names = { deviceID: name, deviceName: name, deviceUsername: name, token: "t" };
      const store = { db, vault: createVault(Buffer.alloc(32, 7)) };
      const { id } = await createDevice(store, actor, 0, { ...names, productIntID });
      owners.push({ tenant, device: id });
    }
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  /** Alerts one a day of the given days before now, ended an hour later, or `endedDaysAgo`. */
  async function alert(owner: number, daysAgo: number, endedDaysAgo: number | null = daysAgo): Promise<void> {
    const { tenant, device } = owners[owner] as (typeof owners)[number];
    const end = endedDaysAgo === null ? null : now - endedDaysAgo * day + 1;
    await db.write([
      {
        sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, endTime, createAt)
          values (?, ?, ?, 'a', 'a', 1, 0, ?, ?)`,
        args: [tenant, device, `rule:${daysAgo}`, end, now - daysAgo * day],
      },
    ]);
  }
  const left = async (owner = 0) =>
    (
      await db.all<{ cause: string }>("select cause from alert where tenant = ? order by id", [
        owners[owner]?.tenant ?? 0,
      ])
    ).map(({ cause }) => Number(cause.slice(5)));

  test("without days, history is kept for ever", async () => {
    for (const days of [900, 500, 1]) await alert(0, days);
    await createAlertRetention(db, { days: 0, rowsMax: 1000, now: () => now, log })();
    assert.equal(await left(), [900, 500, 1]);
  });

  test("what ended before the days goes; what lasts, ended since or was made since stays", async () => {
    await alert(0, 900);
    await alert(0, 800, null);
    await alert(0, 700, 3);
    await alert(1, 600);
    // An alert of points that came late: by their times it ended long ago.
    await alert(0, 5, 400);
    await alert(0, 4);
    await createAlertRetention(db, { days: 30, rowsMax: 1000, now: () => now, log })();
    assert.equal(await left(), [800, 700, 5, 4]);
    assert.equal(await left(1), []);
  });

  test("beyond its rows a tenant's oldest go, and no other's; current ones do not count", async () => {
    await alert(0, 990, null);
    for (let days = 20; days > 0; days--) await alert(0, days);
    for (let days = 7; days > 0; days--) await alert(1, days);
    const retention = createAlertRetention(db, { days: 0, rowsMax: 7, now: () => now, log });
    await retention();
    await retention();
    assert.equal(await left(), [990, 7, 6, 5, 4, 3, 2, 1]);
    assert.equal(await left(1), [7, 6, 5, 4, 3, 2, 1]);
  });
});
