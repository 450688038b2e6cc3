import type { AppDeps } from "../../src/routes/deps.js";
import { newestSince } from "../../src/routes/live-replay.js";
import { StoreError } from "../../store/lib/errors.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import type { Columns, ReadRange, SeriesRef } from "../../store/series/series.js";
import { assert, rejects, suite } from "../suite.js";

type Deps = Pick<AppDeps, "catalog" | "series" | "refs">;
type Question = { readonly series: readonly SeriesRef[]; readonly range: ReadRange; readonly newest: number };

const numberType = 1;
const textType = 3;
const pointsOf = (count: number, pointDataType: number) =>
  Array.from({ length: count }, (_, n) => ({
    field: `f${pointDataType}.${n}`,
    dataPointID: `p${n}`,
    dataTransType: 1,
    pointDataType,
  }));

/** A store that remembers what it was asked, and answers `newest` points of each series. */
function storeOf(
  points: readonly object[],
  answer: (ref: SeriesRef, newest: number) => Columns | StoreError,
) {
  const questions: Question[] = [];
  const under = (signal: AbortSignal) => ({
    readNewest: async (series: readonly SeriesRef[], range: ReadRange, newest: number) => {
      if (signal.aborted) throw new StoreError("UNAVAILABLE", "cannot answer: the asker has left");
      questions.push({ series, range, newest });
      return series.map((ref) => answer(ref, newest));
    },
  });
  const deps = {
    catalog: { model: async () => ({ points }) },
    series: { under },
    refs: { of: (_: unknown, ref: object) => ref },
  } as unknown as Deps;
  return { deps, questions };
}

const device = {} as DeviceRef;
const stays = () => new AbortController().signal;
const full = ({ kind }: SeriesRef, newest: number, text = "x"): Columns => {
  const times = Float64Array.from({ length: newest }, (_, i) => i + 1);
  return kind === "text"
    ? { kind, times, values: Array.from(times, () => text) }
    : { kind, times, values: new Float64Array(newest) };
};

suite("events that a live feed gets from the store", (test) => {
  test("numbers are asked for in one question, texts some at a time, within the bounds together", async () => {
    const { deps, questions } = storeOf([...pointsOf(180, numberType), ...pointsOf(40, textType)], full);
    const { events, untold } = await newestSince(deps, device, 41, stays());
    assert.equal(untold, []);
    assert.equal(
      questions.map(({ series }) => [series.length, series[0]?.kind]),
      [
        [180, "number"],
        [16, "text"],
        [16, "text"],
        [8, "text"],
      ],
    );
    assert.ok(events.length <= 10_000 && events.length > 4000, `${events.length} events`);
    for (const { range } of questions) {
      assert.is(range.start, 42, "after what the client has seen");
      assert.ok((range.bytesMax ?? Number.POSITIVE_INFINITY) <= 1 << 20);
    }
    assert.ok(questions.every(({ newest }, i) => i === 0 || newest >= (questions[0]?.newest ?? 0)));
  });

  test("what most numbers leave of the bounds is for those that have more", async () => {
    const { deps, questions } = storeOf(pointsOf(180, numberType), (ref, newest) =>
      full(ref, ref.field.endsWith(".7") ? newest : 1),
    );
    const { events } = await newestSince(deps, device, 0, stays());
    assert.equal(
      questions.map(({ series }) => series.length),
      [180, 1],
    );
    assert.ok(events.length > 5000 && events.length <= 10_000, `${events.length} events`);
  });

  test("texts are bounded by their bytes, the newest is sent however long it is", async () => {
    const long = "x".repeat(60_000);
    const { deps } = storeOf(pointsOf(40, textType), (ref) => full(ref, 3, long));
    const { events } = await newestSince(deps, device, 0, stays());
    assert.is(events.length, 40);
    assert.ok(events.every(({ time }) => time === 3));
  });

  test("is asked for as long as somebody waits for it", async () => {
    const leaver = new AbortController();
    const { deps, questions } = storeOf(pointsOf(100, textType), (ref) => {
      if (questions.length === 3) leaver.abort();
      return full(ref, 1);
    });
    const error = await rejects(() => newestSince(deps, device, 0, leaver.signal), /left/);
    assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
    assert.is(questions.length, 3);
  });

  test("goes on without points that the store cannot read", async () => {
    const { deps } = storeOf(pointsOf(4, numberType), (ref, newest) =>
      ref.field.endsWith("2") ? new StoreError("MISMATCH", "held as text") : full(ref, Math.min(newest, 5)),
    );
    const { events, untold } = await newestSince(deps, device, 0, stays());
    assert.equal([events.length, untold], [15, ["held as text"]]);
  });
});
