import { join } from "node:path";
import { openUnreleased, type Unreleased } from "../../ingest/unreleased.js";
import { type Db, openDb } from "../../store/db.js";
import type { Journal } from "../../store/journal.js";
import { recordKinds } from "../../store/journal-record.js";
import { keep, openTestJournal } from "../store/journal-support.js";
import { assert, suite, withTempDir } from "../suite.js";

interface Opened {
  readonly db: Db;
  readonly journal: Journal;
  readonly unreleased: Unreleased;
  close(): Promise<void>;
}

async function open(dir: string): Promise<Opened> {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
  const journal = await openTestJournal(join(dir, "journal"));
  const unreleased = await openUnreleased(db, journal, 0);
  const close = async (): Promise<void> => {
    await journal.close();
    db.close();
  };
  return { db, journal, unreleased, close };
}

const device = 7;
const session = 5;
const own = { device, session } as const;

/** What a transport does at PUBLISH and at PUBREL, waiting for the disk. */
async function publish({ journal, unreleased }: Opened, messageID: number): Promise<void> {
  const ids = unreleased.of(device, session);
  ids.set(messageID, "pending");
  unreleased.touch(device, session);
  await keep(journal, { ...own, qos: 2, messageID });
  ids.set(messageID, "kept");
}

async function release({ journal, unreleased }: Opened, messageID: number): Promise<void> {
  await keep(journal, { ...own, kind: recordKinds.release, messageID });
  unreleased.of(device, session).delete(messageID);
  unreleased.touch(device, session);
}

const idsOf = ({ unreleased }: Opened): [number, string][] =>
  [...unreleased.of(device, session)].sort(([a], [b]) => a - b);

suite("unreleased QoS 2 messages", (test) => {
  for (const saved of ["never", "before", "after", "between"] as const) {
    test(`come back after a kill, their state saved ${saved}`, async () => {
      await withTempDir(async (dir) => {
        const first = await open(dir);
        if (saved === "before") await first.unreleased.save();
        await publish(first, 1);
        await publish(first, 2);
        if (saved === "between") await first.unreleased.save();
        await release(first, 1);
        await publish(first, 3);
        if (saved === "after") await first.unreleased.save();
        await first.close();
        const second = await open(dir);
        assert.equal(idsOf(second), [
          [2, "inherited"],
          [3, "inherited"],
        ]);
        await second.close();
      });
    });
  }

  test("a clean session begins with none, also after a kill", async () => {
    await withTempDir(async (dir) => {
      const first = await open(dir);
      await publish(first, 1);
      await first.unreleased.save();
      await keep(first.journal, { ...own, kind: recordKinds.connect, flag: true });
      await first.close();
      const second = await open(dir);
      assert.equal(idsOf(second), []);
      await publish(second, 2);
      second.unreleased.clear(device, session);
      assert.equal(idsOf(second), []);
      await second.close();
    });
  });

  test("one that is not on disk stays pending for the next connection", async () => {
    await withTempDir(async (dir) => {
      const opened = await open(dir);
      await publish(opened, 1);
      opened.unreleased.of(device, session).set(2, "pending");
      opened.unreleased.inherit(device, session);
      assert.equal(idsOf(opened), [
        [1, "inherited"],
        [2, "pending"],
      ]);
      await opened.close();
    });
  });

  test("other sessions and QoS 1 leave it alone", async () => {
    await withTempDir(async (dir) => {
      const first = await open(dir);
      await publish(first, 1);
      await keep(first.journal, { device, session: 6, kind: recordKinds.release, messageID: 1, qos: 0 });
      await keep(first.journal, { device: 8, session, kind: recordKinds.connect, flag: true, qos: 0 });
      await keep(first.journal, { ...own, qos: 1, messageID: 9 });
      await first.close();
      const second = await open(dir);
      assert.equal(idsOf(second), [[1, "inherited"]]);
      await second.close();
    });
  });
});
