/** Who waits for whom while a start looks for the message that the last ones have ended in. */
import { readFile } from "node:fs/promises";
import { createTroubles } from "../../src/observability/status.js";
import { folderCrashMarks } from "../../src/service/crash-marks.js";
import { createDeadLetters, type DeadLetterManager } from "../../src/service/dead-letters.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { idsPerShard } from "../../store/journal/shard-ids.js";
import { noWork, openWorkMark, readWork } from "../../store/journal/work-mark.js";
import { earliestTime } from "../../store/lib/time-range.js";
import { assert, suite, withTempDir } from "../suite.js";

const unused = () => undefined;

async function withKeeper(
  body: (keeper: DeadLetterManager, place: { number: number; dir: string }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (dataDir) => {
    const mark = openWorkMark(`${dataDir}/work/series.json`);
    await mark.write({ work: { after: 4, through: 5 }, suspect: null });
    mark.close();
    await body(
      createDeadLetters({
        marks: await folderCrashMarks(dataDir),
        config: { timezone: "UTC", oldestTime: earliestTime },
        db: {} as never,
        oldest: () => 0,
        log: { debug: unused, info: unused, warn: unused, error: unused },
        troubles: createTroubles(),
        now: Date.now,
      }),
      { number: 0, dir: dataDir },
    );
  });
}

const record = (id: number) => ({ id }) as JournalRecord;

suite("followers of the journal while one goes record by record", (test) => {
  test("the alerts wait until the series consumer has started and is through what it suspects", () =>
    withKeeper(async (keeper, place) => {
      const alerts = keeper.narrow(place, "alerts")(0, 10);
      assert.not.ok(alerts.pass(1, 0), "nobody knows yet what the series consumer suspects");
      let entered = false;
      const entering = alerts
        .enter(record(1), async () => undefined)
        .then(() => {
          entered = true;
        });
      const series = keeper.narrow(place, "series")(0, 10);
      for (let id = 1; id <= 4; id++) assert.ok(series.pass(id, id - 1));
      assert.not.ok(series.pass(5, 4), "what the last start has ended in");
      assert.ok(await series.enter(record(5), async () => undefined));
      assert.not.ok(entered);
      assert.not.ok(series.pass(6, 4), "not before it is settled");
      assert.ok(await series.enter(record(6), async () => undefined));
      await entering;
      assert.ok(alerts.pass(1, 0));
      for (const one of [series, alerts]) await one.close();
    }));

  test("what the start has appended itself is not suspected, nor are ids of other shards", () =>
    withKeeper(async (keeper, { dir }) => {
      const number = 3;
      const first = number * idsPerShard + 1;
      const shard = { number, dir, earlier: { lastID: first + 5 } };
      // It has settled nothing yet, and the start has appended two records.
      const series = keeper.narrow(shard, "series")(0, first + 7);
      assert.ok(series.pass(first, 0));
      const noted = readWork(await readFile(`${dir}/work/series.json`, "utf8"));
      assert.equal(noted.work, { after: first - 1, through: first + 5 });
      series.settled(first + 5);
      assert.ok(series.pass(first + 6, first + 5));
      assert.equal(readWork(await readFile(`${dir}/work/series.json`, "utf8")), noWork);
      await series.close();
    }));

  test("a series consumer that waits for its store holds up nobody", () =>
    withKeeper(async (keeper, place) => {
      const series = keeper.narrow(place, "series")(0, 10);
      const alerts = keeper.narrow(place, "alerts")(0, 10);
      assert.not.ok(alerts.pass(1, 0));
      keeper.letOthersOn(place.number);
      assert.ok(alerts.pass(1, 0));
      for (const one of [series, alerts]) await one.close();
    }));
});
