import { createComputing } from "../../../query/formula/computing.js";
import { compileFormula, storedFormulaOptions } from "../../../query/formula/formula.js";
import { evaluateAt, lastGivenBefore } from "../../../query/formula-series.js";
import { StoreError } from "../../../store/lib/errors.js";
import type { SeriesRef, SeriesStore } from "../../../store/series/series.js";
import { assert, suite } from "../../suite.js";

const series = { kind: "number", device: 1, field: "x" } as unknown as SeriesRef;
const nothingToRead = {} as SeriesStore;
const columns = (count: number) => ({
  times: Float64Array.from({ length: count }, (_, i) => i),
  values: Float64Array.from({ length: count }, (_, i) => i + 0.5),
});

function bound(text: string, spend: (ms: number) => void = () => undefined) {
  const formula = compileFormula(text, new Set(), storedFormulaOptions);
  return { formula, others: new Map<string, SeriesRef>(), computing: { spend } };
}

async function refusal(work: Promise<unknown>): Promise<StoreError> {
  const error = await work.then(() => undefined).catch((error: unknown) => error);
  assert.instance(error, StoreError);
  return error as StoreError;
}

suite("formulas over series", (test) => {
  test("heavy formulas are computed in more steps, each of them counted; the values are those of one", async () => {
    const own = columns(40_000);
    for (const [text, stepsLeast] of [
      ["dataPoint + 1", 7],
      [Array(33).fill("floor(dataPoint,15)").join("+"), 500],
    ] as const) {
      let steps = 0;
      const whole = bound(text, () => steps++);
      const { values, errors } = await evaluateAt(nothingToRead, whole, own, Number.NaN);
      assert.ok(steps >= stepsLeast, `${text}: ${steps} steps`);
      const wanted = whole.formula.evaluate(40_000, { dataPoint: own.values });
      assert.equal([values, errors], [wanted.values, wanted.errors]);
    }
  });

  test("an answer whose formulas have used up their time ends with the name of the bound", async () => {
    const computing = createComputing(0.02);
    computing.spend(19);
    const formula = { ...bound(Array(30).fill("dataPoint^1.1").join("+")), computing };
    const error = await refusal(evaluateAt(nothingToRead, formula, columns(1_000_000), Number.NaN));
    assert.is(error.code, "LIMIT");
    assert.match(error.fields.limit ?? "", /^the formulas of an answer compute for 0.02 s at most/);
  });

  test("the search for a value before the range ends with that time too", async () => {
    let reads = 0;
    const endless = {
      read: async (_series: SeriesRef, { newest = 0 }: { newest?: number }) => {
        reads++;
        return { kind: "number", ...columns(newest) };
      },
    } as unknown as SeriesStore;
    const formula = { ...bound("dataPoint < 0 ? 1 : null"), computing: createComputing(0.1) };
    assert.is((await refusal(lastGivenBefore(endless, formula, series, 1e9))).code, "LIMIT");
    assert.ok(reads > 1, `${reads} reads`);
  });
});
