/** Imports within their bounds of memory, whatever names a file holds. */

import { createWriteStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSeriesRefs } from "../../../query/series-refs.js";
import { ApiError } from "../../../src/http/errors.js";
import { createHistoryGate } from "../../../src/import-export/points/gate.js";
import { readState } from "../../../src/import-export/points/kinds.js";
import { type HistoryFormat, importTargetsMax } from "../../../src/import-export/points/limits.js";
import { type ImportRun, type ImportState, runImport } from "../../../src/import-export/points/run-import.js";
import { createImportTargets } from "../../../src/import-export/points/targets.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import type { SeriesStore } from "../../../store/series/series.js";
import { assert, openTempDir, rejects, suite } from "../../suite.js";

const megabyte = 1 << 20;
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

suite("imports within their bounds", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
  });
  test.after(async () => {
    await db.close();
    await dir.close();
  });

  /** Imports rows of which none names a device. */
  async function importOf(
    format: HistoryFormat,
    lines: Iterable<string>,
    signal = new AbortController().signal,
    errorsRoom: ImportRun["errorsRoom"] = null,
    { timezone = "UTC", newest = Number.MAX_SAFE_INTEGER } = {},
  ): Promise<ImportState> {
    const path = join(dir.path, "rows");
    await pipeline(Readable.from(lines), createWriteStream(path));
    const nothing = async () => assert.unreachable("no row is good");
    const series = { flush: async () => undefined, writeBatch: nothing } as unknown as SeriesStore;
    return runImport(
      { db, series, refs: createSeriesRefs(), gate: createHistoryGate(), space: null },
      {
        file: { path, format },
        tenant: 1,
        timezone,
        from: null,
        errorsPath: join(dir.path, "errors.csv"),
        errorsRoom,
        signal,
        bounds: { earliest: earliestTime, oldest: 0, newest },
        saved: async () => undefined,
      },
    );
  }

  test("one that was begun with an abbreviated time zone goes on with the place that it meant", async () => {
    const rows = ["deviceID,dataPointID,time,value\n", "nobody,temp,2026-01-15 12:00:00,1\n"];
    // Noon in Chicago is 18:00 UTC, which lies beyond the newest time.
    const newest = Date.UTC(2026, 0, 15, 15) * 1000;
    const columnIn = async (timezone: string) => {
      const { errors } = await importOf("csv", rows, undefined, null, { timezone, newest });
      return errors.told.map(({ column }) => column);
    };
    assert.equal([await columnIn("UTC"), await columnIn("CST")], [["deviceID"], ["time"]]);
  });

  test("one that is stopped before its thread has begun ends", async () => {
    const rows = ["deviceID,dataPointID,time,value\n", "d,temp,1,1\n"];
    const stopping = new AbortController();
    stopping.abort();
    await rejects(() => importOf("csv", rows, stopping.signal), /abort/);
  });

  test("bad rows beyond the limit of their list are counted", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `nobody${i},temp,${1.6e9 + i},1\n`);
    let room = 200_000;
    const state = await importOf("csv", ["deviceID,dataPointID,time,value\n", ...rows], undefined, {
      grow: async (bytes) => {
        if (bytes > room) throw new ApiError("SERVICE_UNAVAILABLE", "the disk is too full for the file");
        room -= bytes;
      },
    });
    assert.is(state.errors.count, 20_000);
    const { size } = await stat(join(dir.path, "errors.csv"));
    assert.is(size, state.errors.bytes);
    assert.ok(size > 0 && size <= 200_000, `${size}`);
  });

  test("a state that is damaged, or gone, means from the beginning", async () => {
    const path = join(dir.path, "state.json");
    assert.is(await readState(path), null);
    for (const text of ["", '{"offset":12', "\0\0"]) {
      await writeFile(path, text);
      assert.is(await readState(path), null);
    }
  });

  test("names that were forgotten leave nothing behind", async () => {
    const targets = createImportTargets({
      db,
      refs: createSeriesRefs(),
      gate: createHistoryGate(),
      tenant: 1,
    });
    const resolve = (from: number) =>
      targets.resolve(
        Array.from({ length: 5000 }, (_, i) => ({ deviceID: `nobody-${from + i}`, dataPointID: "temp" })),
      );
    await resolve(0);
    targets.reset();
    const before = heapBytes();
    for (let from = 0; from < 400_000; from += 5000) {
      if (from % importTargetsMax === 0) targets.reset();
      await resolve(from);
    }
    targets.reset();
    const left = heapBytes() - before;
    assert.ok(left < 10 * megabyte, `${Math.round(left / megabyte)} MB`);
  });

  test("edits without end keep no look from ending; another tenant's make nobody look again", async () => {
    const gate = createHistoryGate();
    const edit = (tenant: number) => {
      const change = { id: 1, tenant, userIntID: null, username: null, at: 0, recordID: 1, detail: null };
      gate.changed({ ...change, action: "update", entity: "device" });
    };
    let edits: readonly number[] = [1, 2];
    let looks = 0;
    const all: Db["all"] = async (sql, args) => {
      const rows = await db.all(sql, args);
      looks++;
      for (const tenant of edits) edit(tenant);
      return rows as never;
    };
    const targets = createImportTargets({ db: { ...db, all }, refs: createSeriesRefs(), gate, tenant: 1 });
    assert.is((await targets.resolve([{ deviceID: "nobody", dataPointID: "temp" }])).length, 1);
    await targets.renew([0]);
    assert.is(looks, 2, "what changed during the first look is looked up again");
    edits = [2];
    await targets.renew([0]);
    await targets.renew([0]);
    assert.is(looks, 3);
  });

  test("many names of the greatest length are bad rows, each by itself", async () => {
    const count = 199_000;
    const name = (i: number) => String(i).padStart(64, "\u0416");
    const rows = function* () {
      yield "deviceID,dataPointID,time,value\n";
      for (let i = 0; i < count; i++) yield `${name(i)},${name(i + count)},1,1\n`;
    };
    const { stored, errors, line } = await importOf("csv", rows());
    assert.equal([stored, errors.count, line], [0, count, count + 2]);
  });

  test("names longer than any can be are bad rows, however many there are", async () => {
    const long = "x".repeat(500_000);
    const rows = function* (write: (deviceID: string, dataPointID: string) => string, header = "") {
      yield header;
      for (let i = 0; i < 150; i++) {
        yield write(`${i}${long}`, "temp");
        yield write("d", `${i}${long}`);
      }
    };
    const csv = rows(
      (device, point) => `${device},${point},1700000001,1\n`,
      "deviceID,dataPointID,time,value\n",
    );
    const json = rows(
      (deviceID, dataPointID) => `${JSON.stringify({ deviceID, dataPointID, time: 1.7e9, value: 1 })}\n`,
    );
    for (const [format, lines] of [
      ["csv", csv],
      ["ndjson", json],
    ] as const) {
      const { errors } = await importOf(format, lines);
      assert.is(errors.count, 300);
      assert.equal(
        errors.told.slice(0, 2).map(({ column }) => column),
        ["deviceID", "dataPointID"],
      );
    }
  });
});
