import type { Condition } from "../../ingest/watch/plan.js";
import { compileFormula } from "../../query/formula.js";

/** The data points of a saved condition may have gone since. */
export function compileCondition(text: string): Condition {
  const formula = compileFormula(text, new Set(), { allowUnknown: true });
  return { variables: formula.variables, evaluate: formula.row() };
}
