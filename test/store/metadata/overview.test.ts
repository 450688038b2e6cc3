/** What a tenant has, as the store keeps count of it, against counting the rows anew. */
import { join } from "node:path";
import fc from "fast-check";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { migrations } from "../../../store/metadata/db/migrations.js";
import { overviewSchema } from "../../../store/metadata/db/schema-overview.js";
import { clearPresence } from "../../../store/metadata/devices/presence.js";
import { countResources } from "../../../store/metadata/overview.js";
import { listTasks } from "../../../store/metadata/tasks.js";
import { assert, suite, withTempDir } from "../../suite.js";

const tenants = [1, 2] as const;

const tenantsAndProducts = tenants.flatMap((id) => [
  {
    sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?, ?, ?, 0)",
    args: [id, `t${id}`, `tenant ${id}`],
  },
  {
    sql: "insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (?, ?, ?, ?, 1, 0)",
    args: [id, id, `p${id}`, `product ${id}`],
  },
]);

async function withTenants(work: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write(tenantsAndProducts);
    await work(db);
    await db.close();
  });
}

/** The same by looking at every row. */
async function countedAnew(db: Db, tenant: number) {
  const devices = await db.all<{ kind: string; deviceStatus: number; blocked: number }>(
    "select kind, deviceStatus, blocked from device where tenant = ?",
    [tenant],
  );
  const alerts = await db.all<{ alertSeverity: number }>(
    "select alertSeverity from alert where tenant = ? and endTime is null",
    [tenant],
  );
  const own = devices.filter(({ kind }) => kind === "device");
  const inState = (status: number) => own.filter(({ deviceStatus }) => deviceStatus === status).length;
  const severities = [...new Set(alerts.map(({ alertSeverity }) => alertSeverity))].sort((a, b) => a - b);
  return {
    devices: {
      total: own.length,
      online: inState(1),
      sleeping: inState(2),
      offline: inState(0),
      blocked: own.filter(({ blocked }) => blocked === 1).length,
    },
    gateways: devices.length - own.length,
    products: 1,
    groups: 0,
    currentAlerts: severities.map((alertSeverity) => ({
      alertSeverity,
      count: alerts.filter((alert) => alert.alertSeverity === alertSeverity).length,
    })),
  };
}

const id = fc.integer({ min: 1, max: 12 });
const severity = fc.integer({ min: 1, max: 4 });
const statements = fc.oneof(
  fc
    .record({ id, tenant: fc.constantFrom(...tenants), kind: fc.constantFrom("device", "gateway") })
    .map((one) => ({
      sql: `insert or ignore into device
          (id, tenant, kind, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
        values (?1, ?2, ?3, 'd' || ?1, 'd' || ?1, 'u' || ?1, x'', ?2, 0)`,
      args: [one.id, one.tenant, one.kind],
    })),
  fc.record({ id, deviceStatus: fc.constantFrom(0, 1, 2) }).map((one) => ({
    sql: "update device set deviceStatus = ?, node = 0 where id = ?",
    args: [one.deviceStatus, one.id],
  })),
  fc
    .record({ id, blocked: fc.constantFrom(0, 1) })
    .map((one) => ({ sql: "update device set blocked = ? where id = ?", args: [one.blocked, one.id] })),
  id.map((one) => ({ sql: "update device set deviceName = deviceName || 'x' where id = ?", args: [one] })),
  id.map((one) => ({ sql: "delete from device where id = ?", args: [one] })),
  fc.record({ id, severity, cause: fc.constantFrom("a", "b") }).map((one) => ({
    sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, createAt)
        select tenant, id, ?, 'n', 'c', ?, 0, 0 from device where id = ?
        on conflict (deviceIntID, cause) where endTime is null do update set alertTimes = alertTimes + 1`,
    args: [one.cause, one.severity, one.id],
  })),
  id.map((one) => ({
    sql: "update alert set endTime = 5 where deviceIntID = ? and endTime is null",
    args: [one],
  })),
  id.map((one) => ({ sql: "delete from alert where deviceIntID = ?", args: [one] })),
);

suite("kept counts of the overview", (test) => {
  test("whatever comes, goes, connects, is blocked and raises alerts, the counts are those of the rows", () =>
    withTenants(async (db) => {
      await fc.assert(
        fc.asyncProperty(fc.array(statements, { minLength: 1, maxLength: 60 }), async (all) => {
          for (const statement of all) await db.write([statement]);
          for (const tenant of tenants) {
            assert.equal(await countResources(db, tenant), await countedAnew(db, tenant));
          }
        }),
        { numRuns: 60 },
      );
      await clearPresence(db, 0);
      for (const tenant of tenants) {
        const { devices } = await countResources(db, tenant);
        assert.equal([devices.online, devices.sleeping, devices.offline], [0, 0, devices.total]);
        assert.equal(await countResources(db, tenant), await countedAnew(db, tenant));
      }
    }));

  test("a store of the format before is counted as it is taken over", () =>
    withTempDir(async (dir) => {
      const url = `file:${join(dir, "metadata.db")}`;
      const before = migrations.slice(0, migrations.indexOf(overviewSchema));
      const { createClient } = await import("@libsql/client");
      const client = createClient({ url });
      const device = (one: number, tenant: number, status: number, blocked: number) => ({
        sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt,
            deviceStatus, blocked) values (?1, ?2, 'd' || ?1, 'd' || ?1, 'u' || ?1, x'', ?2, 0, ?3, ?4)`,
        args: [one, tenant, status, blocked],
      });
      await client.batch(
        [
          "create table format (version integer not null) strict",
          { sql: "insert into format values (?)", args: [before.length] },
          ...before.flat(),
          ...tenantsAndProducts,
          ...[device(1, 1, 1, 0), device(2, 1, 0, 1), device(3, 2, 2, 0)],
          `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, createAt)
            values (1, 1, 'a', 'n', 'c', 3, 0, 0), (1, 2, 'a', 'n', 'c', 3, 0, 0)`,
          "update alert set endTime = 1 where deviceIntID = 2",
          `insert into task (id, tenant, kind, state, input, node, createAt) values ('x', 1, 'redecode', 'SUCCESS', '{}', 0, 7)`,
        ],
        "write",
      );
      client.close();
      const db = await openDb({ url, shared: false });
      for (const tenant of tenants)
        assert.equal(await countResources(db, tenant), await countedAnew(db, tenant));
      const { devices, currentAlerts } = await countResources(db, 1);
      assert.equal(devices, { total: 2, online: 1, sleeping: 0, offline: 1, blocked: 1 });
      assert.equal(currentAlerts, [{ alertSeverity: 3, count: 1 }]);
      const { items } = await listTasks(db, 1, { page: 1, limit: 10, filters: [] });
      assert.equal(
        items.map(({ kind, createAt, endAt, msgStart }) => [kind, createAt, endAt, msgStart]),
        [["redecode", 7, null, null]],
      );
      await db.close();
    }));

  test("no question scans a table, whatever the tenant has", () =>
    withTenants(async (db) => {
      const asked: string[] = [];
      const noting: Db = {
        ...db,
        snapshot: async (all) => {
          for (const { sql, args = [] } of all) {
            const steps = await db.all<{ detail: string }>(`explain query plan ${sql}`, args);
            asked.push(...steps.map(({ detail }) => detail));
          }
          return db.snapshot(all);
        },
      };
      await countResources(noting, 1);
      assert.ok(asked.length >= 4);
      assert.equal(
        asked.filter((step) => /^SCAN (?!\(subquery)|TEMP B-TREE/.test(step)),
        [],
      );
    }));
});
