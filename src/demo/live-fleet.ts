/** The fleet that goes on living after the demo: 20 devices of three products, and a process that plays them. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { DemoClient } from "./client.js";
import { type FleetDevice, type FleetProduct, makeDevices, makeProducts } from "./fleet.js";
import { sendReadings } from "./history.js";
import { coldStore, mast, pump } from "./product-kinds.js";
import { connectDevice } from "./simulated-device.js";

export interface LiveFleet {
  readonly products: readonly FleetProduct[];
  readonly devices: readonly FleetDevice[];
}

/** What the simulator reads from its standard input. */
export interface Simulation {
  readonly mqtt: string;
  readonly devices: readonly FleetDevice[];
}

const count = 20;
const minute = 60_000;
const pastMinutes = 90;
const program = fileURLToPath(new URL("./simulator.js", import.meta.url));

/** Makes the fleet and sends its last hour and a half, minute by minute, so that its charts are not empty. */
export async function makeLiveFleet(client: DemoClient, mqtt: string): Promise<LiveFleet> {
  const suffix = randomBytes(3).toString("hex");
  const products = await makeProducts(client, [mast, coldStore, pump], suffix);
  const devices = await makeDevices(client, products, count, suffix);
  const { time: now } = await client.get<{ time: number }>("/api/v1/time");
  const connected = await Promise.all(devices.map((device) => connectDevice(mqtt, device)));
  await sendReadings(connected, { from: now - pastMinutes * minute, to: now, everyMs: minute });
  await Promise.all(connected.map((one) => one.close()));
  return { products, devices };
}

/** Starts a process that outlives this one; answers its pid once it has all that it needs. */
export async function startSimulator(simulation: Simulation): Promise<number> {
  const child = spawn(process.execPath, [program], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("error", reject);
    child.once("exit", (code) =>
      reject(new Error(`cannot start the simulated fleet: it ended with ${code}`)),
    );
  });
  child.stdin.end(JSON.stringify(simulation));
  await ready;
  child.stdout.destroy();
  child.unref();
  return child.pid ?? 0;
}
