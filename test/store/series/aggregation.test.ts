import fc from "fast-check";
import { createAggregation } from "../../../store/series/aggregation.js";
import type { Aggregate } from "../../../store/series/series.js";
import { assert, suite } from "../../suite.js";

/** A window's points, each looked for in all: whole numbers, so that no sum is rounded. */
const naive: Readonly<Record<Aggregate, (values: readonly number[], before: number | undefined) => number>> =
  {
    count: (values) => values.length,
    sum: (values) => values.reduce((a, b) => a + b, 0),
    mean: (values) => values.reduce((a, b) => a + b, 0) / values.length,
    min: (values) => Math.min(...values),
    max: (values) => Math.max(...values),
    first: (values) => values[0] ?? 0,
    last: (values) => values.at(-1) ?? 0,
    increase: (values, before) =>
      values.reduce(
        ({ total, last }, value) => ({
          total: total + (last === undefined ? 0 : value < last ? value : value - last),
          last: value,
        }),
        { total: 0, last: before } as { total: number; last: number | undefined },
      ).total,
  };

const ascending = (max: number) =>
  fc
    .uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 0, maxLength: max })
    .map((all) => all.toSorted((a, b) => a - b));

suite("aggregation", (test) => {
  test("as each window's points say, whatever the pieces, the edges and the times", () => {
    const points = fc.record({
      times: ascending(300),
      seed: fc.integer({ min: 1, max: 1000 }),
      edges: ascending(60),
      cuts: fc.array(fc.nat(300), { maxLength: 4 }),
      aggregate: fc.constantFrom(...(Object.keys(naive) as Aggregate[])),
    });
    fc.assert(
      fc.property(points, ({ times, seed, edges, cuts, aggregate }) => {
        const values = times.map((time) => ((time * seed) % 97) - 40);
        const aggregation = createAggregation(edges, aggregate);
        const ends = [...cuts, 0, times.length].filter((at) => at <= times.length).sort((a, b) => a - b);
        // The store gives the point before the first edge apart from those of the windows.
        const inside = times.findIndex((time) => time >= (edges[0] ?? 0));
        const first = inside < 0 ? times.length : inside;
        const before = first > 0 ? values[first - 1] : undefined;
        if (before !== undefined) aggregation.startFrom(before);
        for (let i = 1; i < ends.length; i++) {
          const [from, to] = [ends[i - 1], ends[i]];
          aggregation.add(
            Float64Array.from(times.slice(from, to)),
            Float64Array.from(values.slice(from, to)),
          );
        }
        const expected = edges.slice(1).map((stop, w) => {
          const at = times.flatMap((time, i) => (time >= (edges[w] ?? 0) && time < stop ? [i] : []));
          const [one] = at;
          if (one === undefined) return null;
          return naive[aggregate](
            at.map((i) => values[i] ?? 0),
            values[one - 1],
          );
        });
        assert.equal(aggregation.result(), expected);
      }),
      { numRuns: 2000 },
    );
  });

  test("a sum keeps what a plain one loses", () => {
    const aggregation = createAggregation([0, 10, 20], "sum");
    aggregation.add(Float64Array.of(0, 1, 2), Float64Array.of(1e100, 1, -1e100));
    aggregation.add(Float64Array.of(3, 12), Float64Array.of(2, 5));
    assert.equal(aggregation.result(), [3, 5]);
  });
});
