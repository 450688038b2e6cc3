import type { CompileCondition } from "../../ingest/alerts/compiled-rules.js";
import { asStored, memoizeFormula } from "../../query/formula/formula.js";

/** Plans are made anew when the metadata change: what was compiled for the last one serves the next. */
const rememberedMax = 2000;

/** The data points of a saved condition may have gone since. */
export function createConditions(): CompileCondition {
  const compile = memoizeFormula(rememberedMax);
  return (text) => {
    const { variables, weight, row } = compile(text, new Set(), asStored);
    return { variables, weight, evaluate: row() };
  };
}
