import { z } from "@hono/zod-openapi";
import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type IDTable, resolveIDs } from "../../store/metadata/db/table.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { groupIDs } from "../../store/metadata/groups/groups.js";
import type { AlertMatcher } from "../../store/metadata/notifications/alert-matcher.js";
import { productIDs } from "../../store/metadata/products/products.js";
import { invalid } from "../http/errors.js";
import { codeField, integerField, name } from "../http/fields.js";
import { listCodes } from "../http/labels.js";

/** Fields of routes and silences that say which alerts they are about; one that is absent or null matches every alert. */
export const matcherFields = {
  severities: z
    .array(codeField(...listCodes("alertSeverity")))
    .min(1)
    .max(4),
  alertName: name,
  productIntID: integerField(1),
  groupIntID: integerField(1),
  deviceIntID: integerField(1),
};

const tables = {
  productIntID: { table: productIDs, noun: "product" },
  groupIntID: { table: groupIDs, noun: "group" },
  deviceIntID: { table: anyDeviceIDs, noun: "device" },
} as const satisfies Record<string, { readonly table: IDTable; readonly noun: string }>;

/** @throws ApiError PARAMETER_INVALID for a record that the tenant does not have */
export async function checkMatcher(
  db: Db,
  tenant: number,
  matcher: { readonly [K in keyof typeof tables]?: number | null | undefined },
): Promise<void> {
  for (const field of Object.keys(tables) as (keyof typeof tables)[]) {
    const id = matcher[field];
    if (id == null) continue;
    const { table, noun } = tables[field];
    await resolveIDs(db, table, tenant, [String(id)]).catch((error: unknown) => {
      if (error instanceof StoreError && error.code === "NOT_FOUND")
        throw invalid({ [field]: `is no ${noun}` });
      throw error;
    });
  }
}

/** Fields that are absent match all. */
export function parseMatcher(
  body: { readonly [K in keyof AlertMatcher]?: AlertMatcher[K] | undefined },
): AlertMatcher {
  const {
    severities = null,
    alertName = null,
    productIntID = null,
    groupIntID = null,
    deviceIntID = null,
  } = body;
  return { severities, alertName, productIntID, groupIntID, deviceIntID };
}
