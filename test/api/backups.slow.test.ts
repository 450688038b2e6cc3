/** Backups over the API: who may, one at a time, what is in the folder that is not ours, and every way to fail. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cp, mkdir, open, readdir, readFile, rename, rm, statfs, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newestSoundBackup } from "../../src/backup/backup-folder.js";
import { checkBackupSettings } from "../../src/backup/backups.js";
import { readManifest, writeManifest } from "../../src/backup/manifest.js";
import { readConfig } from "../../src/config/config.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { mountSmallDisk } from "../small-disk.js";
import { assert, suite, type Test, until, withTempDir } from "../suite.js";
import {
  hasKeys,
  type Rec,
  type Reply,
  refused,
  shardFolderOf,
  stampPattern,
  type World,
  worldSuite,
} from "../world.js";
import { ended } from "./transfer.js";

const path = "/api/v1/backups";
const megabyte = 10 ** 6;

interface Listed {
  readonly folder: string;
  readonly running: {
    readonly kind: string;
    readonly name: string;
    readonly statusUrl: string | null;
  } | null;
  readonly failure: { readonly reason: string } | null;
  readonly items: readonly (Rec & { readonly name: string; readonly state: string })[];
  readonly next: string | null;
}

const listOf = async (world: World, query = ""): Promise<Listed> => {
  const reply = await world.call("GET", `${path}${query}`);
  assert.is(reply.status, 200, reply.text);
  return reply.record as unknown as Listed;
};
const namesOf = async (world: World) => (await listOf(world)).items.map(({ name }) => name);

/** Makes one to its end. */
async function made(world: World): Promise<string> {
  const reply = await world.call("POST", path);
  const { state, msg } = await ended(world, reply);
  assert.is(state, "SUCCESS", JSON.stringify(msg));
  return String(reply.record.name);
}

const metricOf = async (world: World, name: string): Promise<number | undefined> => {
  const { text } = await world.call("GET", "/metrics");
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.split(" ")[1]);
};

const backupsFailing = async (world: World): Promise<boolean> =>
  (await world.call("GET", "/readyz")).text.includes('"backups"');

/** As much as makes a backup last for more than a second. */
const addBallast = (world: World, bytes = 60 * megabyte): Promise<void> =>
  writeFile(join(world.dataDir, "ballast"), Buffer.alloc(bytes, 1));

/** A suite whose service has a folder for backups of its own. */
function backupSuite(
  name: string,
  define: (test: Test, world: World, dir: string) => void,
  settings: Readonly<Record<string, string>> = {},
): void {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-backups-"));
  worldSuite(
    name,
    (test, world) => {
      test.after(() => rmSync(dir, { recursive: true, force: true }));
      define(test, world, dir);
    },
    { BACKUP_DIR: dir, ...settings },
  );
}

const asked = (name: string): readonly (readonly [method: string, path: string])[] => [
  ["GET", path],
  ["POST", path],
  ["POST", `${path}/${name}/verify`],
  ["DELETE", `${path}/${name}`],
];

backupSuite("backups", (test, world, dir) => {
  test("only administrators of the deployment's own tenant see, make, verify and delete them", async () => {
    const name = await made(world);
    const [viewer, operator] = [await world.keyOf("viewer"), await world.keyOf("operator")];
    const other = await world.otherTenant();
    for (const [method, at] of asked(name)) {
      for (const key of [viewer, operator, other]) {
        refused(await world.call(method, at, undefined, { key }), "PERMISSION_DENIED");
      }
      refused(await world.call(method, at, undefined, { key: null }), "AUTH_FAILED");
    }
    assert.equal(await namesOf(world), [name]);
    assert.is((await world.call("DELETE", `${path}/${name}`)).status, 204);
  });

  test("one that is made says what it holds, is verified, found damaged, and deleted", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    await world.publish(await makeDevice(world, product), { temp: 1 });
    const name = await made(world);
    const { folder, items, running } = await listOf(world);
    assert.equal([folder, running, items.length], [dir, null, 1]);
    const [item] = items;
    hasKeys(item, [
      ...["name", "folder", "state", "beginAt", "endAt", "files", "bytes", "journalID", "version"],
      ...["metadata", "points", "elsewhere", "verifiedAt", "isSound", "fault"],
    ]);
    assert.equal(
      [
        item?.name,
        item?.state,
        item?.folder,
        item?.metadata,
        item?.points,
        item?.elsewhere,
        item?.verifiedAt,
      ],
      [name, "complete", join(dir, name), "file", "embedded", [], null],
    );
    assert.ok(Number(item?.bytes) > 0 && Number(item?.files) > 3 && Number(item?.journalID) > 0);
    assert.match(String(item?.endAt), stampPattern);
    assert.ok(
      Math.abs(Number(await metricOf(world, "tidemark_backup_completed_seconds")) - Date.now() / 1000) < 60,
    );

    const verified = await ended(world, await world.call("POST", `${path}/${name}/verify`));
    assert.is(verified.state, "SUCCESS", JSON.stringify(verified.msg));
    const [sound] = (await listOf(world)).items;
    assert.equal([sound?.isSound, sound?.fault], [true, null]);
    assert.is(await newestSoundBackup(dir), join(dir, name));
    assert.match(String(sound?.verifiedAt), stampPattern);

    const file = await open(join(dir, name, "master.key"), "r+");
    await file.write("x", 0);
    await file.close();
    const damaged = await ended(world, await world.call("POST", `${path}/${name}/verify`));
    assert.is(damaged.state, "FAILURE");
    assert.match(String(damaged.msg), "master.key: its checksum differs");
    const [broken] = (await listOf(world)).items;
    assert.is(broken?.isSound, false);
    assert.match(String(broken?.fault), "1 place is not as written");
    assert.is(await newestSoundBackup(dir), null, "the next one takes nothing of it");

    assert.is((await world.call("DELETE", `${path}/${name}`)).status, 204);
    assert.equal(await readdir(dir), []);
    refused(await world.call("DELETE", `${path}/${name}`), "DATA_NOT_FOUND");
    refused(await world.call("POST", `${path}/${name}/verify`), "DATA_NOT_FOUND");
  });

  test("a manifest that was changed makes it unreadable, whatever a verification has said of it", async () => {
    const name = await made(world);
    await ended(world, await world.call("POST", `${path}/${name}/verify`));
    const manifest = join(dir, name, "manifest.json");
    await writeFile(manifest, (await readFile(manifest, "utf8")).replace('"format": 1', '"format":  1'));
    const [item] = (await listOf(world)).items;
    assert.equal([item?.state, item?.bytes, item?.isSound], ["unreadable", null, null]);
    assert.match(String(item?.fault), "its checksum differs");
    refused(await world.call("POST", `${path}/${name}/verify`), "PARAMETER_INVALID");
    assert.is((await world.call("DELETE", `${path}/${name}`)).status, 204);
  });

  test("what is about to be renamed is not copied: it may be gone before it is", async () => {
    await writeFile(join(world.dataDir, "reserve.new"), "");
    const name = await made(world);
    assert.equal(
      (await readdir(join(dir, name))).filter((one) => one.startsWith("reserve")),
      [],
    );
    await world.call("DELETE", `${path}/${name}`);
  });

  test("a pipe or a link in it is named as a fault, and neither waited for nor followed", async () => {
    const name = await made(world);
    await mkdir(join(dir, "29990101T000000Z"));
    execFileSync("mkfifo", [
      ...[join(dir, name, shardFolderOf(0), "journal", "9999.journal"), join(dir, name, "events.db-shm")],
      join(dir, "29990101T000000Z", "manifest.json"),
    ]);
    const { state, msg } = await ended(world, await world.call("POST", `${path}/${name}/verify`));
    assert.is(state, "FAILURE");
    assert.match(String(msg), "2 places are not as written");
    const next = await made(world);
    for (const one of [name, next, "29990101T000000Z"]) {
      assert.is((await world.call("DELETE", `${path}/${one}`)).status, 204, one);
    }
  });

  test("one at a time: a second one, a verification and a removal of what is being made are refused", async () => {
    const earlier = await made(world);
    await addBallast(world);
    const begun = await world.call("POST", path);
    assert.is(begun.status, 202, begun.text);
    const name = String(begun.record.name);
    for (const [method, at] of [
      ["POST", path],
      ["POST", `${path}/${earlier}/verify`],
    ] as const) {
      const reply = await world.call(method, at);
      refused(reply, "IN_PROGRESS");
      assert.match(reply.failure.message, "a backup is being made: one at a time");
    }
    const unfinished = `${name}.unfinished`;
    await until(async () => (await namesOf(world)).includes(unfinished), { what: "the backup in its midst" });
    const { items, running } = await listOf(world);
    assert.equal(
      [running?.kind, running?.name, running?.statusUrl],
      ["backup", name, begun.record.statusUrl],
    );
    assert.is(items.find((one) => one.name === unfinished)?.state, "running");
    refused(await world.call("DELETE", `${path}/${unfinished}`), "IN_PROGRESS");
    assert.is((await ended(world, begun)).state, "SUCCESS");
    assert.equal(await namesOf(world), [name, earlier]);
    await rm(join(world.dataDir, "ballast"));
    for (const one of [name, earlier]) await world.call("DELETE", `${path}/${one}`);
  });

  test("what is not ours in the folder is neither listed nor deleted, and no name leads out of it", () =>
    withTempDir(async (elsewhere) => {
      const kept = join(elsewhere, "20200101T000000Z");
      await mkdir(kept);
      await writeFile(join(kept, "manifest.json"), "{}");
      const name = await made(world);
      const foreign = [
        "lost+found",
        "20200101T000000Z",
        "photos",
        "99999999T999999Z",
        "20200102T000000Z.old",
      ];
      for (const one of foreign) await mkdir(join(dir, one));
      await writeFile(join(dir, "99999999T999999Z", "manifest.json"), "{}");
      await writeFile(join(dir, "20200103T000000Z"), "a file");
      await symlink(kept, join(dir, "20200104T000000Z"));
      await symlink(kept, join(dir, "20200104T000000Z.unfinished"));
      await mkdir(join(dir, "20200105T000000Z.unfinished"));
      const there = (await readdir(dir)).filter((one) => one !== name && !one.startsWith("20200105"));
      assert.equal(await namesOf(world), [name, "20200105T000000Z.unfinished"]);
      const outside = [
        `..%2F${kept.split("/").at(-2)}`,
        "%2E%2E%2Fdata",
        "..%5C..",
        "a%2Fb",
        "20260101T000000Z%00",
      ];
      for (const one of [...there, ...outside, encodeURIComponent(kept), `${name}%2F..%2F${name}`]) {
        for (const [method, at] of asked(one).slice(2)) {
          const { status } = await world.call(method, at);
          assert.ok(status === 404 || status === 400 || status === 405, `${method} ${at}: ${status}`);
        }
      }
      assert.is((await world.call("DELETE", `${path}/20200105T000000Z.unfinished`)).status, 204);
      assert.equal((await readdir(dir)).filter((one) => one !== name).sort(), there.sort());
      assert.equal(await readdir(kept), ["manifest.json"]);
      for (const one of there) await rm(join(dir, one), { recursive: true, force: true });
      await world.call("DELETE", `${path}/${name}`);
    }));

  test("pages go from the newest to the oldest; a wrong one is refused by name", async () => {
    const names = [await made(world), await made(world), await made(world)].reverse();
    const first = await listOf(world, "?_limit=2");
    assert.equal(
      first.items.map(({ name }) => name),
      names.slice(0, 2),
    );
    const second = await listOf(world, `?_limit=2&before=${first.next}`);
    assert.equal([second.items.map(({ name }) => name), second.next], [names.slice(2), null]);
    for (const limit of ["0", "101", "x"]) {
      refused(await world.call("GET", `${path}?_limit=${limit}`), "PARAMETER_INVALID", "_limit");
    }
    refused(await world.call("GET", `${path}?before=nobody`), "PARAMETER_INVALID", "before");
    await world.call("DELETE", `${path}/${first.next}`);
    const later = await listOf(world, `?_limit=2&before=${first.next}`);
    assert.equal(
      later.items.map(({ name }) => name),
      names.slice(2),
      "the page after one that has gone",
    );
    for (const name of names) await world.call("DELETE", `${path}/${name}`);
  });

  test("a folder that disappears is reported in words, not made again, and used when it is back", async () => {
    const away = `${dir}.away`;
    await rename(dir, away);
    const listed = await world.call("GET", path);
    assert.is(listed.status, 503);
    assert.match(listed.failure.message, `BACKUP_DIR cannot be used: ${dir}: it is not there (ENOENT)`);
    const { state, msg } = await ended(world, await world.call("POST", path));
    assert.equal([state, msg], ["FAILURE", `${dir}: it is not there (ENOENT)`]);
    assert.ok(await backupsFailing(world));
    assert.not.match((await world.call("GET", "/readyz", undefined, { key: null })).text, dir);
    assert.is((await readdir(tmpdir())).includes(dir.split("/").at(-1) ?? ""), false);
    await rename(away, dir);
    const { failure } = await listOf(world);
    assert.match(String(failure?.reason), "it is not there");
    const name = await made(world);
    assert.equal([(await listOf(world)).failure, await backupsFailing(world)], [null, false]);
    assert.is(await metricOf(world, 'tidemark_backups_total{outcome="failed"}'), 1);
    await world.call("DELETE", `${path}/${name}`);
    assert.is(await metricOf(world, "tidemark_backup_completed_seconds"), undefined);
  });
});

backupSuite(
  "backups that are kept",
  (test, world, dir) => {
    test("older ones go once a new one is complete; unfinished ones and another process's stay", async () => {
      const first = await made(world);
      await made(world);
      await mkdir(join(dir, "20200101T000000Z.unfinished"));
      const other = "20200102T000000Z";
      await copyOfNode(join(dir, first), join(dir, other), 7);
      const third = await made(world);
      assert.equal(
        [(await namesOf(world)).length, (await namesOf(world))[0]],
        [4, third],
        String(await namesOf(world)),
      );
      assert.not.ok((await namesOf(world)).includes(first));
      await rename(dir, `${dir}.away`);
      assert.is((await ended(world, await world.call("POST", path))).state, "FAILURE");
      await rename(`${dir}.away`, dir);
      assert.is((await namesOf(world)).length, 4, "one that failed has removed others");
    });

    test("the one just made stays, also where the clock was ahead when the others were made", async () => {
      const [newest = ""] = await namesOf(world);
      for (const name of ["29990101T000000Z", "29990102T000000Z"]) {
        await cp(join(dir, newest), join(dir, name), { recursive: true });
      }
      const name = await made(world);
      assert.equal((await completeOf(world)).slice(0, 2), ["29990102T000000Z", name]);
    });
  },
  { BACKUP_KEEP: "2" },
);

const completeOf = async (world: World): Promise<string[]> =>
  (await listOf(world)).items.filter(({ state }) => state === "complete").map(({ name }) => name);

/** A backup that another process has made: by its manifest. */
async function copyOfNode(from: string, to: string, node: number): Promise<void> {
  await cp(from, to, { recursive: true });
  await writeManifest(to, { ...(await readManifest(from)), node });
}

worldSuite("backups without a folder for them", (test, world) => {
  test("each question says that none is set", async () => {
    for (const [method, at] of asked("20260101T000000Z")) {
      const reply: Reply = await world.call(method, at);
      refused(reply, "DATA_NOT_FOUND", "BACKUP_DIR");
      assert.match(reply.failure.message, "BACKUP_DIR is not set");
    }
    assert.is(await metricOf(world, "tidemark_backup_completed_seconds"), undefined);
  });
});

const gone = mountSmallDisk(64 * 2 ** 20);
if ("reason" in gone) {
  suite("backups on a disk that goes", (test) => test.skip("a mount that has gone", gone.reason));
} else {
  worldSuite(
    "backups on a disk that goes",
    (test, world) => {
      test.after(() => gone.close());
      test("a mount that has gone fills nothing beneath it", async () => {
        gone.resize(400 * 2 ** 20);
        await made(world);
        execFileSync("umount", [gone.path]);
        const { state, msg } = await ended(world, await world.call("POST", path));
        assert.is(state, "FAILURE");
        assert.match(String(msg), "the disk that was mounted there is not there any more");
        assert.equal(await readdir(gone.path), []);
        execFileSync("mount", ["-t", "tmpfs", "tmpfs", gone.path]);
        await made(world);
      });
    },
    { BACKUP_DIR: gone.path },
  );
}

const disk = mountSmallDisk(16 * 2 ** 20);
if ("reason" in disk) {
  suite("backups on a full disk", (test) => test.skip("a full disk", disk.reason));
} else {
  worldSuite(
    "backups on a full disk",
    (test, world) => {
      test.after(() => disk.close());
      test("is reported before anything is copied, and during the copy; nothing stays, and the service goes on", async () => {
        const early = await ended(world, await world.call("POST", path));
        assert.is(early.state, "FAILURE");
        assert.match(String(early.msg), /has \d+ bytes free, and the backup may need \d+/);
        disk.resize(200 * 2 ** 20);
        await addBallast(world, 80 * megabyte);
        const begun = await world.call("POST", path);
        // Once the folder contains something, the free space has been checked.
        const copied = () => readdir(disk.path, { recursive: true });
        await until(async () => (await copied()).some((name) => name.includes("/")), {
          what: "a first copy",
        });
        const { bavail, bsize } = await statfs(disk.path);
        // The backup writes at the same time, so the disk may be full before all of this is written.
        await writeFile(join(disk.path, "filler"), Buffer.alloc(bavail * bsize)).catch(() => undefined);
        const { state, msg } = await ended(world, begun);
        assert.is(state, "FAILURE");
        // A file that is copied, or a database that is.
        assert.ok(/the disk is full \((ENOSPC|SQLITE_FULL)\)/.test(String(msg)), String(msg));
        assert.equal(await readdir(disk.path), ["filler"]);
        assert.ok(await backupsFailing(world));
        const product = await makeProduct(world);
        await makeDataPoint(world, product, { dataPointID: "temp" });
        await world.publish(await makeDevice(world, product), { temp: 1 });
        await rm(join(disk.path, "filler"));
        await made(world);
        assert.not.ok(await backupsFailing(world));
      });
    },
    { BACKUP_DIR: disk.path },
  );
}

suite("settings of backups", (test) => {
  const problemsOf = async (settings: Readonly<Record<string, string>>): Promise<string> => {
    try {
      await checkBackupSettings(readConfig(settings));
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };

  test("a folder within the data folder is refused, whatever the path looks like; so is a wrong schedule", () =>
    withTempDir(async (root) => {
      const data = join(root, "data");
      await mkdir(data);
      await symlink(data, join(root, "link"));
      for (const inner of [
        data,
        join(data, "b"),
        join(root, "link"),
        join(root, "link", "b", "c"),
        `${root}/x/../data/b`,
      ]) {
        assert.match(
          await problemsOf({ DATA_DIR: data, BACKUP_DIR: inner }),
          /^BACKUP_DIR: .* is within/,
          inner,
        );
      }
      for (const outer of [join(root, "backups"), join(root, "data-2"), root, join(root, "..data")]) {
        assert.is(await problemsOf({ DATA_DIR: data, BACKUP_DIR: outer }), "", outer);
      }
      const set = { DATA_DIR: data, BACKUP_DIR: join(root, "b") };
      assert.is(await problemsOf({ ...set, BACKUP_SCHEDULE: "0 3 * * *", BACKUP_KEEP: "14" }), "");
      assert.match(
        await problemsOf({ ...set, BACKUP_SCHEDULE: "daily" }),
        /^BACKUP_SCHEDULE: must be a cron/,
      );
      assert.match(await problemsOf({ ...set, BACKUP_KEEP: "-1" }), /^BACKUP_KEEP: must be a whole number/);
      assert.match(await problemsOf({ DATA_DIR: data, BACKUP_SCHEDULE: "0 3 * * *" }), "needs BACKUP_DIR");
    }));
});
