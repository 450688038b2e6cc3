import { type Newest, toNewestFields } from "../../query/newest.js";
import type { CarriedDevice } from "../../store/metadata/gateway-data.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { Stamped } from "./context.js";

/** A data point and its newest value. */
export interface Gauged {
  readonly point: DataPoint;
  readonly newest: Newest;
}

export interface DeviceData {
  readonly device: CarriedDevice;
  readonly data: readonly Gauged[];
}

export function deviceData({ device, data }: DeviceData, { stamp }: Stamped) {
  return {
    deviceIntID: device.id,
    deviceID: device.deviceID,
    deviceName: device.deviceName,
    data: data.map(({ point, newest }) => ({
      dataPointIntID: point.id,
      dataPointID: point.dataPointID,
      dataPointName: point.dataPointName,
      time: newest === null || "error" in newest ? null : stamp(Math.floor(newest.time / 1000)),
      ...toNewestFields(newest, ({ value }) => value),
    })),
  };
}
