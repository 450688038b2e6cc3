import { compileFormula, storedFormulaOptions } from "../../query/formula/formula.js";
import { constantNames } from "../../query/formula/parse.js";
import { forEachInSlices } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  endFormulaNotice,
  formulasBesidePoints,
  isFormulaNoticeDue,
} from "../../store/metadata/products/formulas-by-name.js";
import type { Logger } from "../observability/log.js";

/**
 * Earlier versions took `e`, `pi`, `tau`, `true`, `false` and `null` for the constants, also beside a data point of
 * that name. The first start of this one logs each stored formula that means another thing by it, so that its owner can
 * look at it.
 */
export async function logChangedFormulas(db: Db, log: Pick<Logger, "warn">): Promise<void> {
  if (!(await isFormulaNoticeDue(db))) return;
  await forEachInSlices(await formulasBesidePoints(db, constantNames), ({ dataPointIDs, ...formula }) => {
    const names = meant(formula.formula, new Set(dataPointIDs));
    if (names.length === 0) return;
    log.warn(
      "a formula means the data point of its product where it meant the constant of that name before",
      {
        ...formula,
        names,
      },
    );
  });
  await endFormulaNotice(db);
}

/** The data points, named like constants, that the formula names; none of one that no longer compiles. */
function meant(formula: string, dataPointIDs: ReadonlySet<string>): readonly string[] {
  try {
    return compileFormula(formula, dataPointIDs, storedFormulaOptions).variables.filter((name) =>
      dataPointIDs.has(name),
    );
  } catch {
    return [];
  }
}
