/** The sessions of a shard that moves to another machine, whatever its journal has deleted. */
import { existsSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import type { SessionState } from "../../ingest/sessions/state.js";
import { hashClientID } from "../../ingest/uplinks/accept.js";
import { createEventRetention } from "../../src/service/event-retention.js";
import { createSessionSnapshots, isFarBehind } from "../../src/service/session-snapshots.js";
import { openShard, type Shard } from "../../src/service/shard.js";
import { closeAtOnce } from "../../store/files/closing.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { keepInLog } from "../../store/journal/replicated/replicated-segments.js";
import { asError } from "../../store/lib/errors.js";
import { createSetClock, type SetClock } from "../clock.js";
import { type ConsumerWorld, openConsumerWorld } from "../ingest/consumers/support.js";
import { subscription } from "../ingest/sessions/support.js";
import { createMemoryLog, type MemoryLog, type Outcome } from "../store/journal/memory-log.js";
import { flipByte, journalInput } from "../store/journal/support.js";
import { assert, rejects, suite, until, withTempDir } from "../suite.js";
import { shardDeps } from "./shard-deps.js";

const number = 3;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const never = new AbortController().signal;

interface Cluster {
  readonly world: ConsumerWorld;
  readonly clock: SetClock;
  readonly log: MemoryLog;
  /** Damage that was reported. */
  readonly damage: string[];
  /** What the next appends come to; kept without one. */
  readonly outcomes: Outcome[];
  /** The shard on the machine of that name. */
  open(machine: string): Promise<Shard>;
  /** The shard on machine "a", with a session of client "c" that began thirty hours and as many segments ago. */
  openWithOldSession(): Promise<Shard>;
}

async function withCluster(work: (cluster: Cluster) => Promise<void>): Promise<void> {
  const world = await openConsumerWorld();
  const clock = createSetClock();
  const outcomes: Outcome[] = [];
  const log = createMemoryLog(() => outcomes.shift() ?? "kept");
  log.now = clock.now;
  const damage: string[] = [];
  const opened: Shard[] = [];
  const open = async (machine: string): Promise<Shard> => {
    const deps = await shardDeps(world, join(world.dir, machine), number);
    const keep = (shard: number, dir: string, onEnded: (reason: Error) => void) =>
      keepInLog({
        dir,
        log: log.connect(),
        name: { topicID: "topic", partition: shard },
        claimant: { deployment: "tests", shard, owner: machine },
        frameBytesMax: 1 << 20,
        now: clock.now,
        onEnded,
        onTrouble: () => undefined,
        signal: never,
        shortTimeMs: 200,
      });
    const shard = await openShard(
      number,
      {
        ...deps,
        logs: { keep } as never,
        damage: {
          report: ({ part, what }: { part: string; what: string }) => damage.push(`${part}: ${what}`),
        } as never,
        now: clock.now,
      },
      { db: world.store.db, signal: never },
    );
    opened.push(shard);
    return shard;
  };
  const openWithOldSession = async (): Promise<Shard> => {
    const shard = await open("a");
    await beginSession(shard, world.device, "c");
    await passHours(shard, clock, 30);
    await shard.save();
    return shard;
  };
  try {
    await work({ world, clock, log, damage, outcomes, open, openWithOldSession });
  } finally {
    for (const shard of opened) await shard.close().catch(() => undefined);
    await world.close();
  }
}

/** A client of the device has a session with one subscription. */
async function beginSession({ records, committed }: Shard, device: number, clientID: string): Promise<void> {
  const entry = { id: device, device: { tenant: 1, deviceID: "d" } } as DeviceEntry;
  const origin = { device: entry, session: hashClientID(clientID), ip: "" };
  let state = null as SessionState | null;
  const link = { clientID, cleanStart: false, sessionExpiry: 0xffff_ffff, keepAlive: 30, will: null };
  const connection = records.connect(origin, link, (made) => {
    state = made;
  });
  await committed();
  assert.ok(state);
  records.subscribe(
    { ...origin, connection },
    state as never,
    [["x", subscription({ qos: 1 })]],
    () => undefined,
  );
  await committed();
}

/** So many segments of an hour each. */
async function passHours({ journal, committed }: Shard, clock: SetClock, hours: number): Promise<void> {
  for (let n = 0; n < hours; n++) {
    clock.pass(hourMs + 1);
    journal.append(journalInput({ kind: recordKinds.denial }));
    await committed();
  }
}

const clients = ({ registry }: Shard, device: number): string[] =>
  [...(registry.get(device)?.sessions.values() ?? [])]
    .map(({ clientID, subscriptions }) => `${clientID} ${[...subscriptions.keys()]}`)
    .sort();

/** Applies the retention of a day as it runs each ten seconds; returns what is logged. */
async function applyRetention(shard: Shard, clock: SetClock): Promise<string[]> {
  const lines: string[] = [];
  const all = [{ shard, savedAlertsID: Number.POSITIVE_INFINITY }];
  const apply = createEventRetention({
    config: { eventRetentionDays: 1, eventRetentionBytes: 2 ** 40, shards: [number], cluster: null },
    pipelines: { all },
    series: { checkpoint: async () => Number.POSITIVE_INFINITY },
    isHeld: () => false,
    ending: never,
    log: {
      info: (line) => void lines.push(line),
      warn: (line, fields) => void lines.push(`${line}: ${asError(fields?.error).message}`),
    },
    now: clock.now,
  });
  await apply();
  return lines;
}

const begins = ({ journal }: Shard): number => journal.segments[0]?.firstID ?? 0;

suite("sessions of a shard that goes to another machine", (test) => {
  test("are there also if the journal has deleted the records that began them", () =>
    withCluster(async ({ world, clock, damage, open }) => {
      const a = await open("a");
      const first = begins(a);
      await beginSession(a, world.device, "c");
      await passHours(a, clock, 30);
      await a.save();
      await applyRetention(a, clock);
      assert.ok(begins(a) > first + 3);
      await a.close();
      const b = await open("b");
      assert.equal(clients(b, world.device), ["c x"]);
      assert.equal(damage, []);
    }));

  test("are as they were at last, over several snapshots and machines", () =>
    withCluster(async ({ world, clock, damage, open }) => {
      const names: string[] = [];
      let before = 0;
      for (const machine of ["a", "b", "a", "c", "b"]) {
        const shard = await open(machine);
        assert.equal(clients(shard, world.device), names.toSorted());
        names.push(`${machine}${names.length} x`);
        await beginSession(shard, world.device, names.at(-1)?.slice(0, -2) ?? "");
        await passHours(shard, clock, 30);
        await shard.save();
        await applyRetention(shard, clock);
        assert.ok(begins(shard) > before);
        before = begins(shard);
        await shard.close();
      }
      assert.equal(damage, []);
    }));

  test("a snapshot that a stop has cut short counts for nothing", () =>
    withCluster(async ({ world, clock, damage, log, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      await applyRetention(a, clock);
      await beginSession(a, world.device, "d");
      await a.save();
      // As if it had several parts, and the machine had been switched off after the first.
      const savedID = a.saved.savedID;
      const payload = Buffer.from("SQLite format 3");
      a.journal.append({
        kind: recordKinds.snapshotPart,
        tenant: 0,
        device: 0,
        savedID,
        part: 0,
        isLast: false,
        payload,
      });
      await a.committed();
      await a.close();
      assert.ok(log.first > 0);
      const b = await open("b");
      assert.equal(clients(b, world.device), ["c x", "d x"]);
      assert.equal(damage, []);
    }));

  test("without a snapshot nothing is deleted, and one line says why", () =>
    withCluster(async ({ world, clock, log, outcomes, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      const first = begins(a);
      outcomes.push(...Array.from({ length: 3 }, () => "refused" as const));
      const lines = await applyRetention(a, clock);
      assert.is(lines.length, 1);
      assert.ok(/^cannot let segments go: the journal takes nothing: /.test(lines[0] ?? ""), lines[0]);
      assert.is(begins(a), first);
      assert.is(log.first, 0);
      await until(async () => a.journal.stopped === null, { what: "the log takes records again" });
      await a.committed();
      await applyRetention(a, clock);
      assert.ok(begins(a) > first);
      await a.close();
      const b = await open("b");
      assert.equal(clients(b, world.device), ["c x"]);
    }));

  test("a journal that takes nothing is not filled with snapshots that are tried again, and nothing waits for it", () =>
    withCluster(async ({ clock, outcomes, openWithOldSession }) => {
      const a = await openWithOldSession();
      const first = begins(a);
      const { appendedID } = a.journal;
      outcomes.push(...Array.from({ length: 1000 }, () => "refused" as const));
      for (let n = 0; n < 5; n++) assert.is((await applyRetention(a, clock)).length, 1);
      assert.is(a.journal.appendedID, appendedID + 1, "the part that was on its way as it began");
      assert.is(begins(a), first);
      outcomes.length = 0;
      await until(async () => a.journal.stopped === null, { what: "the log takes records again" });
      await a.committed();
      await applyRetention(a, clock);
      assert.ok(begins(a) > first);
    }));

  test("a disk without space for a snapshot is not filled with one", () =>
    withCluster(async ({ world, clock, open }) => {
      const a = await open("a");
      await beginSession(a, world.device, "c");
      await a.save();
      const { size } = await stat(join(a.dir, "sessions.db"));
      let copied = 0;
      let left = 2 * size - 1;
      const snapshots = createSessionSnapshots({
        store: { copyTo: async () => Promise.reject(new Error(`copied ${++copied}`)) },
        journal: a.journal,
        file: join(a.dir, "sessions.db"),
        scratch: join(a.dir, "scratch"),
        spare: async () => left,
        now: clock.now,
      });
      const failure = await rejects(() => snapshots.renew(never));
      assert.match(
        failure.message,
        new RegExp(`may need ${2 * size} bytes, and the disk has ${left} to spare$`),
      );
      assert.is(copied, 0);
      left++;
      await rejects(() => snapshots.renew(never), /copied 1/);
    }));

  test("a copy that a kill has left is removed", () =>
    withCluster(async ({ open }) => {
      const a = await open("a");
      await a.close();
      const left = join(a.dir, "sessions.db.snapshot");
      await writeFile(left, "SQLite format 3");
      await open("a");
      assert.is(existsSync(left), false);
    }));

  test("a damaged file of them is made again from the snapshot and what came after it", () =>
    withCluster(async ({ world, clock, damage, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      await applyRetention(a, clock);
      await beginSession(a, world.device, "d");
      await a.close();
      const file = join(a.dir, "sessions.db");
      await flipByte(file, 0);
      const again = await open("a");
      assert.equal(clients(again, world.device), ["c x", "d x"]);
      assert.is(damage.length, 1);
      assert.ok(/^sessions: .*made again from the journal$/.test(damage[0] ?? ""), damage[0]);
    }));

  test("a file of them whose damage is found only as it is read is made again from the snapshot, too", () =>
    withCluster(async ({ world, clock, damage, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      await applyRetention(a, clock);
      await beginSession(a, world.device, "d");
      await a.close();
      const file = createClient({ url: `file:${join(a.dir, "sessions.db")}` });
      await file.execute("update session set subscriptions = '{'");
      file.close();
      const again = await open("a");
      assert.equal(clients(again, world.device), ["c x", "d x"]);
      assert.is(damage.length, 1);
      assert.match(damage[0] ?? "", /^sessions: .*made again from the journal$/);
    }));

  test("a snapshot that is damaged itself does not keep the shard closed: the loss is logged", () =>
    withCluster(async ({ world, clock, damage, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      const path = join(a.dir, "sessions.db");
      const file = createClient({ url: `file:${path}` });
      await file.execute("update session set subscriptions = '{'");
      await closeAtOnce(file, path);
      const first = begins(a);
      await applyRetention(a, clock);
      assert.ok(begins(a) > first);
      await beginSession(a, world.device, "d");
      await a.close();
      const b = await open("b");
      assert.equal(clients(b, world.device), ["d x"]);
      assert.ok(
        damage.some((one) => /^sessions: .* and wills from before are lost$/.test(one)),
        damage.join("\n"),
      );
    }));

  test("a file that is made again is no snapshot before it is saved, and what was copied of the damaged one counts no more", () =>
    withCluster(async ({ world, clock, open, openWithOldSession }) => {
      const a = await openWithOldSession();
      await applyRetention(a, clock);
      assert.ok((a.snapshots?.coveredID ?? 0) > 0);
      const { appendedID } = a.journal;
      await a.remakeSessions("a fault");
      assert.is(a.snapshots?.coveredID, 0);
      await rejects(() => a.snapshots?.renew(never) ?? Promise.resolve(), /nothing of them is saved yet/);
      assert.is(a.journal.appendedID, appendedID);
      await a.save();
      const copying = a.snapshots?.renew(never);
      a.snapshots?.forget();
      await copying;
      assert.is(a.snapshots?.coveredID, 0, "nor one that was on its way");
      await a.snapshots?.renew(never);
      assert.is(a.snapshots?.coveredID, a.saved.savedID);
      await a.close();
      const b = await open("b");
      assert.equal(clients(b, world.device), ["c x"]);
    }));

  test("a journal that has lost their beginning and has no snapshot is reported as damage", () =>
    withCluster(async ({ world, clock, damage, open }) => {
      const a = await open("a");
      await beginSession(a, world.device, "c");
      await passHours(a, clock, 3);
      // What nobody does but an earlier version.
      await a.journal.drop(a.journal.segments[0] as never);
      await a.close();
      const b = await open("b");
      assert.equal(clients(b, world.device), []);
      assert.is(damage.length, 1);
      assert.ok(
        /^sessions: .*the journal has no snapshot of them: .* are lost$/.test(damage[0] ?? ""),
        damage[0],
      );
    }));

  test("snapshots come once a day, or when twice their bytes have come", () =>
    withCluster(async ({ world, clock, open }) => {
      const a = await open("a");
      await beginSession(a, world.device, "c");
      const renew = async (): Promise<boolean> => {
        await a.save();
        const before = a.snapshots?.coveredID;
        await a.snapshots?.renew(never);
        return a.snapshots?.coveredID !== before;
      };
      assert.is(await renew(), true);
      await passHours(a, clock, 3);
      assert.is(await renew(), false);
      for (let n = 0; n < 4; n++) a.journal.append(journalInput({ payload: Buffer.alloc(100_000) }));
      await a.committed();
      assert.is(await renew(), true);
      clock.pass(dayMs);
      await passHours(a, clock, 1);
      assert.is(await renew(), true);
    }));

  test("a file of them that somebody reads is not copied", () =>
    withCluster(async ({ world, clock, open }) => {
      const a = await open("a");
      await beginSession(a, world.device, "c");
      await a.save();
      const reader = createClient({ url: `file:${join(a.dir, "sessions.db")}` });
      const transaction = await reader.transaction("read");
      await transaction.execute("select count(*) from session");
      await passHours(a, clock, 1);
      await a.save();
      const failure = await rejects(() => a.snapshots?.renew(never) ?? Promise.resolve());
      assert.ok(/it is being read$/.test(failure.message), failure.message);
      transaction.close();
      reader.close();
    }));

  test("they are saved after 128 MiB, or four times their bytes: a reader of the journal has little to read", async () => {
    const mebi = 2 ** 20;
    const segments: { firstID: number; bytes: number }[] = [{ firstID: 1, bytes: 500 * mebi }];
    const parts: number[] = [];
    let savedID = 10;
    const journal = {
      segments,
      committedID: 10,
      appendedID: 10,
      stopped: null,
      waitFor: async () => true,
      append: ({ part }: { part: number }) => {
        parts.push(part);
        return 0;
      },
    };
    await withTempDir(async (dir) => {
      const copyTo = async (path: string): Promise<number> => {
        await writeFile(path, Buffer.alloc(40 * mebi));
        return savedID;
      };
      const file = join(dir, "sessions.db");
      await writeFile(file, "");
      const snapshots = createSessionSnapshots({
        store: { copyTo },
        journal: journal as never,
        file,
        scratch: join(dir, "scratch"),
        spare: async () => 0,
        now: Date.now,
      });
      const wasAppended = async (): Promise<boolean> => {
        parts.length = 0;
        await Promise.all([snapshots.keepUp(never), snapshots.keepUp(never)]);
        assert.equal(parts, [...Array(parts.length).keys()], "one after the other");
        return parts.length > 0;
      };
      assert.is(await wasAppended(), false);
      segments.push({ firstID: 11, bytes: 128 * mebi - 1 });
      assert.equal([await wasAppended(), isFarBehind(journal as never, 10)], [false, false]);
      segments.push({ firstID: 12, bytes: 1 });
      Object.assign(journal, { appendedID: 12 });
      assert.equal([await wasAppended(), isFarBehind(journal as never, 10)], [true, true]);
      assert.is(snapshots.coveredID, 10);
      savedID = 20;
      segments.push({ firstID: 21, bytes: 160 * mebi - 1 });
      assert.is(await wasAppended(), false);
      segments.push({ firstID: 22, bytes: 1 });
      Object.assign(journal, { appendedID: 22 });
      assert.is(await wasAppended(), true);
      assert.is(snapshots.coveredID, 20);
    });
  });
});
