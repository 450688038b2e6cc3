import type { Change } from "../store/changes.js";
import { type DataPoint, dataPointsOf } from "../store/data-points.js";
import type { Db } from "../store/db.js";
import { type Metric, metricsOf } from "../store/metrics.js";

/** What a question about data needs of a device: who it is, and whose. */
export interface DeviceRef {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

/** What a product's devices report, ascending by id. */
export interface ProductModel {
  readonly points: readonly DataPoint[];
  readonly metrics: readonly Metric[];
}

/**
 * Remembers what every dashboard asks for again and again, so that a metric costs its series and no metadata
 * statements. The change feed makes it forget.
 */
export interface Catalog {
  /** By string id, of one tenant; devices and gateways. */
  byDeviceID(tenant: number, deviceID: string): Promise<DeviceRef | undefined>;
  byIntID(tenant: number, id: number): Promise<DeviceRef | undefined>;
  model(productIntID: number): Promise<ProductModel>;
  forget(change: Change): void;
}

const entriesMax = 50_000;
const modelEntities = new Set(["product", "data_point", "metric"]);

export function createCatalog(db: Db): Catalog {
  const devices = createMemory<DeviceRef | undefined>();
  const models = createMemory<ProductModel>();

  const find = (condition: string, args: readonly (string | number)[]) =>
    db.first<DeviceRef>(
      `select d.id, d.tenant, d.deviceID, d.productIntID, p.productID
       from device d join product p on p.id = d.productIntID where d.tenant = ? and ${condition}`,
      args,
    );

  return {
    byDeviceID: (tenant, deviceID) =>
      devices.get(`${tenant} ${deviceID}`, () => find("d.deviceID = ?", [tenant, deviceID])),
    byIntID: (tenant, id) => devices.get(`${tenant}/${id}`, () => find("d.id = ?", [tenant, id])),
    model: (productIntID) =>
      models.get(String(productIntID), async () => ({
        points: await dataPointsOf(db, productIntID),
        metrics: await metricsOf(db, productIntID),
      })),
    forget: (change) => {
      // What is new was never remembered, and devices are made by the thousand.
      if (change.entity === "device" && change.action === "create") return;
      if (change.entity === "device" || change.entity === "product") devices.clear();
      if (modelEntities.has(change.entity)) models.clear();
    },
  };
}

interface Memory<Value> {
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  clear(): void;
}

function createMemory<Value>(): Memory<Value> {
  const values = new Map<string, Value>();
  let generation = 0;
  return {
    get: async (key, load) => {
      const known = values.get(key);
      if (known !== undefined) return known;
      const begun = generation;
      const value = await load();
      // What was read before a change must not outlive it.
      if (begun === generation && value !== undefined) {
        if (values.size >= entriesMax) values.clear();
        values.set(key, value);
      }
      return value;
    },
    clear: () => {
      generation++;
      values.clear();
    },
  };
}
