import { join } from "node:path";
import {
  removeOldestControlLogs,
  tenantsOverLogBytes,
} from "../../../../store/metadata/commands/control-log-bytes.js";
import {
  createControlLog,
  listControlLogs,
  type NewControlLog,
  publishStatuses,
  removeOldControlLogs,
} from "../../../../store/metadata/commands/control-logs.js";
import { dueForDevices } from "../../../../store/metadata/commands/due-schedules.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { countedLogBytes, logBytesSchema } from "../../../../store/metadata/db/schema-log-bytes.js";
import {
  commitGroupBatch,
  endGroupSending,
  openGroupSending,
} from "../../../../store/metadata/groups/group-sending.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const kibi = 1024;
const actorOf = (tenant: number) => ({ tenant, userIntID: null, username: null });

const log = (bytes: number, groupLogIntID: number | null = null, deviceIntID = 1): NewControlLog => ({
  deviceIntID,
  groupLogIntID,
  node: 0,
  topic: "topic",
  qos: 1,
  ttl: 60,
  payload: Buffer.alloc(bytes, "p"),
  publishStatus: publishStatuses.issued,
});

/** A group's message to devices 1 to `members`. */
async function sendToGroup(
  db: Db,
  tenant: number,
  task: string,
  bytes: number,
  members: number,
  ends = true,
) {
  const actor = actorOf(tenant);
  const names = { task, groupIntID: 1, groupID: "g", groupName: "g", topic: "topic", needAck: 1 };
  const { id } = await openGroupSending(db, actor, 0, { ...names, payload: Buffer.alloc(bytes, "g") });
  const turn = { id, after: 0, lastMember: members, handedOver: members, failed: 0 };
  const logs = Array.from({ length: members }, (_, i) => log(bytes, id, i + 1));
  const ids = await commitGroupBatch(db, actor, 1, turn, logs);
  assert.equal(ids, [...new Set(ids)], "each has its own");
  assert.is(ids.length, members);
  if (ends) await endGroupSending(db, 2, id);
  return id;
}

const path = (dir: string) => ({ url: `file:${join(dir, "metadata.db")}`, shared: false });

async function withDb(use: (db: Db, dir: string) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb(path(dir));
    await use(db, dir);
    await db.close();
  });
}

const counted = (db: Db) =>
  db.all<{ tenant: number; bytes: number }>(
    "select tenant, bytes from control_log_bytes where bytes > 0 order by tenant",
  );
/** Added up from the rows. */
const there = (db: Db) =>
  db.all<{ tenant: number; bytes: number }>(
    `select tenant, sum(bytes) bytes from (
       select r.tenant, ${countedLogBytes("r")} bytes from control_log r
       union all select r.tenant, ${countedLogBytes("r")} from group_control_log r)
     group by tenant having sum(bytes) > 0 order by tenant`,
  );

suite("bytes of control logs", (test) => {
  test("a member's log shows its group's payload; one of before shows its own", async () => {
    await withDb(async (db) => {
      const id = await sendToGroup(db, 1, "a", 100, 3);
      await db.write([
        {
          sql: `insert into control_log (tenant, deviceIntID, groupLogIntID, topic, qos, publishStatus, createAt, payload)
            values (1, 9, ?, 't', 1, 1, 3, x'6869')`,
          args: [id],
        },
      ]);
      await createControlLog(db, actorOf(1), 4, log(2));
      await createControlLog(db, actorOf(1), 5, log(0));
      const texts = async (filters: Parameters<typeof listControlLogs>[3]["filters"]) => {
        const test = (payload: Uint8Array, _like: boolean, value: string) =>
          Buffer.from(payload).toString() === value;
        const page = await listControlLogs(db, 1, null, { page: 1, limit: 10, filters }, test);
        return page.items.map(({ payload }) => Buffer.from(payload).toString());
      };
      const group = "g".repeat(100);
      assert.equal(await texts([]), ["", "pp", "hi", group, group, group]);
      assert.equal(await texts([{ field: "payload", like: false, value: group }]), [group, group, group]);
      assert.equal(await texts([{ field: "payload", like: false, value: "hi" }]), ["hi"]);
    });
  });

  test("are counted exactly as rows come and go, and each tenant's by themselves", async () => {
    await withDb(async (db) => {
      for (let i = 1; i <= 20; i++) await createControlLog(db, actorOf(1 + (i % 2)), i, log(i * 100));
      await sendToGroup(db, 2, "a", 5000, 10);
      assert.equal(await counted(db), await there(db));
      // The same sending again, as when nobody knew whether it was committed.
      await sendToGroup(db, 2, "a", 5000, 10);
      assert.equal(await counted(db), await there(db));
      await removeOldControlLogs(db, 15, 1000);
      assert.equal(await counted(db), await there(db));
      assert.ok((await counted(db)).length > 0);
    });
  });

  test("logs of before are counted when the schema is brought up to date", async () => {
    await withTempDir(async (dir) => {
      const first = await openDb(path(dir));
      await sendToGroup(first, 2, "a", 5000, 10);
      await createControlLog(first, actorOf(1), 1, log(77));
      const wanted = await there(first);
      await first.write([
        ...["control_log", "group_control_log"].flatMap((table) => [
          { sql: `drop trigger ${table}_made` },
          { sql: `drop trigger ${table}_gone` },
        ]),
        { sql: "drop table control_log_bytes" },
      ]);
      // The step of the migration itself, whatever steps come after it.
      await first.write(logBytesSchema.map((sql) => ({ sql })));
      await first.close();
      const second = await openDb(path(dir));
      assert.equal(await counted(second), wanted);
      await createControlLog(second, actorOf(3), 1, log(7));
      assert.equal(await counted(second), await there(second));
      await second.close();
    });
  });

  test("a few small ones stand for all: the counted bytes are near the real ones", async () => {
    await withDb(async (db) => {
      for (let i = 0; i < 320; i++) await createControlLog(db, actorOf(1), i, log(i % 40));
      const rows = await db.first<{ bytes: number }>(
        "select sum(length(payload) + length(topic) + 200) bytes from control_log",
      );
      const [{ bytes } = { bytes: 0 }] = await counted(db);
      assert.ok(
        Math.abs(bytes - (rows?.bytes ?? 0)) < 0.1 * (rows?.bytes ?? 0),
        `${bytes} of ${rows?.bytes}`,
      );
      for (let i = 0; i < 10; i++) await createControlLog(db, actorOf(1), i, log(5000));
      assert.ok(((await counted(db))[0]?.bytes ?? 0) - bytes >= 50_000, "large ones each");
      await db.write([{ sql: "delete from control_log" }]);
      assert.equal(await counted(db), []);
    });
  });

  test("beyond its bound a tenant's oldest go, and nobody else's; a group's log after its members'", async () => {
    await withDb(async (db) => {
      await sendToGroup(db, 1, "old", 100 * kibi, 5);
      for (let i = 0; i < 10; i++) await createControlLog(db, actorOf(1), 10 + i, log(50 * kibi));
      for (let i = 0; i < 10; i++) await createControlLog(db, actorOf(2), 10 + i, log(50 * kibi));
      const bytesMax = 520 * kibi;
      const over = await tenantsOverLogBytes(db, bytesMax);
      assert.equal(
        over.map(({ tenant }) => tenant),
        [1],
      );
      let left = over[0]?.surplus ?? 0;
      for (let steps = 0; left > 0 && steps < 10; steps++) {
        left -= await removeOldestControlLogs(db, 1, left, 3);
        const orphans = "select 1 from control_log c left join group_control_log g on g.id = c.groupLogIntID";
        const lost = await db.all(`${orphans} where c.groupLogIntID is not null and g.id is null`);
        assert.equal(lost, [], "no member's log without its payload");
      }
      assert.equal(await tenantsOverLogBytes(db, bytesMax), []);
      const rows = await db.all("select tenant, count(*) n from control_log group by tenant");
      assert.equal(rows, [
        // One more than need be: a step does not see that the group's log is free by its end.
        { tenant: 1, n: 9 },
        { tenant: 2, n: 10 },
      ]);
      assert.equal(await db.all("select 1 from group_control_log"), []);
    });
  });

  test("the log of a sending that goes on stays, and so does one whose members' logs are younger", async () => {
    await withDb(async (db) => {
      await sendToGroup(db, 1, "going", 100 * kibi, 2, false);
      assert.ok((await removeOldestControlLogs(db, 1, 1e9, 100)) < kibi, "its members' logs only");
      assert.is((await db.all("select 1 from group_control_log")).length, 1);
      await sendToGroup(db, 1, "done", 1, 2);
      await db.write([{ sql: "update control_log set createAt = 100" }]);
      await removeOldControlLogs(db, 50, 1000);
      assert.equal(await db.all("select task from group_control_log"), [{ task: "done" }]);
      await removeOldControlLogs(db, 101, 1000);
      assert.equal(await db.all("select 1 from group_control_log"), []);
    });
  });

  test("schedules that are due at once run by bytes, and none is left out", async () => {
    await withDb(async (db) => {
      await db.write([
        { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C', 't', 0)" },
        {
          sql: `insert into product (id, tenant, productID, productName, cloudProtocol, createAt)
            values (1, 1, 'p', 'p', 1, 0)`,
        },
        {
          sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
            values (1, 1, 'd', 'n', 'u', x'00', 1, 0)`,
        },
        {
          sql: `insert into schedule (tenant, publishType, deviceIntID, scheduleName, scheduleType, topic, payload, nextAt, createAt)
            with recursive n (i) as (select 1 union all select i + 1 from n where i < 30)
            select 1, 0, 1, 's' || i, 1, 't', zeroblob(256 * 1024), i, 0 from n`,
        },
      ]);
      const type = await db.first<{ publishType: number }>("select publishType from schedule");
      assert.is(type?.publishType, 0);
      const ran: number[] = [];
      for (let turn = 0; turn < 10; turn++) {
        const due = await dueForDevices(db, { now: 100, node: 0, elsewhereBefore: 100 }, 100);
        assert.ok(due.length <= 5, `${due.length} at once`);
        if (due.length === 0) break;
        ran.push(...due.map(({ scheduleIntID }) => scheduleIntID));
        const ids = due.map(({ scheduleIntID }) => scheduleIntID);
        await db.write([
          {
            sql: "update schedule set nextAt = null where id in (select value from json_each(?))",
            args: [ids],
          },
        ]);
      }
      assert.equal(
        ran,
        Array.from({ length: 30 }, (_, i) => i + 1),
      );
    });
  });
});
