import { redecode } from "../../../ingest/consumers/redecode.js";
import type { EventLog } from "../../../store/events/events.js";
import type { JournalRecord } from "../../../store/journal/record.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import type { Point, RefusedPoint, SeriesStore } from "../../../store/series/series.js";
import { assert, suite } from "../../suite.js";
import { testDevice } from "../decode/device.js";

suite("decoding again", (test) => {
  test("points that the store will never take are reported as refused and not counted as stored", async () => {
    const payloads = [1, 2, 3].map((temp) => Buffer.from(JSON.stringify({ time: 9.6e8 + temp, temp })));
    const events = {
      kept: async function* () {
        for (const payload of payloads) {
          const message = { kind: recordKinds.uplink, refused: false, topic: "data", details: null, payload };
          yield { ...message, receivedAt: 1e15, stamp: 1e15 } as unknown as JournalRecord;
        }
      },
    } as unknown as EventLog;
    const series = {
      read: async () => ({ kind: "number", times: new Float64Array(), values: new Float64Array() }),
      write: async (points: readonly Point[]): Promise<RefusedPoint[]> =>
        points.filter(({ value }) => value === 2).map((point) => ({ point, reason: "another type" })),
      flush: async () => undefined,
    } as unknown as SeriesStore;
    const refused: RefusedPoint[] = [];
    const counts = await redecode({
      events,
      series,
      device: testDevice(),
      start: 0,
      stop: 2e15,
      rules: () => ({ local: () => null, earliest: earliestTime, oldest: 0 }),
      guarded: (points, write) => write(points),
      refused: async (points) => void refused.push(...points),
      reached: async () => undefined,
      isAside: () => false,
      dryRun: false,
      onFailed: ({ error }) => {
        throw error;
      },
      signal: new AbortController().signal,
    });
    assert.equal(
      { ...counts, refused: [...counts.refused] },
      { messages: 3, points: 2, changed: 0, unchanged: 0, refused: [] },
    );
    assert.equal(
      refused.map(({ point, reason }) => [point.value, reason]),
      [[2, "another type"]],
    );
  });
});
