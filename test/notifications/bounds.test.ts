/** What waits and what is kept has a bound for each tenant, and costs the others nothing. */
import { notifyGroups } from "../../src/notifications/notify-groups.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  holdLease,
  removeOldNotifications,
  saveTest,
  waitingCount,
} from "../../store/metadata/notifications/notifications.js";
import { assert, suite } from "../suite.js";
import { ok } from "./senders.js";
import { type NotificationStore, withStore } from "./store.js";

/** Groups of a route that are due, each with an alert that goes on. */
const makeGroups = ({ db, clock }: NotificationStore, tenant: number, route: number, count: number) =>
  db.write([
    {
      sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?4)
        insert into notification_group (tenant, routeIntID, groupKey, part, nextAt, unlisted)
        select ?1, ?2, 'group ' || i, 1, ?3 - 1000, 1 from n`,
      args: [tenant, route, clock.now(), count],
    },
  ]);

/** Counts the transactions that write. */
function counting(db: Db) {
  const counted = { writes: 0 };
  const write: Db["write"] = (statements) => {
    counted.writes++;
    return db.write(statements);
  };
  return { counted, db: { ...db, write } };
}

suite("bounds of notifications", (test) => {
  test("1,000 messages of a tenant wait; its other groups wait too, cost nothing until then, and are notified later", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const point = await store.makePoint(tenant);
      await makeGroups(store, tenant, await store.makeRoute(tenant, [point]), 1100);
      const { counted, db } = counting(store.db);
      const tellAll = async (): Promise<void> => {
        while (await notifyGroups(db, tenant, "UTC", store.clock.now()));
      };
      await tellAll();
      assert.is(await waitingCount(db, tenant), 1000);
      counted.writes = 0;
      for (let i = 0; i < 10; i++) {
        store.clock.pass(10_000);
        await tellAll();
      }
      assert.is(counted.writes, 0);
      const other = await store.makeTenant();
      await makeGroups(store, other, await store.makeRoute(other, [await store.makePoint(other)]), 1);
      assert.is(await notifyGroups(db, other, "UTC", store.clock.now()), true);
      assert.is(await waitingCount(db, other), 1);
      await db.write([{ sql: "update notification set nextAt = null, status = 'delivered'" }]);
      await tellAll();
      assert.is(await waitingCount(db, tenant), 100);
      assert.is((await store.logOf(tenant)).length, 1100);
    }));

  test("the log keeps 5,000 messages of a tenant, however fast tests end; what waits is not removed", () =>
    withStore(async (store) => {
      const { db, clock } = store;
      const tenant = await store.makeTenant();
      const point = { id: await store.makePoint(tenant), tenant, name: "hook", type: "webhook" } as const;
      const route = await store.makeRoute(tenant, [point.id]);
      const other = await store.makeTenant();
      await store.notify(other, await store.makeRoute(other, [await store.makePoint(other)]));
      await store.notify(tenant, route);
      const fill = (count: number) =>
        db.write([
          {
            sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?3)
              insert into notification (tenant, contactPointName, type, kind, alertCount, status, createAt, message)
              select ?1, 'hook', 'webhook', 'alert', 1, 'delivered', ?2, '{}' from n`,
            args: [tenant, clock.now(), count],
          },
        ]);
      await fill(4998);
      for (let i = 0; i < 20; i++) await saveTest(db, clock.now(), point, {}, ok);
      const rows = await store.logOf(tenant);
      assert.is(rows.length, 5001);
      assert.is(rows[0]?.status, "waiting");
      await fill(2500);
      const keep = { before: 0, limit: 1000 };
      const removed = [];
      for (let i = 0; i < 4; i++) removed.push(await removeOldNotifications(db, tenant, keep));
      assert.equal(removed, [1000, 1000, 500, 0]);
      assert.is((await store.logOf(tenant))[0]?.status, "waiting");
      assert.is((await store.logOf(other)).length, 1);
      await removeOldNotifications(db, tenant, { before: clock.now() + 1, limit: 10_000 });
      assert.equal(
        (await store.logOf(tenant)).map(({ status }) => status),
        ["waiting"],
      );
    }));

  test("one of several processes notifies: another only when it has been silent, itself at once after a restart", () =>
    withStore(async ({ db, clock }) => {
      const hold = (node: number) => holdLease(db, node, clock.now(), clock.now() + 30_000);
      assert.equal([await hold(0), await hold(1)], [true, false]);
      clock.pass(20_000);
      assert.equal([await hold(1), await hold(0)], [false, true]);
      clock.pass(29_999);
      assert.is(await hold(1), false);
      clock.pass(2);
      assert.equal([await hold(1), await hold(0), await hold(1)], [true, false, true]);
    }));
});
