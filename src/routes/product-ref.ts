import type { Db } from "../../store/metadata/db/db.js";
import { listProductDataPoints } from "../../store/metadata/products/data-points.js";
import { findProduct, findProductByIntID, type ProductRef } from "../../store/metadata/products/products.js";
import { invalid } from "../http/errors.js";

/** The product that a body names by productIntID, by productID, or by both when they agree. */
export async function requireProduct(
  db: Db,
  tenant: number,
  body: { readonly productIntID?: number | null | undefined; readonly productID?: string | null | undefined },
): Promise<ProductRef> {
  const missing = { productIntID: "there is no such product" };
  const byText = body.productID ? await findProduct(db, tenant, body.productID) : undefined;
  if (body.productID && byText === undefined) throw invalid({ productID: "there is no such product" });
  if (body.productIntID === undefined || body.productIntID === null) {
    if (byText === undefined) throw invalid({ productIntID: "is required" });
    return byText;
  }
  const byNumber = await findProductByIntID(db, tenant, body.productIntID);
  if (byNumber === undefined) throw invalid(missing);
  if (byText !== undefined && byText.id !== byNumber.id) {
    throw invalid({ productID: "is another product than productIntID" });
  }
  return byNumber;
}

/** Data points that a record names must be its own product's. @throws ApiError PARAMETER_INVALID naming the field */
export async function checkPointLimit(
  db: Db,
  productIntID: number,
  fields: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  const known = new Set((await listProductDataPoints(db, productIntID)).map((point) => point.id));
  for (const [field, ids] of Object.entries(fields)) {
    const unknown = ids.find((id) => !known.has(id));
    if (unknown !== undefined) throw invalid({ [field]: `the product has no data point ${unknown}` });
  }
}
