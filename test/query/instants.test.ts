import fc from "fast-check";
import { eachInstant } from "../../query/instants.js";
import type { ReadRange, SeriesReader, SeriesRef } from "../../store/series/series.js";
import { assert, suite } from "../suite.js";

type Points = readonly (readonly [time: number, value: number])[];

/** Reads the oldest points of a range, as the engines do, and counts how many were asked for at once. */
function storeOf(all: ReadonlyMap<SeriesRef, Points>, asked: number[] = []): SeriesReader {
  const read = async (series: SeriesRef, { start = 0, stop = 0, oldest = 0 }: ReadRange) => {
    asked.push(oldest);
    const some = (all.get(series) ?? []).filter(([time]) => time >= start && time < stop).slice(0, oldest);
    const column = (at: 0 | 1) => Float64Array.from(some, (point) => point[at]);
    return { kind: "number", times: column(0), values: column(1) } as const;
  };
  return { read } as unknown as SeriesReader;
}

const refOf = (field: string): SeriesRef => ({
  tenant: 1,
  productID: "p",
  deviceID: "d",
  field,
  kind: "number",
});

suite("several series as one sequence", (test) => {
  const column = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40 });

  test("each time comes once, ascending, with all that lies there", async () => {
    const property = fc.asyncProperty(
      fc.array(column, { maxLength: 5 }),
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 1, max: 80 }),
      async (columns, start, pointsMax) => {
        const series = columns.map((_, i) => refOf(`f${i}`));
        const points = columns.map((times, i) =>
          times.toSorted((a, b) => a - b).map((time) => [time, time * 10 + i] as const),
        );
        const store = storeOf(new Map(series.map((one, i) => [one, points[i] ?? []])));
        const seen: (readonly [number, ...number[]])[] = [];
        const told = await eachInstant({
          store,
          series,
          range: { start, stop: 55 },
          pointsMax,
          visit: (time, at, values) => {
            assert.equal(
              values,
              at.map((i) => time * 10 + i),
            );
            seen.push([time, ...at]);
            return true;
          },
          spend: () => undefined,
        });
        const all = [...Array(55).keys()]
          .filter((time) => time >= start)
          .map((time) => [time, ...columns.flatMap((times, i) => (times.includes(time) ? [i] : []))] as const)
          .filter((one) => one.length > 1);
        let room = pointsMax;
        const fit = all.findIndex((one) => {
          room -= one.length - 1;
          return room < 0;
        });
        const wanted = fit < 0 ? all : all.slice(0, fit);
        assert.equal(seen, wanted);
        assert.equal(told, {
          points: wanted.reduce((sum, one) => sum + one.length - 1, 0),
          leftFrom: fit < 0 ? null : (all[fit]?.[0] ?? null),
        });
      },
    );
    await fc.assert(property);
  });

  test("long series are read in pieces, of all together so many points as one would have", async () => {
    const [a, b] = [refOf("a"), refOf("b")];
    const many = Array.from({ length: 120_000 }, (_, i) => [i, i] as const);
    const asked: number[] = [];
    let seen = 0;
    const told = await eachInstant({
      store: storeOf(new Map([[a, many]]), asked),
      series: [a, b],
      range: { start: 0, stop: 1e6 },
      pointsMax: 1e6,
      visit: () => {
        seen++;
        return true;
      },
      spend: () => undefined,
    });
    assert.equal([seen, told], [120_000, { points: 120_000, leftFrom: null }]);
    assert.equal(asked, [50_000, 50_000, 50_000, 50_000]);
  });

  test("who has seen enough, or has computed for too long, ends it", async () => {
    const a = refOf("a");
    const points = Array.from({ length: 10 }, (_, i) => [i, i] as const);
    const query = {
      store: storeOf(new Map([[a, points]])),
      series: [a],
      range: { start: 0, stop: 100 },
      pointsMax: 100,
      visit: (time: number) => time < 4,
      spend: () => undefined,
    };
    assert.is((await eachInstant(query)).leftFrom, 4);
    const spend = () => {
      throw new Error("too long");
    };
    assert.match(String(await eachInstant({ ...query, spend }).catch((error: unknown) => error)), /too long/);
  });
});
