import { connectAsync } from "mqtt";
import type { Client } from "./client.js";
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
  let next = 0;
  let acknowledged = 0;
  async function lane(): Promise<void> {
    for (let hour = hours[next++]; hour !== undefined; hour = hours[next++]) {
      await client.publishAsync("weather", JSON.stringify(hour), { qos: 1 });
      onAcknowledged(++acknowledged);
    }
  }
  await Promise.all(Array.from({ length: inFlightMax }, lane));
  await client.endAsync();
}

/** Resolves when every acknowledged point can be read and every alert is there: no consumer has anything left. */
export async function settled(client: Client): Promise<void> {
  for (;;) {
    const text = await client.send("GET", "/metrics");
    const lags = [...text.matchAll(/^tidemark_journal_lag_messages\{.*\} (\d+)$/gm)].map(([, lag]) => lag);
    if (lags.length > 0 && lags.every((lag) => lag === "0")) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
