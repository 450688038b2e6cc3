/** How the queue of removals is drained; the store under it is a stand-in that notes what it is asked. */
import { createRemovals, type RemovalDeps, type Removals } from "../../src/background/removals.js";
import { StoreError } from "../../store/lib/errors.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { countRemovals, tenantsWithRemovals } from "../../store/metadata/removals.js";
import type { DeviceKey } from "../../store/series/series.js";
import { assert, openTempDir, rejects, suite, until } from "../suite.js";

suite("draining the removals", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let removed: DeviceKey[][] = [];
  let fields: string[] = [];

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    removed = [];
    fields = [];
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  const queue = (tenant: number, names: readonly string[]) =>
    db.write(
      names.map((name) => ({
        sql: "insert into removal (tenant, productID, deviceID, createAt) values (?, 'p', ?, 0)",
        args: [tenant, name],
      })),
    );
  const names = (word: string, count: number) => Array.from({ length: count }, (_, i) => `${word}-${i}`);

  /** Devices named `sent…` have points. */
  function open(more: Partial<RemovalDeps> = {}, series: Partial<RemovalDeps["series"]> = {}): Removals {
    return createRemovals({
      db,
      journals: { all: [{ journal: { appendedID: 0 }, settledID: 0 }] },
      followed: async () => {},
      historySettled: async () => {},
      isHeld: () => false,
      log: { info: () => {} },
      series: {
        whichHavePoints: async (devices) => devices.map(({ deviceID }) => deviceID.startsWith("sent")),
        removeDevices: async (devices) => {
          removed.push([...devices]);
        },
        removeFields: async (some) => {
          fields.push(...some.map(({ field }) => field));
        },
        ...series,
      },
      ...more,
    });
  }

  test("while a backup holds them, removals wait", async () => {
    await queue(1, names("sent", 3));
    let isHeld = true;
    const removals = open({ isHeld: () => isHeld });
    await removals.drain();
    assert.equal(removed, []);
    assert.is(await countRemovals(db), 3);
    isHeld = false;
    await removals.drain();
    assert.is(removed.flat().length, 3);
    assert.is(await countRemovals(db), 0);
  });

  test("one call empties the queue; only what has points is removed, each once", async () => {
    await queue(1, names("never", 700));
    await queue(1, names("sent", 300));
    await db.write([
      { sql: "insert into removal (tenant, productID, field, createAt) values (1, 'p', 'temp', 0)" },
    ]);
    const removals = open();
    await removals.drain();
    assert.is(await countRemovals(db), 0);
    assert.equal(
      removed
        .flat()
        .map(({ deviceID }) => deviceID)
        .sort(),
      names("sent", 300).sort(),
    );
    assert.equal(fields, ["temp"]);
    assert.equal({ ...removals.counts }, { left: 0, done: 1001 });
  });

  test("what has no points is free before the first points go", async () => {
    await queue(1, [...names("sent", 100), ...names("never", 100)]);
    let leftAtFirst = -1;
    const removeDevices = async () => {
      if (leftAtFirst < 0) leftAtFirst = await countRemovals(db);
    };
    await open({}, { removeDevices }).drain();
    assert.is(leftAtFirst, 100);
  });

  test("a tenant with thousands holds up nobody: each step takes of every tenant", async () => {
    await queue(1, names("sent-many", 3000));
    await queue(2, ["sent-one"]);
    await queue(3, ["sent-other", "sent-last"]);
    await open().drain();
    const [first = []] = removed;
    assert.ok(first.some(({ tenant, deviceID }) => tenant === 2 && deviceID === "sent-one"));
    assert.is(first.filter(({ tenant }) => tenant === 3).length, 2);
    assert.ok(first.length <= 16, `${first.length}`);
  });

  test("more tenants than one step takes: all come to their turn", async () => {
    for (let tenant = 1; tenant <= 120; tenant++) await queue(tenant, [`sent-${tenant}`, `never-${tenant}`]);
    await queue(7, names("sent-7", 40));
    await open().drain();
    assert.equal(await tenantsWithRemovals(db, 0, 10), []);
    assert.is(removed.flat().length, 160);
  });

  test("nothing goes before what was sent earlier is stored and everybody knows of the deletion", async () => {
    await queue(1, ["never-1"]);
    const steps: string[] = [];
    let looks = 0;
    const removals = open({
      followed: async () => {
        steps.push("followed");
      },
      journals: {
        all: [
          {
            journal: {
              get appendedID() {
                steps.push("appended");
                return 5;
              },
            },
            get settledID() {
              looks++;
              return looks < 3 ? 4 : 5;
            },
          },
        ],
      },
      historySettled: async () => {
        steps.push(`history after ${looks} looks with ${await countRemovals(db)} left`);
      },
    });
    await removals.drain();
    assert.equal(steps, ["followed", "appended", "history after 3 looks with 1 left"]);
    assert.is(await countRemovals(db), 0);
  });

  test("a deletion that comes while others are removed is settled anew and goes in the same call", async () => {
    await queue(1, names("sent", 40));
    let settled = 0;
    let late = false;
    const removeDevices = async () => {
      if (late) return;
      late = true;
      await queue(1, ["never-late"]);
    };
    const historySettled = async () => {
      settled++;
    };
    await open({ historySettled }, { removeDevices }).drain();
    assert.is(await countRemovals(db), 0);
    assert.is(settled, 2);
  });

  test("a store that is away keeps the queue; the next call goes on, also another run's", async () => {
    await queue(1, names("sent", 50));
    let away = true;
    const removeDevices = async () => {
      if (away) throw new StoreError("UNAVAILABLE", "away");
    };
    const removals = open({}, { removeDevices });
    await rejects(() => removals.drain());
    assert.is(await countRemovals(db), 50);
    away = false;
    await open({}, { removeDevices }).drain();
    assert.is(await countRemovals(db), 0);
    await removals.drain();
    assert.is(removals.counts.left, 0);
  });

  test("a stop ends the drain after its step", async () => {
    await queue(1, names("sent", 1000));
    const removals = open(
      {},
      {
        removeDevices: async () => {
          removals.stop();
        },
      },
    );
    await removals.drain();
    assert.is(await countRemovals(db), 984);
  });

  test("a drain of more than a second is logged: how many a second, and how many are left", async () => {
    await queue(1, names("sent", 20));
    const told: { msg: string; fields: Readonly<Record<string, unknown>> }[] = [];
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1100));
    };
    const info = (msg: string, given: Readonly<Record<string, unknown>> = {}) => {
      told.push({ msg, fields: given });
    };
    await open({ log: { info } }, { removeDevices: slow }).drain();
    const [first, last] = [await until(() => told[0], { what: "a line" }), told.at(-1)];
    assert.equal([first.fields.removed, first.fields.left], [16, 4]);
    assert.ok(Number(first.fields.perSecond) > 0);
    assert.equal([last?.fields.removed, last?.fields.left], [20, 0]);
    assert.is.not(first.msg, last?.msg);
  });
});
