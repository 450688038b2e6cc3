/** A backup under load, the original destroyed, restored elsewhere, counted; and everything that may come between. */
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, open, readdir, readFile, rm, stat, statfs, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { mountSmallDisk } from "../small-disk.js";
import { assert, influxSuite, openTempDir, suite, type Test, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { type Environment, runTool, toolAnswer } from "./run-tool.js";
import { nothingSetAside, provision, type RunningService, startService, startWithShards } from "./support.js";

type BackupAnswer = Rec & {
  readonly journalID: number;
  readonly journalIDs: readonly number[];
  readonly folder: string;
};

const done = (...run: Parameters<typeof toolAnswer>): Promise<BackupAnswer> =>
  toolAnswer(...run) as Promise<BackupAnswer>;

interface Verified {
  readonly sound: boolean;
  readonly databases: readonly string[];
  readonly journal: { readonly records: number };
  readonly backup: { readonly journalIDs: readonly number[] };
}

interface Kept {
  readonly id: number;
  readonly payload: string;
}

async function eventsOf(service: RunningService, device: Rec): Promise<Kept[]> {
  const found: Kept[] = [];
  for (let page = 1; ; page++) {
    const url = `/api/v1/devices/${device.id}/events?_page=${page}&_limit=1000`;
    const items = (await service.call("GET", url)).body.items as readonly Kept[];
    if (items.length === 0) return found.reverse();
    found.push(...items);
  }
}

async function valuesOf(service: RunningService, device: Rec): Promise<number[]> {
  const query = `deviceIntID=${device.id}&startTime=2001-01-01T00:00:00Z&limit=100000`;
  const { text } = await service.call("GET", `/api/v1/original_data?${query}`);
  return (JSON.parse(text) as { originalData: { value: number[] } }[])[0]?.originalData.value ?? [];
}

const numberOf = ({ payload }: Kept): number => (JSON.parse(payload) as { n: number }).n;

/** Makes devices one after the other; each publishes as soon as it is there. */
function makeDevices(service: RunningService, product: Rec) {
  const made: Rec[] = [];
  let stopping = false;
  const running = (async () => {
    for (let i = 0; !stopping; i++) {
      const device = await service.make("/api/v1/devices", {
        productID: product.productID,
        cloudProtocol: 1,
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
        deviceName: `young-${i}`,
        deviceID: `young-${i}`,
      });
      const { deviceUsername, token } = device;
      const client = await connectAsync(service.mqtt, {
        username: String(deviceUsername),
        password: String(token),
        clientId: "one",
      });
      await client.publishAsync("up", JSON.stringify({ n: i }), { qos: 1 });
      await client.endAsync();
      made.push(device);
    }
  })();
  return {
    made,
    stop: async () => {
      stopping = true;
      await running;
    },
  };
}

type Start = typeof startService;

/** Whether a record was on disk when the backup was made, so far as its answer says. */
function isIn({ journalIDs }: Pick<BackupAnswer, "journalIDs">, id: number): boolean {
  return journalIDs.some((last) => shardOfID(last) === shardOfID(id) && id <= last);
}

function defineLoadTest(
  test: Test,
  environment: () => Promise<Environment>,
  start: Start = startService,
): void {
  test(
    "under load: destroyed, restored elsewhere, and nothing acknowledged before its id is missing or twice",
    () =>
      withTempDir(async (dir) => {
        const env = await environment();
        const [original, backups, elsewhere] = ["data", "backups", "restored"].map((name) => join(dir, name));
        if (original === undefined || backups === undefined || elsewhere === undefined) return;
        await mkdir(original);
        const service = await start(original, env);
        const devices = await provision(service, 3);
        const [first] = devices;
        const product = (await service.call("GET", "/api/v1/products")).body.items as readonly Rec[];
        const publishers = devices.map((device, i) =>
          createPublisher({
            clientID: "load",
            qos: i === 0 ? 2 : 1,
            payload: (n) => JSON.stringify({ n }),
            device,
            mostInFlight: 100,
            pauseMs: 1,
          }),
        );
        for (const publisher of publishers) void publisher.run(service.mqtt).catch(() => undefined);
        const young = makeDevices(service, product[0] as Rec);
        await until(() => publishers.every(({ acknowledged }) => acknowledged.size > 2000), {
          what: "some load",
        });
        await done(original, env, "backup", backups);
        await until(() => publishers.every(({ acknowledged }) => acknowledged.size > 6000), {
          what: "more load",
        });
        const backup = await done(original, env, "backup", backups);
        await until(() => publishers.every(({ acknowledged }) => acknowledged.size > 8000), {
          what: "more load",
        });
        await young.stop();
        await Promise.all(publishers.map((publisher) => publisher.stop()));
        await service.settled();
        const all = [...devices, ...young.made];
        const before = await Promise.all(all.map((device) => eventsOf(service, device)));
        await service.kill();
        await rm(original, { recursive: true });

        const verified = await done(elsewhere, env, "verify", backup.folder);
        assert.equal([verified.sound, verified.findings], [true, []]);
        const restored = await done(elsewhere, env, "restore", backup.folder);
        assert.equal(
          [restored.journalID, restored.journalIDs],
          [Math.max(...backup.journalIDs), backup.journalIDs],
        );
        const again = await start(elsewhere, env);
        await again.settled();
        await nothingSetAside(again);
        let counted = 0;
        for (const [i, device] of all.entries()) {
          const expected = (before[i] ?? []).filter(({ id }) => isIn(backup, id));
          if (expected.length === 0) continue;
          const events = await eventsOf(again, device);
          const there = new Set(events.map(({ id }) => id));
          assert.is(there.size, events.length, `${device.deviceID}: events twice`);
          assert.equal(
            expected.filter(({ id }) => !there.has(id)),
            [],
            `${device.deviceID}: events missing`,
          );
          const values = await valuesOf(again, device);
          assert.is(new Set(values).size, values.length, `${device.deviceID}: points twice`);
          const known = new Set(values);
          assert.equal(
            expected.map(numberOf).filter((n) => !known.has(n)),
            [],
            `${device.deviceID}: points missing`,
          );
          counted += expected.length;
        }
        assert.ok(counted > 12_000, `${counted} messages counted`);
        assert.ok(first !== undefined);
        assert.is((await again.call("GET", "/readyz")).text.includes("damage"), false);
        await again.stop();
      }),
    { timeoutMs: 300_000 },
  );
}

/** Makes a folder with some messages, whose service has ended. */
async function makeData(dataDir: string, start: Start = startService): Promise<void> {
  await mkdir(dataDir);
  const service = await start(dataDir);
  const [device] = await provision(service, 1);
  const publisher = createPublisher({
    clientID: "some",
    qos: 1,
    payload: (n) => JSON.stringify({ n, text: "x".repeat(500) }),
    device: device as Rec,
    mostInFlight: 100,
    pauseMs: 1,
  });
  void publisher.run(service.mqtt).catch(() => undefined);
  await until(() => publisher.acknowledged.size > 3000, { what: "some messages" });
  await publisher.stop();
  await service.settled();
  await service.stop();
}

async function flipByte(path: string, at: number): Promise<void> {
  const file = await open(path, "r+");
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  buffer[0] = (buffer[0] ?? 0) ^ (1 << randomInt(8));
  await file.write(buffer, 0, 1, at);
  await file.close();
}

suite("backups, embedded", (test) => {
  let made: Awaited<ReturnType<typeof openTempDir>>;
  test.before(async () => {
    made = await openTempDir();
    await makeData(join(made.path, "data"));
  });
  test.after(() => made.close());
  /** The same for each test, in a folder of its own. */
  const someData = (dataDir: string) => cp(join(made.path, "data"), dataDir, { recursive: true });

  defineLoadTest(test, async () => ({}));

  test("a byte that is flipped anywhere is found, in a folder and in an archive, and is not restored", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await someData(data);
      const { folder } = await done(data, {}, "backup", join(dir, "backups"));
      const archive = join(dir, "all.tar.gz");
      await done(data, {}, "backup", archive);
      assert.is((await done(data, {}, "verify", archive)).sound, true);
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
      assert.ok(files.length >= 10, `${files.length} files`);
      for (const file of files) {
        const { size } = await stat(file);
        if (size === 0) continue;
        const kept = await readFile(file);
        await flipByte(file, randomInt(size));
        const found = await runTool(data, {}, "verify", folder).ended;
        assert.equal([found.code, found.answer.sound], [1, false], file);
        const target = join(dir, "none");
        const refused = await runTool(target, {}, "restore", folder).ended;
        assert.is(refused.code, 1, file);
        assert.match(refused.errors, "not as it was written", file);
        await rm(target, { recursive: true, force: true });
        await writeFile(file, kept);
      }
      assert.is((await done(data, {}, "verify", folder)).sound, true);
      await flipByte(archive, Math.floor((await stat(archive)).size / 2));
      const found = await runTool(data, {}, "verify", archive).ended;
      assert.is(found.code, 1);
    }));

  test("a file that is missing or added is found, and a path that leads out is not followed", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await someData(data);
      const { folder } = await done(data, {}, "backup", join(dir, "backups"));
      await writeFile(join(folder, "series", "points-2020-01.db"), "stray");
      await rm(join(folder, "master.key"));
      const { answer } = await runTool(data, {}, "verify", folder).ended;
      const faults = (answer.findings as { file: string; fault: string }[]).map(({ fault }) => fault);
      assert.ok(
        faults.includes("it is missing") && faults.includes("it is not of this backup"),
        faults.join(),
      );
    }));

  test("only what has changed is copied again, and each backup stands alone", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      const backups = join(dir, "backups");
      await someData(data);
      const first = await done(data, {}, "backup", backups);
      const second = await done(data, {}, "backup", backups);
      assert.ok(Number(second.bytesReused) > Number(second.bytes) * 0.5, JSON.stringify(second));
      await rm(first.folder, { recursive: true });
      assert.is((await done(data, {}, "verify", second.folder)).sound, true);
    }));

  test("a backup into the folder that it is of is refused, whatever the path looks like", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await someData(data);
      await symlink(data, join(dir, "link"));
      for (const target of [join(data, "backups"), join(dir, "link", "b"), join(data, "all.tar.gz")]) {
        const { code, errors } = await runTool(data, {}, "backup", target).ended;
        assert.is(code, 1, target);
        assert.match(errors, "a backup of a folder cannot be in it");
      }
      assert.is((await done(data, {}, "verify")).sound, true);
    }));

  test("an archive that was cut off says so, and leaves nothing of what it held beside it", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await someData(data);
      const archive = join(dir, "all.tar.gz");
      await done(data, {}, "backup", archive);
      const { size } = await stat(archive);
      for (const share of [0.2, 0.5, 0.9]) {
        await writeFile(join(dir, "cut.tar.gz"), (await readFile(archive)).subarray(0, size * share));
        const { code, errors } = await runTool(data, {}, "verify", join(dir, "cut.tar.gz")).ended;
        assert.is(code, 1);
        assert.not.match(errors, "ENOTEMPTY");
        assert.equal(
          (await readdir(dir)).filter((name) => name.startsWith(".tidemark")),
          [],
        );
      }
    }));

  test("a restore never writes over data, and one that was killed is begun again", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await someData(data);
      const { folder } = await done(data, {}, "backup", join(dir, "backups"));
      const over = await runTool(data, {}, "restore", folder).ended;
      assert.is(over.code, 1);
      assert.match(over.errors, "is not empty: a restore never writes over existing data");
      const target = join(dir, "restored");
      for (let tries = 0; tries < 5; tries++) {
        const { child, ended } = runTool(target, {}, "restore", folder);
        await until(() => existsSync(join(target, "restoring")) || child.exitCode !== null, {
          what: "its mark",
        });
        child.kill("SIGKILL");
        await ended;
        if (!existsSync(join(target, "restoring"))) continue;
        const refused = await runTool(target, {}, "serve").ended.catch(() => null);
        assert.match(refused?.errors ?? "", "was not finished: run tidemark restore again");
        assert.is(refused?.code, 2);
        break;
      }
      if (!existsSync(join(target, "restoring"))) await rm(target, { recursive: true, force: true });
      await done(target, {}, "restore", folder);
      const service = await startService(target);
      await service.settled();
      assert.is((await service.call("GET", "/api/v1/events?_limit=1")).status < 500, true);
      await service.stop();
    }));

  test("a backup that is killed leaves nothing that could be taken for one, and the service goes on", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      const backups = join(dir, "backups");
      await someData(data);
      const service = await startService(data);
      const { child, ended } = runTool(data, {}, "backup", backups, "--rate", "0.2");
      const unfinished = async () =>
        (await readdir(backups).catch(() => [])).some((name) => name.endsWith(".unfinished"));
      await until(unfinished, { what: "a backup in its midst" });
      child.kill("SIGKILL");
      await ended;
      const [left = ""] = await readdir(backups);
      const refused = await runTool(join(dir, "r"), {}, "restore", join(backups, left)).ended;
      assert.match(refused.errors, "is no backup, or an unfinished one");
      const whole = await done(data, {}, "backup", backups);
      assert.is((await done(data, {}, "verify", whole.folder)).sound, true);
      await service.settled();
      await service.stop();
    }));

  test("a full disk is reported before anything is copied; one that fills during the copy fails the backup alone", async () => {
    const disk = mountSmallDisk(64 * 2 ** 20);
    if ("reason" in disk) return console.log(disk.reason);
    try {
      await withTempDir(async (dir) => {
        const data = join(dir, "data");
        await someData(data);
        const service = await startService(data);
        const early = await runTool(data, {}, "backup", join(disk.path, "b")).ended;
        assert.is(early.code, 1);
        assert.match(early.errors, /has \d+ bytes free, and the backup may need \d+/);
        disk.resize(200 * 2 ** 20);
        const { child, ended } = runTool(data, {}, "backup", join(disk.path, "b"), "--rate", "1");
        await until(async () => (await readdir(join(disk.path, "b")).catch(() => [])).length > 0, {
          what: "its begin",
        });
        const { bavail, bsize } = await statfs(disk.path);
        // The backup writes at the same time, so this file may be the one that fills the disk.
        await writeFile(join(disk.path, "filler"), Buffer.alloc(bavail * bsize - 300_000)).catch((error) => {
          if (error.code !== "ENOSPC") throw error;
        });
        const { code, errors } = await ended;
        assert.ok(child.exitCode === 1 && code === 1, errors);
        assert.match(errors, /ENOSPC|full/i);
        assert.equal(
          (await readdir(join(disk.path, "b"))).filter((name) => !name.endsWith(".unfinished")),
          [],
        );
        await service.settled();
        await service.stop();
      });
    } finally {
      disk.close();
    }
  });
});

suite("backups of four shards", (test) => {
  const start: Start = (dataDir, environment) => startWithShards(4, dataDir, environment);

  defineLoadTest(test, async () => ({}), start);

  test("whole, as an archive, while no service runs; a flipped byte of any shard is found and named", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      await makeData(data, start);
      const archive = join(dir, "all.tar.gz");
      const { journalIDs } = await done(data, {}, "backup", archive);
      assert.equal(journalIDs.map(shardOfID), [0, 1, 2, 3]);
      const whole = (await toolAnswer(data, {}, "verify", archive)) as unknown as Verified;
      assert.ok(whole.sound && whole.journal.records > 3000);
      assert.equal(whole.backup.journalIDs, journalIDs);
      const restored = join(dir, "restored");
      await done(restored, {}, "restore", archive);
      assert.equal((await readdir(join(restored, "shards"))).sort(), ["0", "1", "2", "3"]);
      for (const shard of ["0", "1", "2", "3"]) {
        assert.ok(whole.databases.includes(join("shards", shard, "events.db")));
        assert.ok(whole.databases.includes(join("shards", shard, "sessions.db")));
        const journal = join(restored, "shards", shard, "journal");
        const [segment = ""] = (await readdir(journal)).filter((name) => name.endsWith(".journal"));
        const kept = await readFile(join(journal, segment));
        await flipByte(join(journal, segment), 20);
        const { code, answer } = await runTool(restored, {}, "verify").ended;
        assert.is(code, 1);
        assert.equal(
          (answer.findings as { file: string }[]).map(({ file }) => file),
          [join(journal, segment)],
        );
        await writeFile(join(journal, segment), kept);
      }
      const again = await start(restored);
      await again.settled();
      assert.is((await again.call("GET", "/readyz")).text.includes("damage"), false);
      await again.stop();
    }));
});

influxSuite("backups, InfluxDB", (test, influx) => {
  const environment = async (): Promise<Environment> => {
    const { url, token, org, bucket } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
  };
  defineLoadTest(test, environment);

  test("it says where the points are, and restore names what is missing", () =>
    withTempDir(async (dir) => {
      const env = await environment();
      const data = join(dir, "data");
      await mkdir(data);
      const service = await startService(data, { ...env, MASTER_KEY: "7".repeat(64) });
      const backup = await done(data, env, "backup", join(dir, "b"));
      await service.stop();
      const restored = await done(join(dir, "r"), env, "restore", backup.folder);
      const [points = "", key = ""] = restored.missing as string[];
      assert.match(points, `influx backup --bucket ${env.INFLUX_BUCKET}`);
      assert.match(key, "MASTER_KEY");
      assert.not.match(JSON.stringify([backup, restored]), env.INFLUX_TOKEN ?? "none");
    }));
});
