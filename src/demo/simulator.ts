/**
 * Simulates a fleet whose devices are listed on standard input: each sends what it measures every few seconds and
 * follows commands. It ends by itself once the service has been away for a minute.
 */
import { text } from "node:stream/consumers";
import type { Simulation } from "./live-fleet.js";
import { connectDevice } from "./simulated-device.js";

const sendEveryMs = 3_000;
const lookEveryMs = 5_000;
const awayMaxMs = 60_000;

const { mqtt, devices } = JSON.parse(await text(process.stdin)) as Simulation;
const connected = await Promise.all(devices.map((device) => connectDevice(mqtt, device)));
for (const [i, device] of connected.entries()) {
  const send = (): void => {
    // QoS 1 messages would pile up while the service is away.
    if (device.isConnected()) device.send().catch(() => undefined);
  };
  setTimeout(
    () => {
      send();
      setInterval(send, sendEveryMs);
    },
    (i * sendEveryMs) / connected.length,
  );
}

let seenAt = performance.now();
setInterval(() => {
  if (connected.some((device) => device.isConnected())) seenAt = performance.now();
  else if (performance.now() - seenAt > awayMaxMs) process.exit(0);
}, lookEveryMs);

process.stdout.write("ready\n");
