/** Points of deleted devices: finds which devices have any, and deletes them. */
import type { DeviceKey } from "../series.js";
import type { InfluxClient } from "./client.js";
import { parseRecords } from "./csv.js";
import { deletePredicate, deleteRange, fluxDevicesWithPoints } from "./flux.js";
import { influxName } from "./names.js";
import { readResponseText } from "./reading.js";
import { timeMax } from "./times.js";

/** Devices in one query, whose text is compiled anew each time. */
const devicesPerQueryMax = 250;
/** Deletions under way at once: the server takes one device a request. */
const deletionsMax = 4;

/** One query a product and 250 devices. @throws StoreError UNAVAILABLE */
export async function whichHavePoints(
  client: Pick<InfluxClient, "query">,
  bucket: string,
  devices: readonly DeviceKey[],
): Promise<boolean[]> {
  const found = new Set<string>();
  const products = new Set(devices.map(({ productID }) => productID));
  for (const productID of products) {
    const ids = devices.filter((device) => device.productID === productID).map(({ deviceID }) => deviceID);
    for (let at = 0; at < ids.length; at += devicesPerQueryMax) {
      const flux = fluxDevicesWithPoints(bucket, productID, ids.slice(at, at + devicesPerQueryMax));
      for (const row of parseRecords(await readResponseText(client.query(flux)))) {
        found.add(formatKey(productID, row._value ?? ""));
      }
    }
  }
  return devices.map(({ productID, deviceID }) => found.has(formatKey(productID, influxName(deviceID))));
}

/** Several requests at once, one device in each. @throws StoreError UNAVAILABLE once those under way have ended */
export async function removeInfluxDevices(
  client: Pick<InfluxClient, "remove">,
  devices: readonly DeviceKey[],
): Promise<void> {
  const range = deleteRange(timeMax + 1);
  const waiting = [...devices];
  let failed = false;
  const removeSome = async (): Promise<void> => {
    for (let device = waiting.shift(); device !== undefined && !failed; device = waiting.shift()) {
      try {
        await client.remove(range, deletePredicate(device.productID, device.deviceID));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: deletionsMax }, removeSome));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

const formatKey = (productID: string, device: string): string => `${productID}\n${device}`;
