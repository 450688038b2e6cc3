import { setTimeout as delay } from "node:timers/promises";
import { connectAsync } from "mqtt";
import type { DemoClient } from "./client.js";
import { inLanes } from "./lanes.js";
import type { Hour } from "./weather.js";

/** Messages on the way at once. */
const inFlightMax = 500;
const pollMs = 20;

/** The edge node: sends every hour as one QoS 1 message with its own time; resolves when all are acknowledged. */
export async function publishYear(
  mqtt: string,
  device: { readonly username: string; readonly token: string },
  hours: readonly Hour[],
  onAcknowledged: (count: number) => void,
): Promise<void> {
  const { username, token: password } = device;
  const client = await connectAsync(mqtt, { username, password, clientId: "edge-1", reconnectPeriod: 0 });
  let acknowledged = 0;
  await inLanes(hours, inFlightMax, async (hour) => {
    await client.publishAsync("weather", JSON.stringify(hour), { qos: 1 });
    onAcknowledged(++acknowledged);
  });
  await client.endAsync();
}

/** Resolves when every acknowledged point can be read and every alert is there: no consumer has anything left. */
export async function settled(client: DemoClient): Promise<void> {
  for (;;) {
    const text = await client.send("GET", "/metrics");
    const lags = [...text.matchAll(/^tidemark_journal_lag_messages\{.*\} (\d+)$/gm)].map(([, lag]) => lag);
    if (lags.length > 0 && lags.every((lag) => lag === "0")) return;
    await delay(pollMs);
  }
}
