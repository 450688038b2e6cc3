/** What a backup says of files that change while they are copied. */
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCopying } from "../../src/backup/copying.js";
import { writeManifest } from "../../src/backup/manifest.js";
import { verifyBackup } from "../../src/backup/verify-backup.js";
import { unthrottled } from "../../store/files/copy-file.js";
import { assert, suite, withTempDir } from "../suite.js";

/** A backup of the folder's journal; `meanwhile` happens between the first copy and that of what has come since. */
async function backUp(
  from: string,
  to: string,
  previous: string | null,
  meanwhile: () => Promise<void> = async () => undefined,
) {
  await mkdir(to);
  const copying = await createCopying(from, to, previous, unthrottled);
  await copying.folder("journal");
  await meanwhile();
  await copying.journalSince("journal");
  const manifest = {
    format: 1 as const,
    version: "1",
    createdAt: "2026-11-25T00:00:00Z",
    node: 0,
    journalID: 1,
    metadata: "file" as const,
    points: "embedded" as const,
    elsewhere: [],
    files: await copying.describe(),
  };
  await writeManifest(to, manifest);
  const faults: string[] = [];
  await verifyBackup(to, (file, fault) => faults.push(`${file}: ${fault}`));
  return { faults, paths: manifest.files.map(({ path }) => path), reused: copying.bytesReused() };
}

suite("copies of files that change", (test) => {
  const [oldest, newest] = ["journal/1.journal", "journal/2.journal"];

  async function withJournal(use: (dir: string, from: string) => Promise<void>): Promise<void> {
    await withTempDir(async (dir) => {
      const from = join(dir, "data");
      await mkdir(join(from, "journal"), { recursive: true });
      await writeFile(join(from, oldest), "oldest");
      await writeFile(join(from, newest), "newest");
      await use(dir, from);
    });
  }

  test("a segment that nothing has come to since the last backup, and something during this one", () =>
    withJournal(async (dir, from) => {
      const first = join(dir, "first");
      assert.equal(await backUp(from, first, null), { faults: [], paths: [oldest, newest], reused: 0 });
      const grows = () => appendFile(join(from, newest), " and more");
      const second = await backUp(from, join(dir, "second"), first, grows);
      assert.equal(second, { faults: [], paths: [oldest, newest], reused: "oldest".length });
      // It is no link to the earlier one's, whose bytes are as they were.
      const earlier: string[] = [];
      await verifyBackup(first, (file, fault) => earlier.push(`${file}: ${fault}`));
      assert.equal(earlier, []);
    }));

  test("a file that is about to take another's name is not copied: it may be gone in that moment", () =>
    withJournal(async (dir, from) => {
      await writeFile(join(from, "journal/copy.json.new"), "half");
      assert.equal((await backUp(from, join(dir, "first"), null)).paths, [oldest, newest]);
    }));
});
