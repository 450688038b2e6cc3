/** What exports and imports of devices write takes of its tenant's share of the disk, and is gone when they fail. */
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readConfig } from "../../src/config/config.js";
import { createDiskSpace, type DiskSpace } from "../../src/http/disk-space.js";
import { columnNames } from "../../src/import-export/devices/device-columns.js";
import { devicesExportKind, devicesImportKind } from "../../src/import-export/devices/kinds.js";
import { TaskFailure, type TaskKind } from "../../src/tasks/task-kind.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { makeDevice, makeProduct } from "../factories.js";
import { assert, withTempDir } from "../suite.js";
import { worldSuite } from "../world.js";

const mebi = 2 ** 20;

worldSuite("disk space of device transfers", (test, world) => {
  let db: Db;
  const kinds = () => {
    const config = readConfig({ DATA_DIR: world.dataDir });
    return { export: devicesExportKind({ config, db }), import: devicesImportKind({ config, db }) };
  };
  test.before(async () => {
    db = await openDb({ url: `file:${join(world.dataDir, "metadata.db")}`, shared: true, migrates: false });
    const product = await makeProduct(world);
    for (let i = 0; i < 3; i++) await makeDevice(world, product, { description: "x".repeat(4000) });
  });
  test.after(() => db.close());

  async function run(kind: TaskKind, dir: string, space: DiskSpace, input: object): Promise<unknown> {
    const task = { id: "t", tenant: 1, userIntID: 1, username: "admin", input } as never;
    const context = {
      task,
      dir,
      space,
      signal: new AbortController().signal,
      progress: async () => undefined,
    };
    return kind.run(context).catch((error: unknown) => error);
  }
  const exporting = { filters: [], codesB: false, format: "csv" };

  test("an export counts for its tenant as it is written, and once it is whole for what it has", () =>
    withTempDir(async (dir) => {
      const space = createDiskSpace(dir, async () => 100 * mebi);
      for (const format of ["csv", "xlsx"] as const) {
        const before = space.held(1);
        const { file } = (await run(kinds().export, dir, space, { ...exporting, format })) as {
          file: string;
        };
        const { size } = await stat(join(dir, file));
        const held = space.held(1) - before;
        assert.ok(held >= size && held <= size + mebi, `${format}: ${held} for ${size}`);
        await space.adopt(1, file);
        assert.is(space.held(1) - before, held, "not twice");
      }
      assert.is(space.held(2), 0);
    }));

  test("without space an export fails, says why, and leaves neither file nor bytes", () =>
    withTempDir(async (dir) => {
      const none = createDiskSpace(dir, async () => 0);
      const full = await run(kinds().export, dir, none, exporting);
      assert.ok(full instanceof TaskFailure, String(full));
      assert.is(full.msg, "the disk is too full for the file");
      assert.equal([await readdir(dir), none.held(1)], [[], 0]);

      const shared = createDiskSpace(dir, async () => 16 * mebi - shared.held(1));
      await shared.claim(1, "others").grow(14 * mebi);
      const spent = await run(kinds().export, dir, shared, exporting);
      assert.ok(spent instanceof TaskFailure, String(spent));
      assert.match(String(spent.msg), /the files of your tasks hold/);
      assert.equal([await readdir(dir), shared.held(1)], [[], 14 * mebi]);
    }));

  test("an export that fails of anything else leaves no file", () =>
    withTempDir(async (dir) => {
      const space = createDiskSpace(dir, async () => 100 * mebi);
      let reads = 0;
      const counting = {
        ...space,
        claim: (...of: Parameters<DiskSpace["claim"]>) => {
          const claim = space.claim(...of);
          return {
            ...claim,
            grow: async (bytes: number) => {
              reads++;
              await claim.grow(bytes);
              throw new Error("the disk has gone");
            },
          };
        },
      };
      const failed = await run(kinds().export, dir, counting, exporting);
      assert.match(String(failed), /the disk has gone/);
      assert.is(reads, 1);
      assert.equal([await readdir(dir), space.held(1)], [[], 0]);
    }));

  test("an import without space for its list of errors still says what is wrong", () =>
    withTempDir(async (dir) => {
      const space = createDiskSpace(dir, async () => 0);
      const row = columnNames.map((name) => (name === "deviceName" ? "of no product" : ""));
      await writeFile(
        join(dir, "upload"),
        [columnNames, row].map((cells) => `${cells.join(",")}\r\n`).join(""),
      );
      const failed = await run(kinds().import, dir, space, { format: "csv", upload: "upload" });
      assert.ok(failed instanceof TaskFailure, String(failed));
      assert.match(String(failed.msg), /row 2/);
      assert.equal([failed.file, await readdir(dir), space.held(1)], [null, [], 0]);
    }));
});
