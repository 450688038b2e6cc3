import fc from "fast-check";
import { createBacktest } from "../../../ingest/alerts/backtest.js";
import { createConditions } from "../../../src/alerts/conditions.js";
import type { DataPoint } from "../../../store/metadata/products/data-points.js";
import { assert, suite } from "../../suite.js";

const point = (id: number, fields: Partial<DataPoint> = {}) =>
  ({
    id,
    dataPointID: `p${id}`,
    dataPointName: `p${id}`,
    pointDataType: 1,
    faultValue: null,
    upperLimit: null,
    lowerLimit: null,
    isLocationType: 0,
    locationType: null,
    ...fields,
  }) as unknown as DataPoint;

interface Span {
  startTime: number;
  endTime: number | null;
  alertTimes: number;
  firstValue: number | null;
}

const second = 1e6;
const compile = createConditions();
const points = [point(1, { upperLimit: 2 }), point(2), point(3)];

suite("rules tried on what is stored", (test) => {
  test("an alert begins where a walk through all values says, lasts as long, and counts each time", async () => {
    const value = fc.integer({ min: 0, max: 9 });
    const property = fc.asyncProperty(
      fc.array(
        fc.record({ gap: fc.integer({ min: 1, max: 30 }), a: fc.option(value), b: fc.option(value) }),
        {
          maxLength: 40,
        },
      ),
      fc.constantFrom(0, 5, 40),
      async (steps, duration) => {
        const rule = { dataPointIntID: 1, condition: "dataPoint > 4 and p2 < 7", duration };
        const backtest = await createBacktest(rule, points, compile);
        assert.equal([...backtest.operands].sort(), [1, 2]);
        const wanted: Span[] = [];
        let time = 1000;
        let a: number | null = null;
        let b: number | null = null;
        let trueSince: number | null = null;
        let open: Span | null = null;
        for (const step of steps) {
          time += step.gap;
          if (step.a === null && step.b === null) continue;
          const given = [[1, step.a] as const, [2, step.b] as const].flatMap(([id, own]) =>
            own === null ? [] : [[id, own] as const],
          );
          backtest.take(
            time * second,
            given.map(([id]) => id),
            given.map(([, own]) => own),
          );
          a = step.a ?? a;
          b = step.b ?? b;
          // What has not been heard makes a comparison null; false and null is false.
          const parts = [a === null ? null : a > 4, b === null ? null : b < 7];
          const holds = parts.includes(false) ? false : parts.includes(null) ? null : true;
          if (holds === null) continue;
          if (!holds) {
            trueSince = null;
            if (open !== null) open.endTime = time * 1000;
            open = null;
            continue;
          }
          trueSince ??= time;
          if (time - trueSince < duration) continue;
          if (open === null) {
            const begun: Span = { startTime: time * 1000, endTime: null, alertTimes: 1, firstValue: a };
            wanted.push(begun);
            open = begun;
          } else open.alertTimes++;
        }
        assert.equal(backtest.spans(), wanted);
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });

  test("what came before is known, and raises nothing by itself", async () => {
    const rule = { dataPointIntID: 1, condition: "dataPoint - lastValue >= 5 and p2 == 1", duration: 0 };
    const backtest = await createBacktest(rule, points, compile);
    backtest.seed(1, [
      { time: 1, value: 100 },
      { time: 2, value: 1 },
    ]);
    backtest.seed(2, [{ time: 2, value: 1 }]);
    backtest.seed(3, []);
    assert.is(backtest.count, 0);
    backtest.take(second, [1], [6]);
    backtest.take(2 * second, [1], [7]);
    assert.equal(backtest.spans(), [{ startTime: 1000, endTime: 2000, alertTimes: 1, firstValue: 6 }]);
  });

  test("limits of the data point raise nothing here; a condition of nothing is never looked at", async () => {
    const never = await createBacktest(
      { dataPointIntID: 1, condition: "dataPoint > 100", duration: 0 },
      points,
      compile,
    );
    never.take(second, [1], [50]);
    assert.equal(never.spans(), []);
    const constant = await createBacktest(
      { dataPointIntID: 1, condition: "1 > 0", duration: 0 },
      points,
      compile,
    );
    assert.equal([constant.operands, constant.spans()], [[], []]);
  });
});
