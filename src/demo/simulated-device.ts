/** A device of the fleet that lives: it sends what it measures, and does what commands say. */
import { connectAsync, type MqttClient } from "mqtt";
import type { FleetDevice } from "./fleet.js";
import { type ProductKind, productKinds } from "./product-kinds.js";

export interface SimulatedDevice {
  readonly isConnected: () => boolean;
  /** Sends what it measures now. */
  send(): Promise<void>;
  /** Sends what it measured then; messages of one device keep their order. */
  sendOf(time: number): Promise<void>;
  close(): Promise<void>;
}

const topic = "telemetry";
/** As often as a device tries when the service is away. */
const reconnectMs = 2_000;

/** By the machine's clock as this process found it. */
const machineTime = (): number => performance.timeOrigin + performance.now();

export async function connectDevice(mqtt: string, device: FleetDevice): Promise<SimulatedDevice> {
  const kind = productKinds.find(({ prefix }) => prefix === device.prefix);
  if (kind === undefined) throw new Error(`cannot simulate ${device.deviceID}: there is no such product`);
  const client = await connectAsync(mqtt, {
    username: device.username,
    password: device.token,
    clientId: device.deviceID,
    reconnectPeriod: reconnectMs,
  });
  return simulate(client, kind, device.n);
}

function simulate(client: MqttClient, kind: ProductKind, n: number): SimulatedDevice {
  const settings = new Map<string, number>();
  const read = (time: number) =>
    Object.fromEntries(kind.points.map((point) => [point.dataPointID, point.read(time, n, settings)]));
  async function publish(message: object): Promise<void> {
    await client.publishAsync(topic, JSON.stringify(message), { qos: 1 });
  }
  const send = () => publish(read(machineTime()));
  // An outage is none of ours: the library connects again, and QoS 1 messages wait for it.
  client.on("error", () => undefined);
  client.on("message", (_, payload) => {
    // The device reports a value that was set at once.
    if (obey(kind, settings, String(payload))) send().catch(() => undefined);
  });
  return {
    isConnected: () => client.connected,
    send,
    sendOf: (time) => publish({ time: Math.round(time), ...read(time) }),
    close: () => client.endAsync(),
  };
}

/** Takes the numbers of a command that it knows; whether there was one. */
function obey(kind: ProductKind, settings: Map<string, number>, payload: string): boolean {
  let command: unknown;
  try {
    command = JSON.parse(payload);
  } catch {
    return false;
  }
  const given = Object.entries(command ?? {}).filter(
    (one): one is [string, number] =>
      typeof one[1] === "number" &&
      kind.points.some(({ dataPointID, isSet }) => isSet === true && dataPointID === one[0]),
  );
  for (const [name, value] of given) settings.set(name, value);
  return given.length > 0;
}
