import { createRecordCache } from "../../store/lib/record-cache.js";
import { recordName } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { type DeviceRef, findDeviceRef } from "../../store/metadata/devices/lookup.js";
import { type DataPoint, listProductDataPoints } from "../../store/metadata/products/data-points.js";
import { listProductMetrics, type Metric } from "../../store/metadata/products/metrics.js";

/** The data points and metrics of a product's devices, ascending by id. */
export interface ProductModel {
  readonly points: readonly DataPoint[];
  readonly metrics: readonly Metric[];
}

/**
 * Caches the metadata that every dashboard asks for again and again, so that a metric costs only reads of series and no
 * metadata statements. The change feed invalidates it.
 */
export interface ProductCatalog {
  /** Finds a device or gateway of one tenant by string id. */
  byDeviceID(tenant: number, deviceID: string): Promise<DeviceRef | undefined>;
  byIntID(tenant: number, id: number): Promise<DeviceRef | undefined>;
  model(productIntID: number): Promise<ProductModel>;
  forget(change: Change): void;
}

const entriesMax = 50_000;
/** The parts of a product's model, besides the product. */
const members: ReadonlySet<string> = new Set(["data_point", "metric"]);

export function createCatalog(db: Db): ProductCatalog {
  const devices = createRecordCache<string, DeviceRef | undefined>(entriesMax, (device) =>
    device === undefined ? null : [recordName("device", device.id)],
  );
  const models = createRecordCache<number, ProductModel>(entriesMax, ({ points, metrics }, product) => [
    recordName("product", product),
    ...points.map(({ id }) => recordName("data_point", id)),
    ...metrics.map(({ id }) => recordName("metric", id)),
  ]);

  return {
    byDeviceID: (tenant, deviceID) =>
      devices.get(`${tenant} ${deviceID}`, () => findDeviceRef(db, tenant, { deviceID })),
    byIntID: (tenant, id) => devices.get(`${tenant}/${id}`, () => findDeviceRef(db, tenant, { id })),
    model: (productIntID) =>
      models.get(productIntID, async () => ({
        points: await listProductDataPoints(db, productIntID),
        metrics: await listProductMetrics(db, productIntID),
      })),
    forget: ({ entity, action, recordID, detail }) => {
      // A new record was never cached, and devices are created by the thousand.
      if (entity === "device" && action !== "create") devices.touch(recordName(entity, recordID));
      if (entity === "product" || members.has(entity)) models.touch(recordName(entity, recordID));
      // The change that creates a member names its product.
      const product = members.has(entity) ? fromJson<{ productIntID?: number }>(detail)?.productIntID : null;
      if (typeof product === "number") models.touch(recordName("product", product));
    },
  };
}
