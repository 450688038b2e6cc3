/** What `--keep` adds: a fleet that lives, two dashboards, and how to see them. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { DemoClient } from "./client.js";
import { fleetDashboard, makeDashboard, weatherDashboard } from "./dashboards.js";
import { type LiveFleet, makeLiveFleet, startSimulator } from "./live-fleet.js";
import type { DemoService } from "./service.js";
import type { Station } from "./station.js";

interface SavedDemo {
  /** The id of the process that plays the fleet. */
  readonly simulator: number;
  /** Lines to show. */
  readonly lines: readonly string[];
}

export async function keepLiving(
  client: DemoClient,
  service: DemoService,
  station: Station,
): Promise<SavedDemo> {
  const fleet = await makeLiveFleet(client, service.mqtt);
  const [weather, living] = [
    await makeDashboard(client, "Seattle, a year of weather", weatherDashboard(station)),
    await makeDashboard(client, "Live fleet", fleetDashboard(fleet.products, fleet.devices)),
  ];
  const simulator = await startSimulator({ mqtt: service.mqtt, devices: fleet.devices });
  const command = await answeredCommand(client, fleet);
  return {
    simulator,
    lines: [
      `${fleet.devices.length} devices send every 3 seconds. ${command}`,
      `  console    ${service.http}/console/`,
      `  log in     ${await formatLogin(service)}`,
      `  weather    ${service.http}/console/dashboards/${weather}`,
      `  fleet      ${service.http}/console/dashboards/${living}`,
    ],
  };
}

/** The user of the first start; of a service that was there already only its owner knows one. */
async function formatLogin({ own }: DemoService): Promise<string> {
  if (own === null) return "as a user of the service";
  const first = await readFile(join(own.dir, "data", "first-start.json"), "utf8");
  const { username, password } = JSON.parse(first) as { username: string; password: string };
  return `${username}, password ${password}`;
}

const answerWithinMs = 10_000;
const pollMs = 50;

/** Commands a pump to give more, and waits until it confirms that. */
async function answeredCommand(client: DemoClient, { products, devices }: LiveFleet): Promise<string> {
  const [, , pumps] = products;
  const device = devices.find(({ prefix }) => prefix === pumps?.kind.prefix);
  if (device === undefined) throw new Error("cannot send a command: the fleet has no pump");
  const { deviceID } = device;
  const target = 55;
  const startedAt = performance.now();
  await client.post("/api/v1/device_publish", { deviceID, payload: JSON.stringify({ target }) });
  while (performance.now() - startedAt < answerWithinMs) {
    const series = await client.get<{ dataPointIntID: number; originalData: { value: unknown[] } }[]>(
      `/api/v1/original_data?deviceID=${deviceID}&limit=1`,
    );
    const found = series.find(({ dataPointIntID }) => dataPointIntID === pumps?.points.get("target"));
    if (found?.originalData.value[0] === target) {
      const ms = Math.round(performance.now() - startedAt);
      return `${deviceID} was told to pump ${target} m³/h and answered after ${ms} ms.`;
    }
    await delay(pollMs);
  }
  throw new Error(`${deviceID} has not answered its command`);
}
