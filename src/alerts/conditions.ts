import type { CompileCondition } from "../../ingest/alerts/compiled-rules.js";
import { memoizeFormula, storedFormulaOptions } from "../../query/formula/formula.js";

/** Rules are compiled again whenever the metadata change; conditions compiled earlier are reused. */
const rememberedMax = 2000;

/** The data points of a saved condition may have been deleted since. */
export function createConditions(): CompileCondition {
  const compile = memoizeFormula(rememberedMax);
  return (text, dataPointIDs) => {
    const { variables, weight, row } = compile(text, dataPointIDs, storedFormulaOptions);
    return { variables, weight, evaluate: row() };
  };
}
