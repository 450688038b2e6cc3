/** The values of a formula over a long range, thinned to those that a line shows. */
import { createExtremes } from "../store/series/extremes.js";
import type { SeriesReader, SeriesRef } from "../store/series/series.js";
import { bucketWidth, findSpan, isShort, thin } from "./downsample.js";
import { type DeviceFormula, type FormulaValues, formulaPieces, givenValues } from "./formula-series.js";
import type { Range } from "./range.js";

/**
 * At most `maxPoints` values, chosen as `downsample` chooses points: LTTB over all of them or, if there are many, over
 * the lowest and highest of equal spans of time. Every point of the range is evaluated. @throws StoreError LIMIT
 */
export async function thinnedFormula(
  store: SeriesReader,
  series: SeriesRef,
  deviceFormula: DeviceFormula,
  range: Pick<Range, "start" | "stop">,
  maxPoints: number,
): Promise<FormulaValues> {
  const span = await findSpan(store, series, range);
  if (span === null) return { times: new Float64Array(), values: new Float64Array(), errors: 0 };
  const isWhole = await isShort(store, series, span);
  const extremes = createExtremes(bucketWidth(span, maxPoints));
  let errors = 0;
  for await (const piece of formulaPieces(store, deviceFormula, series, span)) {
    // So few that one read has brought them.
    if (isWhole) return thinFormula(piece, maxPoints);
    const { times, values } = givenValues(piece);
    extremes.add(times, values);
    errors += piece.errors;
  }
  return thinFormula({ ...extremes.result(), errors }, maxPoints);
}

/** Values at at most `maxPoints` times. Where some are left out, points at which the formula is null are. */
export function thinFormula(found: FormulaValues, maxPoints: number): FormulaValues {
  if (found.times.length <= maxPoints) return found;
  const { times, values } = thin({ kind: "number", ...givenValues(found) }, maxPoints);
  return { times, values: values as Float64Array, errors: found.errors };
}
