import { compileFormula } from "../../query/formula/formula.js";
import { ifNotFound } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  type DataPoint,
  getDataPoint,
  listProductDataPoints,
  toSeriesKind,
} from "../../store/metadata/products/data-points.js";
import { invalid } from "../http/errors.js";

/** A data point that formulas can use. @throws ApiError PARAMETER_INVALID naming dataPointIntID */
export async function getFormulaPoint(db: Db, tenant: number, id: number): Promise<DataPoint> {
  const point = await getDataPoint(db, tenant, id).catch(ifNotFound(undefined));
  if (point === undefined) throw invalid({ dataPointIntID: "there is no such data point" });
  if (toSeriesKind(point.pointDataType) === "text") {
    throw invalid({ dataPointIntID: "must be a data point of a number or boolean type" });
  }
  return point;
}

/**
 * The formula may name the data points of the point's product. An unchanged `stored` formula may weigh as
 * much as when it was saved. @throws StoreError naming expressions
 */
export async function checkFormula(
  db: Db,
  { productIntID }: DataPoint,
  formula: string,
  stored: string | null,
): Promise<void> {
  const names = new Set((await listProductDataPoints(db, productIntID)).map((one) => one.dataPointID));
  compileFormula(formula, names, { allowHeavy: formula === stored });
}
