import { compile } from "mathjs/number";
import { compileFormula } from "../../query/formula/formula.js";
import { computeColumn } from "../../store/series/arithmetic.js";
import { percentileOf } from "../load/histogram.js";
import { valueAt } from "../load/history.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";

const fahrenheit = "(dataPoint - 32) * 5 / 9";
const others = [
  "dataPoint - lastValue",
  "round(dataPoint * 1.8 + 32, 1)",
  "dataPoint > 20 ? sqrt(dataPoint) : dataPoint ^ 2",
] as const;
const baseline = `${fahrenheit}, bare mathjs`;
const rows = 1_000_000;

/** Values a second of formulas over columns; mathjs, compiled, a scope a value is what they are measured against. */
export async function benchFormula({ rounds }: BenchOptions): Promise<Figure[]> {
  const values = Float64Array.from({ length: rows }, (_, i) => valueAt(i * 60_000));
  const figures: Figure[] = [];
  const measure = (name: string, work: () => number, against?: string) => {
    progress(`formula: ${name}`);
    const times = Array.from({ length: rounds + 1 }, () => timed(work)).slice(1);
    const value = rows / percentileOf(times, 0.5);
    figures.push({ name, value, unit: "values/s", ...(against === undefined ? {} : { baseline: against }) });
  };
  measure(baseline, () => bare(values));
  for (const text of [fahrenheit, ...others]) {
    const formula = compileFormula(text, new Set());
    const inputs = { dataPoint: values, lastValue: shifted(values) };
    measure(`${text}, columns`, () => last(formula.evaluate(rows, inputs).values), baseline);
    const { arithmetic } = formula;
    if (arithmetic !== null) {
      measure(`${text}, in the store`, () => last(computeColumn(arithmetic, values)), baseline);
    }
  }
  return figures;
}

function bare(values: Float64Array): number {
  const formula = compile(fahrenheit);
  const scope = { dataPoint: 0 };
  const out = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    scope.dataPoint = values[i] ?? 0;
    out[i] = formula.evaluate(scope) as number;
  }
  return last(out);
}

function shifted(values: Float64Array): Float64Array {
  const moved = new Float64Array(values.length);
  moved.set(values.subarray(0, -1), 1);
  return moved;
}

const last = (values: Float64Array): number => values.at(-1) ?? Number.NaN;

/** Seconds. */
function timed(work: () => number): number {
  const started = performance.now();
  // What nobody uses would not be computed.
  if (Number.isNaN(work())) throw new Error("the formula gave no number");
  return (performance.now() - started) / 1000;
}
