import { randomBytes } from "node:crypto";
import { connect as connectPlain, isIP } from "node:net";
import { connect as connectSecure } from "node:tls";
import { MqttClient } from "mqtt";
import { onAbort } from "../../store/lib/abortable.js";
import type { AddressGuard } from "./addresses.js";
import {
  delivered,
  failed,
  formatSendError,
  refuseMessage,
  type SendOutcome,
  type SendToContactPoint,
} from "./sending.js";

/** A topic in the space of one of the tenant's devices. */
interface DeviceTopicSettings {
  readonly deviceIntID: number;
  readonly topic: string;
}

/** A topic of another broker. */
interface BrokerTopicSettings {
  /** `mqtt://host:port` or `mqtts://host:port`. */
  readonly url: string;
  readonly topic: string;
  readonly qos: number;
  readonly username: string | null;
  readonly clientID: string | null;
}

type MqttSettings = DeviceTopicSettings | BrokerTopicSettings;

/** Publishes to a device of the tenant as a command does, with a log and a receipt. */
export type SendToDevice = (
  tenant: number,
  settings: DeviceTopicSettings,
  payload: Uint8Array,
) => Promise<SendOutcome>;

export function createMqttSend(guard: AddressGuard, toDevice: SendToDevice): SendToContactPoint {
  return ({ tenant, settings, secrets }, { body }, signal) => {
    const chosen = settings as unknown as MqttSettings;
    const payload = Buffer.from(body);
    if ("deviceIntID" in chosen) return toDevice(tenant, chosen, payload);
    return publish(guard, chosen, secrets.password, payload, signal);
  };
}

/** Bytes that a broker may send in all: its answers have a few each. */
const bytesInMax = 65_536;

const ports = { "mqtt:": 1883, "mqtts:": 8883 } as const;

/** Connects, publishes once and leaves; delivered when the broker has acknowledged (MQTT 3.1.1, 4.3). */
async function publish(
  guard: AddressGuard,
  { url, topic, qos, username, clientID }: BrokerTopicSettings,
  password: string | undefined,
  payload: Buffer,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const number = port === "" ? ports[protocol as keyof typeof ports] : Number(port);
  try {
    if (isIP(host) !== 0) await guard.resolve(host, signal);
  } catch (error) {
    return failed(formatSendError(error));
  }
  const lookup = guard.lookup(signal);
  let socketError: Error | null = null;
  const open = () => {
    const socket =
      protocol === "mqtts:"
        ? connectSecure({ host, port: number, lookup, ...(isIP(host) === 0 ? { servername: host } : {}) })
        : connectPlain({ host, port: number, lookup });
    // The client would gather a packet of 256 MiB.
    let bytes = 0;
    socket.on("data", (chunk) => {
      bytes += chunk.length;
      if (bytes > bytesInMax) socket.destroy(new Error(`the broker sends more than ${bytesInMax} bytes`));
    });
    // The client passes on only some of its socket's errors.
    return socket.once("error", (error) => {
      socketError = error;
    });
  };
  const client = new MqttClient(open, {
    // MQTT 3.1.1, 3.1.3.1: 23 letters and digits are what every broker takes.
    clientId: clientID ?? `tidemark${randomBytes(7).toString("hex")}`,
    clean: true,
    reconnectPeriod: 0,
    protocolVersion: 4,
    ...(username === null ? {} : { username, password: password ?? "" }),
  });
  let stopListening: (() => void) | undefined;
  try {
    return await new Promise<SendOutcome>((resolve) => {
      const settle = (error: unknown): void =>
        resolve(isRefusal(error) ? refuseMessage(formatSendError(error)) : failed(formatSendError(error)));
      stopListening = onAbort(signal, () => settle(new Error("left")));
      client.on("error", settle);
      client.on("close", () => settle(socketError ?? new Error("the broker closed the connection")));
      client.once("connect", () => {
        client.publish(topic, payload, { qos: qos === 0 ? 0 : 1 }, (error) => {
          if (error) settle(error);
          else resolve(delivered(qos === 0 ? "sent" : "acknowledged by PUBACK"));
        });
      });
    });
  } finally {
    stopListening?.();
    client.on("error", () => undefined);
    client.end(true);
  }
}

/** CONNACK: the client may not enter, and will not tomorrow either (MQTT 3.1.1, 3.2.2.3). */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: number | string };
  return code === 2 || code === 4 || code === 5;
}
