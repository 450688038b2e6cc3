import { join } from "node:path";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { createMeter } from "../../ingest/meter.js";
import { sessionBounds } from "../../ingest/sessions/bounds.js";
import { createChanges } from "../../ingest/sessions/changes.js";
import { type Connections, createConnections } from "../../ingest/sessions/connections.js";
import { createDownlinks } from "../../ingest/sessions/downlinks.js";
import { createSessionRegistry } from "../../ingest/sessions/session-registry.js";
import type { Settled } from "../../ingest/sessions/state.js";
import { type Commands, createCommands } from "../../src/commands/commands.js";
import { groupBatchBytesMax, groupPublishKind } from "../../src/commands/group-publish.js";
import { createReceipts, type Receipts } from "../../src/commands/receipts.js";
import { createDiskSpace } from "../../src/http/disk-space.js";
import { createLogger } from "../../src/observability/log.js";
import type { TaskResult } from "../../src/tasks/task-kind.js";
import { StoreError } from "../../store/lib/errors.js";
import { listControlLogs } from "../../store/metadata/commands/control-logs.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import type { Task } from "../../store/metadata/tasks.js";
import { assert, rejects, suite, until, withTempDir } from "../suite.js";

const members = 120;
const now = () => 1_800_000_000_000;
const log = createLogger("error", () => undefined, now);

/** A database with one group of `members` devices, ids 1 to 120, and the sessions of all but every tenth. */
interface Fleet {
  readonly db: Db;
  readonly sessions: Connections;
  /** Packets by device, and how to acknowledge them. */
  readonly got: Map<number, Settled[]>;
  readonly commands: Commands;
  readonly receipts: Receipts;
  /** Devices whose connections do not take what they were sent. */
  readonly slow: Set<number>;
  /** Why the journal takes nothing, and what it was given and never said to be kept. */
  readonly journal: { stopped: string | null; readonly given: number[] };
  /** Leaves a session behind that outlives its connection. */
  leave(device: number): void;
}

async function open(dir: string, bounds = sessionBounds): Promise<Fleet> {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
  const registry = createSessionRegistry(createChanges(), createMeter(), [], bounds);
  const sessions = createConnections({ registry, now });
  const entries = new Map<number, DeviceEntry>();
  const directory = {
    peek: (id: number) => entries.get(id),
    peekByDeviceID: () => undefined,
    get: async (id: number) => entries.get(id),
  };
  const journal: Fleet["journal"] = { stopped: null, given: [] };
  const records = {
    send: ({ id }: DeviceEntry) => void journal.given.push(id),
    openInbox: () => assert.unreachable("no device of these waits for commands"),
  };
  const downlinks = createDownlinks({
    registry,
    records,
    directory,
    now,
    onClosed: () => () => undefined,
  });
  const receipts = createReceipts({ db, log, now });
  const got = new Map<number, Settled[]>();
  const slow = new Set<number>();
  await db.write([
    { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C', 't', 0)" },
    {
      sql: `insert into product (id, tenant, productID, productName, cloudProtocol, createAt)
        values (1, 1, 'p', 'p', 1, 0)`,
    },
    {
      sql: `insert into device_group (id, tenant, productIntID, groupID, groupName, createAt)
        values (1, 1, 1, 'g', 'Group', 0)`,
    },
  ]);
  for (let id = 1; id <= members; id++) {
    await db.write([
      {
        sql: `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
          values (?1, 1, 'd' || ?1, 'n' || ?1, 'u' || ?1, x'00', 1, 0)`,
        args: [id],
      },
      { sql: "insert into group_member (groupIntID, deviceIntID) values (1, ?)", args: [id] },
    ]);
    if (id % 10 === 0) continue;
    const { state } = registry.connect({
      tenant: 1,
      device: id,
      deviceID: `d${id}`,
      clientID: "c",
      session: 1,
      connection: id,
      at: 0,
      cleanStart: true,
      expiry: 0,
      will: null,
      ip: "",
      keepAlive: 0,
    });
    const note = (settled: Settled = () => undefined) => {
      got.set(id, [...(got.get(id) ?? []), settled]);
      return true;
    };
    state.link = {
      deliver: () => note(),
      send: ({ settled }) => note(settled),
      handOver: () => undefined,
      get waitingBytes() {
        return slow.has(id) ? 1024 * 1024 : 0;
      },
    };
    const entry = { id, device: { tenant: 1, deviceID: `d${id}` } } as DeviceEntry;
    entries.set(id, entry);
    sessions.open({
      clientID: "c",
      username: "u",
      token: "t",
      certificate: null,
      protocol: "mqtt4",
      openedAt: 0,
      entry,
      state,
      end: () => undefined,
      subscribeByPlatform: () => undefined,
    });
  }
  const commands = createCommands({
    db,
    shardOf: () => 0,
    sessions,
    downlinks,
    directory,
    receipts,
    now,
    stopped: () => journal.stopped,
  });
  const leave = (device: number): void => {
    const connection = 1000 + device;
    registry.connect({
      tenant: 1,
      device,
      deviceID: `d${device}`,
      clientID: "k",
      session: 2,
      connection,
      at: now() * 1000,
      cleanStart: false,
      expiry: 3600,
      will: null,
      ip: "",
      keepAlive: 0,
    });
    const end = { orderly: true, expiry: null, ofEarlierRun: false };
    registry.disconnect({ device, connection, at: now() * 1000, ...end });
    entries.set(device, { id: device, device: { tenant: 1, deviceID: `d${device}` } } as DeviceEntry);
  };
  return { db, sessions, got, receipts, commands, slow, journal, leave };
}

const task = (needAck: number, payload: string): Task => ({
  id: "task",
  tenant: 1,
  kind: "group_publish",
  state: "PENDING",
  current: 0,
  msg: null,
  file: null,
  node: 0,
  userIntID: null,
  username: "admin",
  createAt: now(),
  input: {
    groupIntID: 1,
    groupID: "g",
    groupName: "Group",
    needAck,
    topic: "inbox",
    payload,
    qos: 1,
    ttl: 60,
  },
});

interface Run {
  readonly needAck?: number;
  readonly payload?: string;
  readonly commands?: Commands;
  readonly db?: Db;
  readonly closing?: AbortController;
  readonly onProgress?: (current: number, signal: AbortController) => unknown;
}

async function run(
  fleet: Fleet,
  { needAck = 1, payload = "x", onProgress, ...rest }: Run = {},
): Promise<TaskResult> {
  const { closing = new AbortController() } = rest;
  return groupPublishKind({ ...fleet, ...rest, membersPerBatch: 50, now }).run({
    task: task(needAck, payload),
    signal: closing.signal,
    dir: "",
    space: createDiskSpace("", async () => 0),
    progress: async (current) => {
      await onProgress?.(current, closing);
    },
  });
}

const groupStatus = async ({ db }: Fleet) =>
  (await db.first<{ publishStatus: number }>("select publishStatus from group_control_log"))?.publishStatus;

suite("group_publish as a task", (test) => {
  test("a restart in the middle goes on, and no device gets it twice", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      const seen: number[] = [];
      const stopAtFirst = (current: number, closing: AbortController) => {
        seen.push(current);
        closing.abort();
      };
      await rejects(() => run(fleet, { onProgress: stopAtFirst }));
      assert.is(fleet.got.size, 45);
      const { msg } = await run(fleet, { onProgress: (current) => seen.push(current) });
      assert.equal(msg, { publish_success_num: 108, publish_failure_num: 12 });
      assert.equal(seen.map(Math.floor), [41, 83, 100]);
      assert.is(fleet.got.size, 108);
      assert.ok([...fleet.got.values()].every((packets) => packets.length === 1));
      const rows = await fleet.db.all(
        "select 1 from control_log where groupLogIntID = 1 group by deviceIntID",
      );
      assert.is(rows.length, members);
      assert.is((await fleet.db.all("select 1 from group_control_log")).length, 1);
      assert.is(await groupStatus(fleet), 1);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("what a kill cut off between log and packet is not sent again", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      let left = 70;
      const closing = new AbortController();
      const failing: Commands = {
        ...fleet.commands,
        send: async (route, logged, command) => {
          if (left-- > 0) return fleet.commands.send(route, logged, command);
          closing.abort(new Error("killed"));
          return true;
        },
      };
      await rejects(() => run(fleet, { commands: failing, closing }), /killed/);
      const { msg } = await run(fleet);
      assert.equal(msg, { publish_success_num: 108, publish_failure_num: 12 });
      assert.ok([...fleet.got.values()].every((packets) => packets.length === 1));
      const statuses = await fleet.db.all<{ publishStatus: number; n: number }>(
        "select publishStatus, count(*) n from control_log group by publishStatus",
      );
      assert.equal(statuses, [
        { publishStatus: 0, n: 12 },
        { publishStatus: 1, n: 108 },
      ]);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("the group is confirmed by the last receipt, if nobody has failed", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      await fleet.db.write([{ sql: "delete from group_member where deviceIntID % 10 = 0" }]);
      await run(fleet);
      const receipts = [...fleet.got.values()].flat();
      for (const settled of receipts.slice(1)) settled(true);
      const confirmed = () =>
        fleet.db.first<{ n: number }>("select count(*) n from control_log where publishStatus = 2");
      await until(async () => (await confirmed())?.n === 107, { what: "107 receipts" });
      assert.is(await groupStatus(fleet), 1);
      receipts[0]?.(true);
      await until(async () => (await groupStatus(fleet)) === 2, { what: "the group's status" });
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("a group that changes meanwhile: who has left or is deleted gets nothing, who comes later gets it", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      await fleet.db.write([{ sql: "delete from group_member where deviceIntID > 110" }]);
      const seen: number[] = [];
      const { msg } = await run(fleet, {
        onProgress: async (current) => {
          seen.push(current);
          if (seen.length > 1) return;
          await fleet.db.write([
            { sql: "delete from group_member where deviceIntID in (1, 61)" },
            { sql: "delete from device where id = 71" },
            { sql: "insert into group_member (groupIntID, deviceIntID) values (1, 111), (1, 112)" },
          ]);
        },
      });
      assert.equal(msg, { publish_success_num: 99, publish_failure_num: 11 });
      assert.equal(
        [1, 61, 71, 111, 112, 113].map((id) => fleet.got.get(id)?.length ?? 0),
        [1, 0, 0, 1, 1, 0],
      );
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("a group that is deleted meanwhile ends the task with what was sent", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      const { msg } = await run(fleet, {
        onProgress: async () => {
          await fleet.db.write([{ sql: "delete from device_group" }]);
        },
      });
      assert.equal(msg, { publish_success_num: 45, publish_failure_num: 5 });
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("metadata that is away for a moment, at whatever call: nobody is left out, nobody gets it twice", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      const away = () => new StoreError("UNAVAILABLE", "cannot reach the metadata store");
      let calls = 0;
      /** Every third call fails; a failed write is still committed, and nobody knows. */
      const db: Db = {
        ...fleet.db,
        all: async (sql, args) => {
          if (++calls % 3 === 0) throw away();
          return fleet.db.all(sql, args);
        },
        write: async (statements) => {
          const results = await fleet.db.write(statements);
          if (++calls % 3 === 0) throw away();
          return results;
        },
      };
      const { msg } = await run(fleet, { db });
      assert.ok(calls > 8, `only ${calls} calls`);
      assert.equal(msg, { publish_success_num: 108, publish_failure_num: 12 });
      assert.is(fleet.got.size, 108);
      assert.ok([...fleet.got.values()].every((packets) => packets.length === 1));
      assert.is((await fleet.db.all("select 1 from control_log")).length, members);
      for (const [settled] of fleet.got.values()) settled?.(true);
      const confirmed = "select count(distinct deviceIntID) n from control_log where publishStatus = 2";
      await until(async () => (await fleet.db.first<{ n: number }>(confirmed))?.n === 108, {
        what: "the receipts",
      });
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("what fails for good ends the group's log as well", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      const broken: Commands = {
        ...fleet.commands,
        routeTo: async () => {
          throw new Error("broken");
        },
      };
      await rejects(() => run(fleet, { commands: broken }), /broken/);
      assert.is(await groupStatus(fleet), 0);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("a journal that takes nothing holds up nobody but those whose sessions are away", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      for (const device of [10, 110]) fleet.leave(device);
      setTimeout(() => {
        fleet.journal.stopped = "the disk is full";
      }, 300);
      const { msg } = await run(fleet);
      assert.equal(fleet.journal.given, [10], "the disk was full before the other's turn");
      assert.is(fleet.got.size, 108);
      assert.equal(msg, { publish_success_num: 109, publish_failure_num: 11 });
      const statuses = "select publishStatus from control_log where deviceIntID in (10, 110) order by id";
      assert.equal(await fleet.db.all(statuses), [{ publishStatus: 1 }, { publishStatus: 0 }]);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  for (const needAck of [0, 1]) {
    test(`connections that take nothing hold up the next turn for a while: needAck ${needAck}`, async () => {
      await withTempDir(async (dir) => {
        const fleet = await open(dir);
        const seen: number[] = [];
        const running = run(fleet, {
          needAck,
          onProgress: () => {
            if (seen.push(fleet.got.size) > 1) return;
            for (let id = 1; id <= 20; id++) fleet.slow.add(id);
            setTimeout(() => {
              seen.push(fleet.got.size);
              fleet.slow.clear();
            }, 300);
          },
        });
        await running;
        assert.equal(seen, [45, 45, 90, 108]);
        await fleet.receipts.close();
        await fleet.db.close();
      });
    });
  }

  test("a large payload stands once, however many members, and goes a few members at a time", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      const payload = "p".repeat(256 * 1024);
      const size = "select page_count * page_size n from pragma_page_count, pragma_page_size";
      const fileBytes = async () => (await fleet.db.first<{ n: number }>(size))?.n ?? 0;
      const before = await fileBytes();
      const seen: number[] = [];
      await run(fleet, {
        payload,
        onProgress: () => {
          seen.push(fleet.got.size);
          for (const packets of fleet.got.values()) for (const settled of packets.splice(0)) settled(true);
        },
      });
      const perBatch = groupBatchBytesMax / payload.length;
      assert.is(seen.length, Math.ceil(members / perBatch));
      seen.forEach((size, i) => {
        assert.ok(size - (seen[i - 1] ?? 0) <= perBatch, `${seen}`);
      });
      const bytes = "select sum(length(payload)) n from control_log union all select length(payload) from";
      assert.equal(await fleet.db.all(`${bytes} group_control_log`), [{ n: 0 }, { n: payload.length }]);
      const grown = (await fileBytes()) - before;
      assert.ok(grown < 3 * payload.length, `${grown} bytes of metadata`);
      const test = (found: Uint8Array, _like: boolean, value: string) =>
        Buffer.from(found).toString() === value;
      const filters = [{ field: "payload", like: false, value: payload }];
      const logs = await listControlLogs(fleet.db, 1, null, { page: 1, limit: 2, filters }, test);
      assert.is(logs.count, members);
      assert.ok(logs.items.every((log) => Buffer.from(log.payload).toString() === payload));
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("a message beyond what is held for the tenant fails, and does not go through the journal", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir, { ...sessionBounds, heldBytesMax: 64 * 1024 });
      for (const device of [10, 110]) fleet.leave(device);
      await run(fleet, { payload: "p".repeat(100_000) });
      assert.equal(fleet.journal.given, []);
      await fleet.receipts.stored();
      const statuses = "select publishStatus from control_log where deviceIntID in (10, 110) order by id";
      assert.equal(await fleet.db.all(statuses), [{ publishStatus: 0 }, { publishStatus: 0 }]);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("another tenant's clients that take nothing hold up no turn", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      for (let id = 1; id <= 40; id++) fleet.slow.add(id);
      let hasRoom = false;
      const own = fleet.commands.untilTaken(1).then(() => {
        hasRoom = true;
      });
      await fleet.commands.untilTaken(2);
      assert.not(hasRoom, "its own still wait, and had begun before");
      fleet.slow.clear();
      await own;
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });

  test("without receipts a restart sends to nobody twice either", async () => {
    await withTempDir(async (dir) => {
      const fleet = await open(dir);
      await rejects(() => run(fleet, { needAck: 0, onProgress: (_, closing) => closing.abort() }));
      const { msg } = await run(fleet, { needAck: 0 });
      assert.equal(msg, { publish_success_num: 108, publish_failure_num: 12 });
      assert.ok([...fleet.got.values()].every((packets) => packets.length === 1));
      assert.equal(await fleet.db.all("select 1 from control_log"), []);
      assert.is(await groupStatus(fleet), 3);
      await fleet.receipts.close();
      await fleet.db.close();
    });
  });
});
