/** The rules of an alert rule that is to be saved, or tried before. */
import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import { invalid } from "../http/errors.js";
import { codeField, integerField, name, textField } from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { checkFormula, getFormulaPoint } from "./formula-point.js";

export const fixed = ["productID", "productIntID"] as const;
const secondsMax = 30 * 86_400;

export const requiredRuleField = {
  alertName: name,
  dataPointIntID: integerField(1),
  condition: textField.min(1, "must not be empty"),
};
export const optionalRuleField = {
  alertContent: textField,
  alertSeverity: codeField(...listCodes("alertSeverity")),
  duration: integerField(0, secondsMax),
};

/** Returns the rule's data point. @throws ApiError PARAMETER_INVALID naming dataPointIntID or condition */
export async function checkRule(
  db: Db,
  tenant: number,
  { dataPointIntID, condition }: { readonly dataPointIntID: number; readonly condition: string },
  stored: string | null,
): Promise<DataPoint> {
  const point = await getFormulaPoint(db, tenant, dataPointIntID);
  try {
    await checkFormula(db, point, condition, stored);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw invalid({ condition: error.fields.expressions ?? error.message });
  }
  return point;
}
