/** Parts of an action are taken once, whatever cuts a run short and whatever the metadata answer. */
import { bulkKind } from "../../src/bulk/bulk-kind.js";
import type { Commands } from "../../src/commands/commands.js";
import type { TaskContext } from "../../src/tasks/task-kind.js";
import { StoreError } from "../../store/lib/errors.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import type { Task } from "../../store/metadata/tasks.js";
import { assert, rejects, suite, withTempDir } from "../suite.js";

const now = () => 1_800_000_000_000;
const command = { action: "command", topic: "inbox", payload: "on", qos: 1, ttl: 60 } as const;
const ids = Array.from({ length: 40 }, (_, i) => i + 1);

interface Bench {
  readonly db: Db;
  /** Devices that were sent the command, with the ids of their logs. */
  readonly sent: { readonly device: number; readonly logID: number }[];
  run(
    task: Task,
    options?: { readonly db?: Db; readonly signal?: AbortSignal; onSend?(): void },
  ): Promise<unknown>;
  task(id: string, input: object): Promise<Task>;
}

async function open(dir: string): Promise<Bench> {
  const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
  await db.write([
    { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C', 't', 0)" },
    {
      sql: `insert into product (id, tenant, productID, productName, cloudProtocol, createAt)
        values (1, 1, 'p', 'p', 1, 0)`,
    },
    ...ids.map((id) => ({
      sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
        values (?1, 1, 'd' || ?1, 'n' || ?1, 'u' || ?1, x'00', 1, 0)`,
      args: [id],
    })),
  ]);
  const sent: Bench["sent"] = [];
  const run: Bench["run"] = async (task, options = {}) => {
    const commands = {
      untilTaken: async () => undefined,
      untilKept: async () => undefined,
      // Every tenth is away.
      routeTo: async ({ id }: { id: number }) => (id % 10 === 0 ? null : { to: id, qos: 1 }),
      logOf: (target: { id: number }, route: unknown, _: null, content: object) => ({
        ...content,
        deviceIntID: target.id,
        groupLogIntID: null,
        node: 0,
        publishStatus: route === null ? 0 : 1,
      }),
      send: async ({ to }: { to: number }, { logID }: { logID: number }) => {
        options.onSend?.();
        sent.push({ device: to, logID });
        return true;
      },
    } as unknown as Commands;
    const store = { db: options.db ?? db, vault: createVault(Buffer.alloc(32)) };
    const kind = bulkKind({ devices: store, commands, now, devicesPerPart: 7 });
    const signal = options.signal ?? new AbortController().signal;
    const context = { task, signal, progress: async () => undefined };
    return (await kind.run(context as unknown as TaskContext)).msg;
  };
  return {
    db,
    sent,
    run,
    task: async (id, input) => {
      await db.write([
        {
          sql: `insert into task (id, tenant, kind, state, input, node, createAt)
            values (?, 1, 'bulk_devices', 'PENDING', '{}', 0, 0)`,
          args: [id],
        },
      ]);
      const row = { id, tenant: 1, kind: "bulk_devices", userIntID: null, username: null, input };
      return row as unknown as Task;
    },
  };
}

const whole = { total: 40, done: 36, failed: 4 };

suite("an action on many devices", (test) => {
  test("a run that is cut short is continued: no device gets a command twice, each has one log of its own", () =>
    withTempDir(async (dir) => {
      const bench = await open(dir);
      const task = await bench.task("t", { ...command, ids });
      for (const cutAfter of [1, 9, 20]) {
        const closing = new AbortController();
        const onSend = () => {
          if (bench.sent.length >= cutAfter) closing.abort();
        };
        await rejects(() => bench.run(task, { signal: closing.signal, onSend }), /abort/i);
      }
      const { errors, ...counts } = (await bench.run(task)) as { errors: { id: number }[] };
      assert.equal(counts, whole);
      assert.equal(
        errors.map(({ id }) => id),
        [10, 20, 30, 40],
      );
      const reached = ids.filter((id) => id % 10 !== 0);
      assert.equal(
        bench.sent.map(({ device }) => device).sort((a, b) => a - b),
        reached,
      );
      const logs = await bench.db.all<{ id: number; deviceIntID: number; text: string }>(
        "select id, deviceIntID, cast(payload as text) text from control_log order by deviceIntID",
      );
      assert.equal(
        logs.map(({ deviceIntID }) => deviceIntID),
        ids,
      );
      assert.ok(logs.every(({ text }) => text === "on"));
      const logOf = new Map(logs.map(({ id, deviceIntID }) => [deviceIntID, id]));
      assert.ok(bench.sent.every(({ device, logID }) => logOf.get(device) === logID));
      assert.equal(await bench.db.all("select 1 from bulk_part"), []);
      assert.equal(await bench.run(task), { ...whole, errors }, "once more, after its end");
      assert.is(bench.sent.length, reached.length);
      await bench.db.close();
    }));

  test("an answer that was lost is asked for again: what had been taken is sent with its own log", () =>
    withTempDir(async (dir) => {
      const bench = await open(dir);
      const { db } = bench;
      const task = await bench.task("t", { ...command, ids });
      let lost = 0;
      const losing: Db = {
        ...db,
        write: async (statements) => {
          const results = await db.write(statements);
          const isTaken = statements.some(({ sql }) => sql.includes("update bulk_action set part"));
          if (!isTaken || lost++ % 2 === 1) return results;
          // Others write logs of the same devices at the same time.
          await db.write([
            {
              sql: `insert into control_log (tenant, deviceIntID, topic, payload, qos, publishStatus, createAt)
                select 1, id, 'x', x'00', 0, 3, 0 from device`,
            },
          ]);
          throw new StoreError("UNAVAILABLE", "the answer was lost");
        },
      };
      const { errors, ...counts } = (await bench.run(task, { db: losing })) as { errors: unknown[] };
      assert.equal([counts, errors.length], [whole, 4]);
      const logs = await db.all<{ id: number; deviceIntID: number }>(
        "select id, deviceIntID from control_log where topic = 'inbox'",
      );
      assert.is(logs.length, ids.length);
      const logOf = new Map(logs.map(({ id, deviceIntID }) => [deviceIntID, id]));
      assert.ok(bench.sent.every(({ device, logID }) => logOf.get(device) === logID));
      assert.is(bench.sent.length, 36);
      await db.close();
    }));

  test("the records of a filter are fixed when the task begins; those that are gone by their turn are reported", () =>
    withTempDir(async (dir) => {
      const bench = await open(dir);
      const task = await bench.task("t", { ...command, filter: { q: "d", kind: "device" } });
      const closing = new AbortController();
      await rejects(
        () => bench.run(task, { signal: closing.signal, onSend: () => closing.abort() }),
        /abort/i,
      );
      const had = bench.sent.map(({ device }) => device);
      const [gone] = ids.filter((id) => id % 10 !== 0 && !had.includes(id));
      await bench.db.write([
        { sql: "delete from device where id = ?", args: [gone ?? 0] },
        {
          sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
            values (1000, 1, 'd1000', 'n1000', 'u1000', x'00', 1, 0)`,
        },
      ]);
      const { errors, ...counts } = (await bench.run(task)) as {
        errors: { id: number; reason: string }[];
      };
      assert.equal(counts, { total: 40, done: 35, failed: 5 });
      assert.equal(
        errors.filter(({ reason }) => reason === "the device was deleted").map(({ id }) => id),
        [gone],
      );
      assert.ok(!bench.sent.some(({ device }) => device === 1000));
      await bench.db.close();
    }));

  test("what was begun with some of its parts stored begins anew, with all of them", () =>
    withTempDir(async (dir) => {
      const bench = await open(dir);
      const task = await bench.task("t", { action: "block", ids });
      await bench.db.write([
        { sql: "insert into bulk_action (task) values ('t')" },
        { sql: "insert into bulk_part (bulkIntID, part, ids) values (1, 0, '[1]')" },
      ]);
      assert.equal(await bench.run(task), { total: 40, done: 40, failed: 0, errors: [] });
      const blocked = await bench.db.first<{ n: number }>("select sum(blocked) n from device");
      const traces = await bench.db.all("select recordID from change where detail = '{\"blocked\":1}'");
      assert.equal([blocked?.n, traces.length], [40, 40]);
      await bench.db.close();
    }));

  test("more payload than may be logged is refused when it is known for how many it is", () =>
    withTempDir(async (dir) => {
      const bench = await open(dir);
      const payload = "x".repeat(2 * 1024 * 1024);
      const task = await bench.task("t", { ...command, payload, filter: { kind: "device" } });
      await rejects(() => bench.run(task), /the task failed/);
      assert.equal([bench.sent, await bench.db.all("select 1 from control_log")], [[], []]);
      await bench.db.close();
    }));
});
