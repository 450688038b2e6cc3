/** What devices have measured before now: as a file of points, or as messages with their own times. */
import type { DemoClient } from "./client.js";
import type { FleetDevice, FleetProduct } from "./fleet.js";
import { importPoints } from "./import-points.js";
import { inLanes } from "./lanes.js";
import type { SimulatedDevice } from "./simulated-device.js";
import type { Settings } from "./waves.js";
import type { Hour } from "./weather.js";

interface Span {
  readonly from: number;
  readonly to: number;
  readonly everyMs: number;
}

const dayMs = 86_400_000;
const rowsAFile = 100_000;
const noSettings: Settings = new Map();
/** Devices that send their past at once; the messages of each come one after the other. */
const devicesAtOnce = 50;

/** Imports the readings of a span: points without messages, and without alerts. */
export async function importReadings(
  client: DemoClient,
  products: readonly FleetProduct[],
  devices: readonly FleetDevice[],
  span: Span,
): Promise<void> {
  const times = listTimes(span);
  const devicesAFile = Math.max(1, Math.floor(rowsAFile / times.length));
  for (const { kind } of products) {
    const own = devices.filter(({ prefix }) => prefix === kind.prefix);
    const head = ["deviceID", "time", ...kind.points.map(({ dataPointID }) => dataPointID)].join(",");
    for (let at = 0; at < own.length; at += devicesAFile) {
      const rows = own.slice(at, at + devicesAFile).flatMap(({ deviceID, n }) =>
        times.map((time) => {
          const values = kind.points.map(({ read }) => read(time, n, noSettings));
          return [deviceID, new Date(time).toISOString(), ...values].join(",");
        }),
      );
      await importPoints(client, [head, ...rows].join("\n"));
    }
  }
}

/** Sends the readings of a span as messages, so that alerts come of them as they would have then. */
export async function sendReadings(devices: readonly SimulatedDevice[], span: Span): Promise<void> {
  const times = listTimes(span);
  await inLanes(devices, devicesAtOnce, async (device) => {
    for (const time of times) await device.sendOf(time);
  });
}

/** Imports the measured year for devices of the weather mast: each hour as it last was before `now`, but for its last day. */
export async function importWeather(
  client: DemoClient,
  devices: readonly FleetDevice[],
  hours: readonly Hour[],
  now: number,
): Promise<void> {
  const past = hours
    .map((hour) => ({ ...hour, time: lastBefore(hour.time, now) }))
    .filter(({ time }) => time < now - dayMs);
  for (const { deviceID, n } of devices) {
    const rows = past.map(({ time, temperature, pressure, wind }) =>
      [deviceID, new Date(time).toISOString(), (temperature - n / 20).toFixed(1), pressure, wind].join(","),
    );
    await importPoints(client, ["deviceID,time,temperature,pressure,wind", ...rows].join("\n"));
  }
}

/** The same hour of the same day in the latest year in which it is not to come. */
function lastBefore(time: number, now: number): number {
  const date = new Date(time);
  date.setUTCFullYear(new Date(now).getUTCFullYear());
  if (date.getTime() > now) date.setUTCFullYear(date.getUTCFullYear() - 1);
  return date.getTime();
}

function listTimes({ from, to, everyMs }: Span): number[] {
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / everyMs)) }, (_, i) => from + i * everyMs);
}
