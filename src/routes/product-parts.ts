import type { Db } from "../../store/metadata/db/db.js";
import { dataPointsOf } from "../../store/metadata/products/data-points.js";
import { invalid } from "../http/errors.js";

/** Data points that a record names must be its own product's. @throws ApiError PARAMETER_INVALID naming the field */
export async function checkPoints(
  db: Db,
  productIntID: number,
  fields: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  const known = new Set((await dataPointsOf(db, productIntID)).map((point) => point.id));
  for (const [field, ids] of Object.entries(fields)) {
    const unknown = ids.find((id) => !known.has(id));
    if (unknown !== undefined) throw invalid({ [field]: `the product has no data point ${unknown}` });
  }
}
