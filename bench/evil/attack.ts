import { connect as connectTcp, type Socket } from "node:net";
import mqttPacket, { type Packet } from "mqtt-packet";
import type { Api } from "../load/api-client.js";
import type { DeviceRecord } from "../load/fleet.js";
import type { Tidemark } from "../subjects/tidemark.js";

/** What an attacker has: a tenant of his own, its admin's session, and the ports. */
export interface Target {
  readonly service: Tidemark;
  readonly httpPort: number;
  readonly mqttPort: number;
  /** Where the attack's settings open it. */
  readonly tlsPort: () => number;
  /** As the admin of the attacker's tenant. */
  readonly api: Api;
  readonly authorization: string;
  /** A deadline for what waits on the service, so that an attack that succeeds ends too. */
  readonly until: number;
}

export interface Attack {
  readonly name: string;
  /** What it tries, in a few words, for the report. */
  readonly what: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** What honest calls can make: not part of what is measured. */
  prepare?(target: Target): Promise<void>;
  /** Resolves when all is sent and, where there are answers, they have come or the target's time is over. */
  run(target: Target): Promise<void>;
  /** Ends what `run` left open. */
  release?(): void;
}

export const host = "127.0.0.1";

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Sockets of one attack. */
export function createSockets() {
  const open = new Set<Socket>();
  return {
    /** A connected socket that reads nothing until it is resumed; null where it was refused. */
    connect: (port: number): Promise<Socket | null> =>
      new Promise((resolve) => {
        const socket = connectTcp({ port, host, noDelay: true });
        open.add(socket);
        socket.pause();
        socket.once("connect", () => resolve(socket));
        socket.on("error", () => resolve(null));
        socket.once("close", () => open.delete(socket));
      }),
    closeAll: (): void => {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Waits for all of it or for the target's time, whichever is first. */
export async function within(target: Target, work: Promise<unknown>): Promise<void> {
  const left = Math.max(0, target.until - performance.now());
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, left);
  });
  await Promise.race([work.catch(() => undefined), over]);
  clearTimeout(timer);
}

export interface MqttClient {
  readonly socket: Socket;
  send(...packets: readonly Packet[]): void;
  /** Resolves with the next packet of the kind; null once the connection has ended. */
  next(kind: Packet["cmd"]): Promise<Packet | null>;
}

/** Connects as MQTT 5 (or 3.1.1) and reads what comes until it is paused. */
export async function mqttConnect(
  target: Target,
  sockets: ReturnType<typeof createSockets>,
  device: DeviceRecord,
  fields: Partial<Extract<Packet, { cmd: "connect" }>> = {},
): Promise<MqttClient | null> {
  const socket = await sockets.connect(target.mqttPort);
  if (socket === null) return null;
  const protocolVersion = fields.protocolVersion ?? 5;
  const parser = mqttPacket.parser({ protocolVersion });
  const waiting = new Map<string, ((packet: Packet | null) => void)[]>();
  const arrived = new Map<string, Packet[]>();
  parser.on("packet", (packet: Packet) => {
    const taker = waiting.get(packet.cmd)?.shift();
    if (taker !== undefined) return taker(packet);
    // Deliveries are only counted by those who wait for them.
    if (packet.cmd !== "publish") arrived.set(packet.cmd, [...(arrived.get(packet.cmd) ?? []), packet]);
  });
  parser.on("error", () => socket.destroy());
  socket.on("data", (chunk) => parser.parse(chunk));
  socket.once("close", () => {
    for (const takers of waiting.values()) for (const taker of takers) taker(null);
  });
  socket.resume();
  const client: MqttClient = {
    socket,
    send: (...packets) =>
      void socket.write(Buffer.concat(packets.map((one) => mqttPacket.generate(one, { protocolVersion })))),
    next: (kind) => {
      const there = arrived.get(kind)?.shift();
      if (there !== undefined) return Promise.resolve(there);
      if (socket.destroyed) return Promise.resolve(null);
      return new Promise((resolve) => {
        waiting.set(kind, [...(waiting.get(kind) ?? []), resolve]);
      });
    },
  };
  client.send({
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion,
    clientId: "evil",
    clean: true,
    keepalive: 0,
    username: device.deviceUsername,
    password: Buffer.from(device.token),
    ...fields,
  } as Packet);
  const connack = await client.next("connack");
  return connack === null ? null : client;
}
