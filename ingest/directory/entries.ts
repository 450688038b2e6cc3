import type { PlatformSubscription } from "../../store/journal/message.js";
import {
  type DeviceAccess,
  type DeviceSubscription,
  type PolicyRule,
  subscriptionsOfProduct,
} from "../../store/metadata/devices/access.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import type { DeviceIdentity } from "../../store/metadata/devices/identity.js";
import { listProductDataPoints } from "../../store/metadata/products/data-points.js";
import { listProductDataStreams } from "../../store/metadata/products/data-streams.js";
import {
  type DecodableDevice,
  type DecodeModel,
  type PointEntry,
  type PointSeries,
  toPointEntry,
  toStreamEntry,
} from "../decode/product-model.js";
import type { AccessRules } from "../policies.js";
import type { BoundCertificates } from "./certificates.js";

export interface ProductEntry extends DecodeModel {
  readonly id: number;
  /** Record ids of its data points and streams, which share one sequence. */
  readonly members: ReadonlySet<number>;
  /** What the platform subscribes every device of the product to. */
  readonly subscriptions: readonly PlatformSubscription[];
}

/** A device as the path of uplinks uses it. All but the id changes when the metadata does. */
export interface DeviceEntry extends DecodableDevice {
  readonly id: number;
  device: DeviceIdentity;
  product: ProductEntry;
  /** The policies that it is bound to. */
  rules: readonly PolicyRule[];
  /** What they let it say and hear; null: everything in its space. */
  access: AccessRules | null;
  /** The certificates with which it may authenticate. */
  certificates: BoundCertificates;
  /** What the platform subscribes it to as itself or as a member of a group. */
  subscriptions: readonly DeviceSubscription[];
  /** The series of one of its data points; the same object each time. */
  series(point: PointEntry): PointSeries;
}

/** What an entry is made of. */
export interface Loaded {
  readonly device: DeviceIdentity;
  readonly product: ProductEntry;
  readonly access: DeviceAccess;
  readonly certificates: BoundCertificates;
}

const locationType = 6;

export const noAccess: DeviceAccess = { rules: [], subscriptions: [] };

/** Without access, which is compiled when it is set. */
export function toEntry({ device, product, certificates }: Loaded): DeviceEntry {
  // Made with its first message: of many devices most are silent.
  let series: Map<number, PointSeries> | null = null;
  return {
    id: device.id,
    device,
    product,
    rules: noAccess.rules,
    access: null,
    certificates,
    subscriptions: noAccess.subscriptions,
    series: (point) => {
      series ??= new Map();
      let found = series.get(point.id);
      // The kind may not change within a field, so a reference stays good for the life of the data point.
      if (found === undefined) {
        found = {
          tenant: device.tenant,
          productID: device.productID,
          deviceID: device.deviceID,
          field: point.field,
          kind: point.kind,
          dataPointIntID: point.id,
          isLocation: point.pointDataType === locationType,
        };
        series.set(point.id, found);
      }
      return found;
    },
  };
}

export async function loadProduct(store: DeviceStore, id: number): Promise<ProductEntry> {
  const points = (await listProductDataPoints(store.db, id)).map(toPointEntry);
  const byID = new Map(points.map((point) => [point.id, point]));
  const all = await listProductDataStreams(store.db, id);
  const streams = all.filter((stream) => stream.streamType % 2 === 1);
  return {
    id,
    members: new Set([...points.map((point) => point.id), ...all.map((stream) => stream.id)]),
    points: new Map(points.map((point) => [point.dataPointID, point])),
    subscriptions: await subscriptionsOfProduct(store.db, id),
    streams: new Map(streams.map((stream) => [stream.topic, toStreamEntry(stream, byID)])),
  };
}
