/** A disk that cannot take the journal: a small file system of its own where that is permitted. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Journal } from "../../../store/journal/journal.js";
import { mountSmallDisk } from "../../small-disk.js";
import { assert, suite, until } from "../../suite.js";
import { journalInput, keep, openTestJournal, readAll } from "./support.js";

const mebi = 2 ** 20;

suite("journal on a disk that fills", (test) => {
  const disk = mountSmallDisk(8 * mebi);
  if ("reason" in disk) {
    test.skip("holds acknowledgements while the disk is full", disk.reason);
    test.skip("leaves no heap of empty segments behind", disk.reason);
    return;
  }
  test.after(() => disk.close());

  async function fillUp(journal: Journal, acknowledged: number[]): Promise<void> {
    const payload = Buffer.alloc(100_000, 1);
    while (journal.stopped === null) {
      const id = journal.append(journalInput({ payload }), (done) => acknowledged.push(done));
      await Promise.race([
        journal.waitFor(id - 1),
        until(() => journal.stopped, { what: "a stop" }).catch(() => 0),
      ]);
    }
  }

  test("holds acknowledgements while the disk is full; what was acknowledged is there after a kill", async () => {
    const dir = join(disk.path, "a");
    const journal = await openTestJournal(dir);
    const acknowledged: number[] = [];
    await fillUp(journal, acknowledged);
    assert.ok(journal.full);
    assert.match(journal.stopped ?? "", /ENOSPC|disk full/);
    const before = acknowledged.length;
    for (let i = 0; i < 20; i++) journal.append(journalInput(), (id) => acknowledged.push(id));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.is(acknowledged.length, before, "nothing is acknowledged that is not kept");
    assert.equal(
      (await readAll(journal)).map(({ id }) => id),
      acknowledged,
    );

    // Another process would find this much after a kill.
    const copy = join(tmpdir(), `tidemark-copy-${process.pid}`);
    execFileSync("cp", ["-r", dir, copy]);
    const other = await openTestJournal(copy);
    const found = (await readAll(other)).map(({ id }) => id);
    assert.equal(found.slice(0, acknowledged.length), acknowledged);
    await other.close();
    await rm(copy, { recursive: true });

    const [oldest] = journal.segments;
    assert.ok(oldest);
    disk.resize(32 * mebi);
    await until(() => journal.stopped === null, { what: "the journal to go on" });
    await journal.waitFor(journal.appendedID - 1);
    const all = Array.from({ length: journal.appendedID }, (_, i) => i + 1);
    assert.equal(acknowledged, all, "held acknowledgements come, in order, none twice");
    assert.equal(
      (await readAll(journal)).map(({ id }) => id),
      all,
    );
    await keep(journal);
    await journal.close();
    const again = await openTestJournal(dir);
    assert.is(again.appendedID, all.length + 1);
    assert.is((await readAll(again)).length, all.length + 1);
    await again.close();
    await rm(dir, { recursive: true });
  });

  test("leaves no heap of empty segments behind, however long it waits", async () => {
    disk.resize(8 * mebi);
    const dir = join(disk.path, "b");
    const journal = await openTestJournal(dir);
    await keep(journal);
    // Leaves space for heads but none for a batch.
    mkdirSync(join(disk.path, "ballast"));
    writeFileSync(join(disk.path, "ballast", "x"), Buffer.alloc(7 * mebi));
    const batch = Array.from({ length: 30 }, () => keep(journal, { payload: Buffer.alloc(100_000) }));
    await until(() => journal.stopped, { what: "a stop" });
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert.ok(readdirSync(dir).length <= 3, `${readdirSync(dir)}`);
    await rm(join(disk.path, "ballast"), { recursive: true });
    assert.equal(
      await Promise.all(batch),
      Array.from({ length: 30 }, (_, i) => i + 2),
    );
    assert.ok((await readdir(dir)).length <= 3);
    const firstIDs = journal.segments.map(({ firstID }) => firstID);
    assert.is(new Set(firstIDs).size, firstIDs.length, "no two segments begin with one id");
    assert.is((await readAll(journal)).length, 31);
    await journal.close();
    const again = await openTestJournal(dir);
    assert.is((await readAll(again)).length, 31);
    await again.close();
  });
});
