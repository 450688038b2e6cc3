import { createReceipts } from "../../src/commands/receipts.js";
import { createLogger } from "../../src/observability/log.js";
import { openChangeFeed } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { assert, suite } from "../suite.js";

const log = createLogger("error", () => undefined, Date.now);
const turns = 20;
const immediate = () => new Promise((resolve) => setImmediate(resolve));

/** Runs `action` so many microtasks from now. */
async function after(microtasks: number, action: () => void): Promise<void> {
  for (let i = 0; i < microtasks; i++) await null;
  action();
}

suite("receipts that arrive while the last ones are written", (test) => {
  test("a receipt is stored, whichever moment it comes at", async () => {
    for (let gap = 0; gap < turns; gap++) {
      const stored = new Set<number>();
      let more = true;
      const write: Db["write"] = async (statements) => {
        for (const { args = [] } of statements) for (const id of (args[2] as number[]) ?? []) stored.add(id);
        if (more) void after(gap, () => receipts.add({ id: 2, groupLogIntID: null, publishStatus: 2 }));
        more = false;
        return [];
      };
      const receipts = createReceipts({ db: { write } as Db, log, now: () => 0 });
      receipts.add({ id: 1, groupLogIntID: null, publishStatus: 2 });
      for (let i = 0; i < 5; i++) await immediate();
      assert.equal([...stored], [1, 2], `${gap} microtasks later`);
      await receipts.close();
    }
  });

  test("a change is heard once the poll after it has ended, whichever moment it comes at", async () => {
    for (let gap = 0; gap < turns; gap++) {
      const rows: { id: number }[] = [];
      const heard: number[] = [];
      const all = async (_sql: string, [last = 0]: readonly unknown[] = []) =>
        rows.filter(({ id }) => id > Number(last));
      const lookUp: Db["lookUp"] = async ([statement]) => [await all("", statement?.args)];
      const db = { all, lookUp, first: async () => ({ id: 0 }), onWrite: () => undefined } as unknown as Db;
      const feed = await openChangeFeed(db, ({ id }) => void heard.push(id), 1000);
      rows.push({ id: 1 });
      const first = feed.poll();
      let second: Promise<void> | undefined;
      await after(gap, () => {
        rows.push({ id: 2 });
        second = feed.poll();
      });
      await second;
      assert.equal(heard, [1, 2], `${gap} microtasks later`);
      await first;
      feed.close();
    }
  });
});
