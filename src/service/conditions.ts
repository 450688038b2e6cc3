import type { Condition } from "../../ingest/watch/plan.js";
import { asStored, compileFormula } from "../../query/formula.js";

/** The data points of a saved condition may have gone since. */
export function compileCondition(text: string): Condition {
  const formula = compileFormula(text, new Set(), asStored);
  return { variables: formula.variables, evaluate: formula.row() };
}
