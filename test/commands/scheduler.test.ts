import { join } from "node:path";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { zone } from "../../query/zone.js";
import type { Commands } from "../../src/commands/commands.js";
import { nextTime, parseCron } from "../../src/commands/cron.js";
import { type Scheduler, startScheduler } from "../../src/commands/scheduler.js";
import { createLogger } from "../../src/observability/log.js";
import { publishStatuses } from "../../store/metadata/commands/control-logs.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { computeRulesFingerprint } from "../../store/time-zones/rules.js";
import { assert, cpuTime, suite, withTempDir } from "../suite.js";

const start = Date.parse("2026-03-28T12:00:00Z");
const minute = 60_000;
const log = createLogger(
  "error",
  (line) => assert.unreachable(String(line)),
  () => start,
);

/** One process on the metadata: its clock is what the test says. */
interface Process {
  readonly scheduler: Scheduler;
  /** Devices that were sent a command, and tasks. */
  readonly sent: number[];
  readonly adopted: string[];
  /** Moves the clock and lets everything run that is due. */
  at(time: number): Promise<void>;
  room: number;
}

async function openProcess(db: Db, from = start, zoneName = "UTC", node = 0, logger = log): Promise<Process> {
  let time = from;
  const sent: number[] = [];
  const adopted: string[] = [];
  const commands: Pick<Commands, "routeTo" | "logOf" | "send" | "untilKept"> = {
    routeTo: async ({ id, blocked }) =>
      blocked === 1
        ? null
        : { to: { id } as DeviceEntry, relayedTo: null, qos: 1, isLive: true, outlives: false },
    logOf: (target, route, groupLogIntID, command) => ({
      ...command,
      deviceIntID: target.id,
      groupLogIntID,
      node,
      publishStatus: route === null ? publishStatuses.failed : publishStatuses.issued,
    }),
    send: async ({ to }) => {
      sent.push(to.id);
      return true;
    },
    untilKept: async (sending) => void (await Promise.all(sending)),
  };
  const opened: Process = {
    scheduler: startScheduler({
      db,
      node,
      zone: zone(zoneName),
      log: logger,
      now: () => time,
      commands: commands as Commands,
      tasks: {
        adopt: ({ id }) => void adopted.push(id),
        get room() {
          return opened.room;
        },
      },
    }),
    sent,
    adopted,
    room: 20,
    at: async (later) => {
      time = later;
      await opened.scheduler.look();
    },
  };
  await opened.scheduler.look();
  return opened;
}

interface Wanted {
  readonly device?: number;
  readonly IntervalMinute?: number;
  readonly crontab?: string;
  readonly nextAt: number;
  readonly count?: number;
}

/** Makes a schedule of a device, or of the group. */
async function schedule(db: Db, wanted: Wanted): Promise<void> {
  const { device = null, IntervalMinute = null, crontab = null, nextAt, count = 1 } = wanted;
  const repeated = IntervalMinute !== null || crontab !== null ? 1 : 0;
  await db.write([
    {
      sql: `insert into schedule (tenant, publishType, deviceIntID, groupIntID, scheduleName, scheduleType,
          IntervalMinute, crontab, topic, payload, nextAt, createUser, createAt)
        with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ?1)
        select 1, ?2, iif(?2 = 1, null, 1 + (?3 - 1 + i) % 5), iif(?2 = 1, 1, null), 's', ?4, ?5, ?6, 'inbox',
          x'6f6e', ?7, 'admin', 0 from n`,
      args: [count, device === null ? 1 : 0, device ?? 1, repeated, IntervalMinute, crontab, nextAt],
    },
  ]);
}

async function withDb(use: (db: Db, again: () => Promise<Db>) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const opened: Db[] = [];
    const again = async () => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: true });
      opened.push(db);
      return db;
    };
    const db = await again();
    await db.write([
      { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C', 't', 0)" },
      {
        sql: "insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (1, 1, 'p', 'p', 1, 0)",
      },
      {
        sql: "insert into device_group (id, tenant, productIntID, groupID, groupName, createAt) values (1, 1, 1, 'g', 'G', 0)",
      },
      ...[1, 2, 3, 4, 5].map((id) => ({
        sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
          values (?1, 1, 'd' || ?1, 'n' || ?1, 'u' || ?1, x'00', 1, 0)`,
        args: [id],
      })),
    ]);
    await use(db, again);
    for (const one of opened) await one.close();
  });
}

const rows = (db: Db) =>
  db.all<{ scheduleType: number; nextAt: number | null }>(
    "select scheduleType, nextAt from schedule order by id",
  );
const logs = async (db: Db) => (await db.all("select 1 from control_log")).length;

suite("schedules that are due", (test) => {
  test("one that is made while the last look ends runs at once", () =>
    withDb(async (db) => {
      let late: Promise<void> | undefined;
      // As the scheduler asks when to look next, a schedule is made that it has not seen.
      const first: Db["first"] = async (sql, args) => {
        const row = await db.first(sql, args);
        if (late === undefined && process !== undefined && sql.includes("min(nextAt)")) {
          await schedule(db, { device: 1, nextAt: start });
          late = process.scheduler.look();
        }
        return row as never;
      };
      let process: Process | undefined;
      process = await openProcess({ ...db, first });
      await process.at(start + 1);
      await late;
      assert.equal(process.sent, [1]);
      await process.scheduler.close();
    }));

  test("one-off: at its second, once, and then it is over", async () => {
    await withDb(async (db) => {
      await schedule(db, { device: 1, nextAt: start + 5000 });
      const one = await openProcess(db);
      await one.at(start + 4999);
      assert.equal(one.sent, []);
      await one.at(start + 5000);
      assert.equal(one.sent, [1]);
      assert.equal(await rows(db), [{ scheduleType: 2, nextAt: null }]);
      await one.at(start + 10 * minute);
      await one.scheduler.close();
      const again = await openProcess(db, start + 20 * minute);
      assert.equal([one.sent, again.sent, await logs(db)], [[1], [], 1]);
      await again.scheduler.close();
    });
  });

  test("repeats keep their beat, however late they run", async () => {
    await withDb(async (db) => {
      await schedule(db, { device: 1, IntervalMinute: 10, nextAt: start + 10 * minute });
      const one = await openProcess(db);
      await one.at(start + 10 * minute + 700);
      assert.is((await rows(db))[0]?.nextAt, start + 20 * minute);
      // A machine that slept through two of them runs one.
      await one.at(start + 45 * minute);
      assert.equal([one.sent, (await rows(db))[0]?.nextAt], [[1, 1], start + 50 * minute]);
      await one.scheduler.close();
    });
  });

  test("after a restart: a missed one-off runs, missed repeats are skipped", async () => {
    await withDb(async (db) => {
      await schedule(db, { device: 1, nextAt: start - minute });
      await schedule(db, { device: 2, IntervalMinute: 10, nextAt: start - 2 * minute });
      await schedule(db, { device: 3, crontab: "*/30 * * * *", nextAt: start - 30 * minute });
      const one = await openProcess(db, start + 1000);
      assert.equal(one.sent, [1]);
      assert.equal(
        (await rows(db)).map(({ nextAt }) => nextAt),
        [null, start + 8 * minute, start + 30 * minute],
      );
      await one.at(start + 30 * minute);
      assert.equal([...one.sent].sort(), [1, 2, 3]);
      await one.scheduler.close();
    });
  });

  test("cron goes by the zone, through the change of its hour", async () => {
    await withDb(async (db) => {
      const berlin = zone("Europe/Berlin");
      const cron = parseCron("30 2 * * *");
      assert.ok(cron !== null);
      const first = nextTime(cron, berlin, start) ?? 0;
      await schedule(db, { device: 1, crontab: "30 2 * * *", nextAt: first });
      const one = await openProcess(db, start, "Europe/Berlin");
      const runs: string[] = [];
      for (let time = start; time < start + 3 * 86_400_000; time += 10 * minute) {
        const before = one.sent.length;
        await one.at(time);
        if (one.sent.length > before) runs.push(new Date(time).toISOString().slice(5, 16));
      }
      // The 29th of March has no 02:30: it moves by the gap.
      assert.equal(runs, ["03-29T01:30", "03-30T00:30", "03-31T00:30"]);
      await one.scheduler.close();
    });
  });

  test("one of several processes on one database runs it", async () => {
    await withDb(async (db, again) => {
      await schedule(db, { device: 1, nextAt: start + minute, count: 100 });
      await schedule(db, { nextAt: start + minute, count: 10 });
      const all = [await openProcess(db), await openProcess(await again()), await openProcess(await again())];
      await Promise.all(all.map((one) => one.at(start + minute)));
      await Promise.all(all.map((one) => one.at(start + minute + 1)));
      assert.is(all.flatMap(({ sent }) => sent).length, 100);
      assert.is(new Set(all.flatMap(({ adopted }) => adopted)).size, 10);
      assert.is((await db.all("select 1 from task")).length, 10);
      assert.is(await logs(db), 100);
      for (const one of all) await one.scheduler.close();
    });
  });

  test("a device that is connected to another process is left to it for a while", async () => {
    await withDb(async (db, again) => {
      await db.write([{ sql: "update device set node = 7 where id = 1" }]);
      await schedule(db, { device: 1, nextAt: start + minute });
      await schedule(db, { device: 1, nextAt: start + 2 * minute });
      const [here, there] = [await openProcess(db), await openProcess(await again(), start, "UTC", 7)];
      await here.at(start + minute);
      assert.equal(here.sent, []);
      await there.at(start + minute);
      assert.equal(there.sent, [1]);
      await here.at(start + 2 * minute + 2000);
      assert.equal(here.sent, [1], "it may be gone");
      for (const one of [here, there]) await one.scheduler.close();
    });
  });

  test("a device that is blocked has a log that failed; one that is deleted, and its schedule, none", async () => {
    await withDb(async (db) => {
      await db.write([{ sql: "update device set blocked = 1 where id = 1" }]);
      for (const device of [1, 2]) await schedule(db, { device, nextAt: start + minute });
      await db.write([{ sql: "delete from device where id = 2" }]);
      const one = await openProcess(db);
      await one.at(start + minute);
      assert.equal(one.sent, []);
      assert.equal(await db.all("select deviceIntID, publishStatus from control_log"), [
        { deviceIntID: 1, publishStatus: 0 },
      ]);
      await one.scheduler.close();
    });
  });

  test("groups wait for a place among the tasks, devices do not wait for groups", async () => {
    await withDb(async (db) => {
      await schedule(db, { nextAt: start + minute, count: 3 });
      await schedule(db, { device: 1, nextAt: start + minute });
      const one = await openProcess(db);
      one.room = 0;
      await one.at(start + minute);
      assert.equal([one.sent, one.adopted], [[1], []]);
      one.room = 2;
      await one.at(start + minute + 1);
      await one.at(start + minute + 2);
      assert.is(one.adopted.length, 3);
      const [task] = await db.all<{ input: string; username: string }>("select input, username from task");
      assert.equal(JSON.parse(task?.input ?? ""), {
        groupIntID: 1,
        groupID: "g",
        groupName: "G",
        needAck: 1,
        topic: "inbox",
        ttl: 3600,
        payload: "on",
        qos: 1,
      });
      assert.is(task?.username, "admin");
      await one.scheduler.close();
    });
  });

  /** Cron schedules as an earlier process left them; `made` is when. */
  async function leftBy(db: Db, zoneName: string, made: number, crontab = "10 21 * * *"): Promise<void> {
    const cron = parseCron(crontab);
    assert.ok(cron !== null);
    const nextAt = nextTime(cron, zone(zoneName), made) ?? 0;
    await schedule(db, { device: 1, crontab, nextAt });
    await db.write([
      {
        sql: "update schedule set createAt = ?, zoneRules = ?",
        args: [made, computeRulesFingerprint(zone(zoneName).rules)],
      },
    ]);
  }
  const nextAt = async (db: Db) => new Date((await rows(db))[0]?.nextAt ?? 0).toISOString().slice(5, 16);

  test("cron is planned anew once the zone is another one, and runs by it", async () => {
    await withDb(async (db) => {
      await leftBy(db, "UTC", start);
      const one = await openProcess(db, start, "Asia/Kolkata");
      // 21:10 in India, in place of 02:40.
      assert.is(await nextAt(db), "03-28T15:40");
      await one.at(start + 4 * 60 * minute);
      assert.equal(one.sent, [1]);
      assert.is(await nextAt(db), "03-29T15:40");
      await one.scheduler.close();
    });
  });

  test("what has run by the clock of one zone does not run again where another shows that time once more", async () => {
    await withDb(async (db) => {
      await leftBy(db, "Asia/Kolkata", start);
      const early = await openProcess(db, start, "Asia/Kolkata");
      await early.at(Date.parse("2026-03-28T15:40:00Z"));
      assert.equal(early.sent, [1]);
      await early.scheduler.close();
      const late = await openProcess(db, Date.parse("2026-03-28T16:00:00Z"), "UTC");
      await late.at(Date.parse("2026-03-28T23:00:00Z"));
      assert.equal(late.sent, []);
      assert.is(await nextAt(db), "03-29T21:10");
      await late.scheduler.close();
    });
  });

  test("what has not run is not skipped where another zone shows its time once more", async () => {
    await withDb(async (db) => {
      await leftBy(db, "Asia/Kolkata", Date.parse("2026-03-28T16:00:00Z"));
      const one = await openProcess(db, Date.parse("2026-03-28T17:00:00Z"), "UTC");
      assert.is(await nextAt(db), "03-28T21:10");
      await one.scheduler.close();
    });
  });

  test("a time that passes by the change of rules is skipped, and the log says so", async () => {
    await withDb(async (db) => {
      await leftBy(db, "UTC", start, "0 20 * * *");
      const lines: string[] = [];
      const logger = createLogger(
        "info",
        (line) => lines.push(line),
        () => start,
      );
      const one = await openProcess(db, start + 4 * 60 * minute, "Asia/Kolkata", 0, logger);
      assert.is(await nextAt(db), "03-29T14:30");
      assert.equal(one.sent, []);
      assert.equal(
        lines.map((line) => JSON.parse(line)).map(({ level, schedules }) => [level, schedules]),
        [
          ["info", 1],
          ["warn", 1],
        ],
      );
      await one.scheduler.close();
      const again = await openProcess(db, start + 5 * 60 * minute, "Asia/Kolkata", 0, logger);
      assert.is(lines.length, 2);
      await again.scheduler.close();
    });
  });

  test("intervals and one-offs stay as they are; those of a version that noted no rules are planned anew", async () => {
    await withDb(async (db) => {
      await schedule(db, { device: 1, nextAt: start + 7 * minute });
      await schedule(db, { device: 2, IntervalMinute: 10, nextAt: start + 9 * minute });
      await schedule(db, { device: 3, crontab: "0 * * * *", nextAt: start + 8 * minute });
      const one = await openProcess(db, start, "Asia/Kolkata");
      assert.equal(
        (await rows(db)).map(({ nextAt }) => nextAt),
        [start + 7 * minute, start + 9 * minute, start + 30 * minute],
      );
      await one.scheduler.close();
    });
  });

  test("a thousand in one second among a hundred thousand", async () => {
    await withDb(async (db) => {
      await schedule(db, { device: 1, nextAt: start + 86_400_000, count: 100_000 });
      await schedule(db, { device: 1, crontab: "*/5 * * * *", nextAt: start + 5 * minute, count: 1000 });
      const one = await openProcess(db, start, "Europe/Berlin");
      const spent = cpuTime();
      await one.at(start + 5 * minute);
      const tookMs = spent();
      assert.is(one.sent.length, 1000);
      assert.is(await logs(db), 1000);
      assert.ok(tookMs < 3000, `${tookMs} ms`);
      await one.scheduler.close();
    });
  });
});
