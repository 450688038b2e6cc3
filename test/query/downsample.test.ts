import fc from "fast-check";
import { downsample, thin } from "../../query/downsample.js";
import { createExtremes } from "../../store/series/extremes.js";
import type { Columns, SeriesStore } from "../../store/series/series.js";
import { assert, suite } from "../suite.js";

function columns(pairs: readonly (readonly [number, number])[]): Columns {
  return {
    kind: "number",
    times: Float64Array.from(pairs, ([time]) => time),
    values: Float64Array.from(pairs, ([, value]) => value),
  };
}

/** Largest-Triangle-Three-Buckets as its author's thesis has it, written down plainly. */
function plainLttb(
  pairs: readonly (readonly [number, number])[],
  wanted: number,
): (readonly [number, number])[] {
  if (pairs.length <= wanted) return [...pairs];
  if (wanted === 2) return [...pairs.slice(0, 1), ...pairs.slice(-1)];
  const at = (i: number) => pairs[i] ?? ([0, 0] as const);
  const every = (pairs.length - 2) / (wanted - 2);
  const sampled = [at(0)];
  let a = 0;
  for (let i = 0; i < wanted - 2; i++) {
    const from = Math.floor((i + 1) * every) + 1;
    const to = Math.min(Math.floor((i + 2) * every) + 1, pairs.length);
    const next = pairs.slice(from, to);
    const avg = [0, 1].map((k) => next.reduce((sum, one) => sum + (one[k] ?? 0), 0) / next.length);
    let best = -1;
    let found = 0;
    for (let j = Math.floor(i * every) + 1; j < Math.floor((i + 1) * every) + 1; j++) {
      const [ax, ay] = at(a);
      const [x, y] = at(j);
      const area = Math.abs((ax - (avg[0] ?? 0)) * (y - ay) - (ax - x) * ((avg[1] ?? 0) - ay)) / 2;
      if (area > best) {
        best = area;
        found = j;
      }
    }
    sampled.push(at(found));
    a = found;
  }
  return [...sampled, at(pairs.length - 1)];
}

/** The first, the last, and the earliest of the lowest and of the highest. */
function endsAndExtremes(pairs: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const byValue = pairs.toSorted(([ta, a], [tb, b]) => a - b || ta - tb);
  const highest = byValue.find(([, value]) => value === byValue.at(-1)?.[1]);
  return [pairs[0], pairs.at(-1), byValue[0], highest].filter((one) => one !== undefined);
}

suite("downsampling to a line", (test) => {
  const pointsArbitrary = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: -100, max: 100 })), { maxLength: 200 })
    .map((steps) => {
      let time = 0;
      return steps.map(([step, value]): readonly [number, number] => {
        time += step;
        return [time, value];
      });
    });

  test("are those of the algorithm's own description, between the points that must stay", () => {
    fc.assert(
      fc.property(pointsArbitrary, fc.integer({ min: 3, max: 60 }), (pairs, wanted) => {
        const { times, values } = thin(columns(pairs), wanted);
        const kept = [...times].map((time, i): [number, number] => [time, Number(values[i])]);
        const fixed = wanted === 3 ? [pairs[0], pairs.at(-1)] : endsAndExtremes(pairs);
        const marks = [...new Set(fixed.map((one) => one?.[0] ?? 0))].sort((a, b) => a - b);
        for (const [i, to] of marks.entries()) {
          const from = marks[i - 1] ?? to;
          const within = ([time]: readonly [number, number]) => from <= time && time <= to;
          const [all, some] = [pairs.filter(within), kept.filter(within)];
          assert.equal(some, plainLttb(all, some.length));
          const share = ((all.length - 2) * (wanted - marks.length)) / (pairs.length - marks.length);
          if (from < to && pairs.length > wanted) assert.ok(Math.abs(some.length - 2 - share) < 1);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("hold the lowest and the highest from four on", () => {
    fc.assert(
      fc.property(pointsArbitrary, fc.integer({ min: 4, max: 60 }), (pairs, wanted) => {
        const { times, values } = thin(columns(pairs), wanted);
        const kept = new Map([...times].map((time, i) => [time, values[i]]));
        for (const one of endsAndExtremes(pairs)) assert.is(kept.get(one[0]), one[1]);
      }),
      { numRuns: 500 },
    );
  });

  test("are at most as many, ascending, the ends among them, and all of them points of the line", () => {
    fc.assert(
      fc.property(pointsArbitrary, fc.integer({ min: 3, max: 60 }), (pairs, wanted) => {
        const { times, values } = thin(columns(pairs), wanted);
        assert.is(times.length, Math.min(wanted, pairs.length));
        const known = new Map(pairs);
        assert.ok(
          [...times].every((time, i) => known.get(time) === values[i] && time > (times[i - 1] ?? -1)),
        );
        assert.equal([times[0], times.at(-1)], [pairs[0]?.[0], pairs.at(-1)?.[0]]);
      }),
    );
  });

  test("of text are evenly spaced", () => {
    const texts = Array.from({ length: 11 }, (_, i) => `t${i}`);
    const all: Columns = { kind: "text", times: Float64Array.from(texts, (_, i) => i), values: texts };
    assert.equal(thin(all, 3).values, ["t0", "t5", "t10"]);
  });

  test("of very many keep every peak that is wider than zero, and read no point twice", async () => {
    const count = 200_000;
    const pairs = Array.from({ length: count }, (_, i): [number, number] => [i * 1000, Math.sin(i / 9_000)]);
    // One point each: a chart that loses it lies.
    for (const [at, value] of [
      [77_777, 50],
      [123_456, -40],
    ] as const) {
      (pairs[at] as [number, number])[1] = value;
    }
    const all = columns(pairs) as Extract<Columns, { kind: "number" | "boolean" }>;
    const asked: string[] = [];
    const store = {
      read: async (_: unknown, range: { oldest?: number; newest?: number }) => {
        asked.push(Object.keys(range).join());
        const at = range.oldest === undefined ? count - 1 : 0;
        return columns([pairs[at] as [number, number]]);
      },
      extremes: async ({ width }: { width: number }) => {
        const thinned = createExtremes(width);
        thinned.add(all.times, all.values);
        return { kind: "number", ...thinned.result() } as const;
      },
    } as unknown as SeriesStore;
    const series = { tenant: 1, productID: "p", deviceID: "d", field: "f", kind: "number" } as const;
    const { times, values } = await downsample(store, series, {}, 500);
    assert.is(times.length, 500);
    assert.ok([...values].includes(50) && [...values].includes(-40));
    assert.equal(asked, ["oldest", "newest"]);
  });
});
