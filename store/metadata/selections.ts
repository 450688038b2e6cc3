import { mapInSlices } from "../lib/scheduling.js";
import type { Db } from "./db/db.js";
import { listRows } from "./db/list-rows.js";
import { formatBytesSql } from "./db/page-bytes.js";
import {
  fromJson,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  textColumn,
} from "./db/table.js";

/** The rows that forms offer for choosing: a text to show, a value to send, and further fields. */

export interface Selection {
  readonly label: string;
  readonly value: string | number;
}

const products: Listing = {
  select: "r.productName label, r.productID value, r.cloudProtocol, r.id productIntID",
  from: "product r",
  filters: {
    productName: textColumn("productName"),
    productID: textColumn("productID"),
    cloudProtocol: integerColumn("cloudProtocol"),
  },
};

export interface ProductSelection extends Selection {
  readonly cloudProtocol: number;
  readonly productIntID: number;
}

const productID = { column: "p.productID", type: "text" } as const;

const devices: Listing = {
  select: "r.deviceName label, r.deviceID value, r.id deviceIntID",
  from: "device r join product p on p.id = r.productIntID",
  filters: {
    deviceName: textColumn("deviceName"),
    deviceID: textColumn("deviceID"),
    productID,
    productIntID: integerColumn("productIntID"),
  },
};

export interface DeviceSelection extends Selection {
  readonly deviceIntID: number;
}

const ofDevice = {
  column: "r.productIntID",
  type: "integer",
  where: "r.productIntID = (select productIntID from device where id = ?)",
} as const;

const dataPoints: Listing = {
  select:
    'r.dataPointName label, r.id value, r.dataPointID, r.dataTransType, r."enum" "enum", r.pointDataType',
  from: "data_point r join product p on p.id = r.productIntID",
  bytes: formatBytesSql('r."enum"'),
  filters: {
    dataPointName: textColumn("dataPointName"),
    dataPointID: textColumn("dataPointID"),
    productID,
    productIntID: integerColumn("productIntID"),
    deviceIntID: ofDevice,
    dataTransType: integerColumn("dataTransType"),
    dataStreamIntID: {
      column: "r.id",
      type: "integer",
      where: "r.id in (select dataPointIntID from stream_point where dataStreamIntID = ?)",
    },
    // Data points that a stream of that type can carry: JSON carries all, binary only those of the binary types.
    streamDataType: {
      column: "r.pointDataType",
      type: "integer",
      where: "case ? when 1 then 1 when 2 then r.pointDataType between 11 and 19 else 0 end",
    },
  },
};

export interface DataPointSelection extends Selection {
  readonly dataPointID: string;
  readonly dataTransType: number;
  readonly enum: readonly { value: unknown; label: unknown }[] | null;
  readonly pointDataType: number;
}

const metricDataPoints: Listing = {
  select: dataPoints.select,
  from: dataPoints.from,
  filters: {
    dataPointName: textColumn("dataPointName"),
    dataPointID: textColumn("dataPointID"),
    productID,
    productIntID: integerColumn("productIntID"),
    deviceIntID: ofDevice,
  },
};

/** pointDataTypes whose values are numbers. */
const numericTypes = "r.pointDataType in (1, 15, 16, 17, 18, 19, 21, 22, 24, 25)";

const dataStreams: Listing = {
  select: "r.streamName label, r.id value",
  from: "data_stream r join product p on p.id = r.productIntID",
  filters: {
    streamName: textColumn("streamName"),
    productID,
    productIntID: integerColumn("productIntID"),
    deviceIntID: ofDevice,
    streamType: integerColumn("streamType"),
    streamDataType: integerColumn("streamDataType"),
  },
};

export const selectionFilters = {
  products: products.filters,
  devices: devices.filters,
  dataPoints: dataPoints.filters,
  metricDataPoints: metricDataPoints.filters,
  dataStreams: dataStreams.filters,
} as const;

export function selectProducts(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<ProductSelection>> {
  return listRows<ProductSelection>(db, products, tenant, request);
}

export function selectDevices(
  db: Db,
  tenant: number,
  request: PageRequest,
  gatewaysToo: boolean,
): Promise<Page<DeviceSelection>> {
  const scope = { sql: gatewaysToo ? "1" : "r.kind = 'device'" };
  return listRows<DeviceSelection>(db, devices, tenant, request, scope);
}

type DataPointRow = Omit<DataPointSelection, "enum"> & { readonly enum: string | null };

export async function selectDataPoints(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<DataPointSelection>> {
  const page = await listRows<DataPointRow>(db, dataPoints, tenant, request);
  return { ...page, items: await mapInSlices(page.items, (row) => ({ ...row, enum: fromJson(row.enum) })) };
}

/** The data points that a metric can be made of: those with numbers. */
export function selectMetricDataPoints(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<Selection>> {
  return listRows<Selection>(db, metricDataPoints, tenant, request, { sql: numericTypes });
}

export function selectDataStreams(db: Db, tenant: number, request: PageRequest): Promise<Page<Selection>> {
  return listRows<Selection>(db, dataStreams, tenant, request);
}
