/** What waits to be assigned to routes outlives what it is about. */
import { assignAlerts } from "../../src/notifications/assign-alerts.js";
import { notifyGroups } from "../../src/notifications/notify-groups.js";
import { openDb } from "../../store/metadata/db/db.js";
import { migrations, schemaVersion } from "../../store/metadata/db/migrations.js";
import { alertOutboxSchema } from "../../store/metadata/db/schema-alert-outbox.js";
import { notificationsSchema } from "../../store/metadata/db/schema-notifications.js";
import { readOutbox } from "../../store/metadata/notifications/alert-outbox.js";
import { unique } from "../factories.js";
import { assert, suite } from "../suite.js";
import { type NotificationStore, withStore } from "./store.js";

async function makeDevice({ db }: NotificationStore, tenant: number, deviceName: string): Promise<number> {
  const id = unique("device");
  const [product] = await db.write([
    {
      sql: `insert into product (tenant, productID, productName, cloudProtocol, createAt)
        values (?1, ?2, 'Boilers of ' || ?2, 1, 0)`,
      args: [tenant, id],
    },
  ]);
  const [made] = await db.write([
    {
      sql: `insert into device (tenant, kind, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
        values (?1, 'device', ?2, ?3, ?2, x'', ?4, 0)`,
      args: [tenant, id, deviceName, Number(product?.lastInsertRowid)],
    },
  ]);
  return Number(made?.lastInsertRowid);
}

const raise = ({ db, clock }: NotificationStore, tenant: number, device: number): Promise<unknown> =>
  db.write([
    {
      sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, createAt)
        values (?1, ?2, 'rule:1', 'Hot', ?4, 2, ?3, ?3)`,
      args: [tenant, device, clock.now(), "é".repeat(400)],
    },
  ]);

suite("outbox of alerts", (test) => {
  test("an alert whose device is deleted before it is processed is sent, as begun and ended", () =>
    withStore(async (store) => {
      const { db, clock } = store;
      const tenant = await store.makeTenant();
      await store.makeRoute(tenant, [await store.makePoint(tenant)]);
      const device = await makeDevice(store, tenant, 'Boiler "7" 😀');
      await raise(store, tenant, device);
      await db.write([{ sql: "delete from device where id = ?", args: [device] }]);
      assert.equal(await db.all("select id from alert"), []);
      assert.is(await assignAlerts(db, tenant, clock.now()), true);
      clock.pass(1);
      await notifyGroups(db, tenant, "UTC", clock.now());
      const rows = await db.all<{ message: string }>("select message from notification");
      const told = rows.map(({ message }) => JSON.parse(message));
      assert.equal(
        told.map(({ began, ended, firing }) => [began, ended, firing]),
        [[1, 1, 0]],
      );
      const [{ deviceID, deviceName, productName, alertName, alertContent, status }] = told[0].alerts;
      assert.equal(
        [deviceName, productName, alertName, alertContent, status],
        ['Boiler "7" 😀', `Boilers of ${deviceID}`, "Hot", "é".repeat(300), "resolved"],
      );
    }));

  test("a folder of the format before keeps what it had not assigned", () =>
    withStore(async (store) => {
      const { db } = store;
      const tenant = await store.makeTenant();
      await store.makeRoute(tenant, [await store.makePoint(tenant)]);
      const began = notificationsSchema.find((sql) => sql.startsWith("create trigger alert_began"));
      const version = migrations.indexOf(alertOutboxSchema);
      const later = migrations.slice(version + 1).flat();
      const tables = later.flatMap((sql) => /^create table (\w+)/.exec(sql)?.[1] ?? []);
      await db.write([
        ...later
          .flatMap((sql) => /^create trigger (\w+)/.exec(sql)?.[1] ?? [])
          .map((trigger) => ({ sql: `drop trigger ${trigger}` })),
        ...tables.map((table) => ({ sql: `drop table ${table}` })),
        ...later
          .map((sql) => /^alter table (\w+) add column (\w+)/.exec(sql) ?? [])
          .filter(([, table = ""]) => table !== "" && !tables.includes(table))
          .map(([, table, column]) => ({ sql: `alter table ${table} drop column ${column}` })),
        // Some have been made anew with other columns.
        ...migrations
          .slice(0, version)
          .flat()
          .filter((sql) => tables.some((table) => sql.startsWith(`create table ${table} (`)))
          .map((sql) => ({ sql })),
        { sql: "drop trigger alert_began" },
        { sql: "alter table alert_outbox drop column alert" },
        { sql: began ?? "" },
        { sql: "update format set version = ?", args: [version] },
      ]);
      const [device, gone] = [
        await makeDevice(store, tenant, "stays"),
        await makeDevice(store, tenant, "gone"),
      ];
      await raise(store, tenant, device);
      await raise(store, tenant, gone);
      await db.write([{ sql: "delete from device where id = ?", args: [gone] }]);
      const again = await openDb({ url: store.url, shared: false });
      const events = await readOutbox(again, tenant, 10);
      assert.equal(
        events.map(({ alert, hasEnded }) => [alert?.deviceName, hasEnded]),
        [
          ["stays", false],
          [undefined, false],
          [undefined, true],
        ],
      );
      assert.equal(await again.all("select version from format"), [{ version: schemaVersion }]);
      await again.close();
    }));
});
