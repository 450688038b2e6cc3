/** A client that sends any bytes: what the `mqtt` client would never do. */
import { connect, type Socket } from "node:net";
import mqttPacket, { type Packet } from "mqtt-packet";
import type { IncomingSocket } from "../../ingest/transports/sockets/incoming-socket.js";
import { until } from "../suite.js";
import type { Rec, World } from "../world.js";

/** A socket that no endpoint knows of. */
export function incomingFrom(address: string): IncomingSocket {
  const nothing = (): undefined => undefined;
  return { address, isRelayed: false, failure: "lost", setAddress: nothing, attach: nothing, prove: nothing };
}

export interface RawClient {
  readonly socket: Socket;
  /** Everything received so far, in order. */
  readonly packets: readonly Packet[];
  readonly closed: boolean;
  send(...packets: readonly (Packet | Uint8Array)[]): void;
  /** Waits for the next packet of the kind that was not waited for yet. */
  next<C extends Packet["cmd"]>(cmd: C): Promise<Extract<Packet, { cmd: C }>>;
  /** Waits until so many packets of the kind have come. */
  many(cmd: Packet["cmd"], count: number): Promise<Packet[]>;
  /** Resolves when the server has closed the connection. */
  ended(timeoutMs?: number): Promise<void>;
  /** Breaks the connection without DISCONNECT. */
  cut(): Promise<void>;
}

/** `from`: the address that it comes from. */
export async function rawClient(address: string, protocolVersion = 4, from?: string): Promise<RawClient> {
  const { hostname, port } = new URL(address);
  const local = from === undefined ? {} : { localAddress: from };
  const socket = connect({ port: Number(port), host: hostname, ...local });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.setNoDelay(true);
  const packets: Packet[] = [];
  let closed = false;
  const parser = mqttPacket.parser({ protocolVersion });
  parser.on("packet", (packet: Packet) => packets.push(packet));
  socket.on("data", (chunk) => parser.parse(chunk));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    closed = true;
  });
  const taken = new Map<string, number>();
  const ofKind = (cmd: string) => packets.filter((packet) => packet.cmd === cmd);

  async function next<C extends Packet["cmd"]>(cmd: C): Promise<Extract<Packet, { cmd: C }>> {
    const at = taken.get(cmd) ?? 0;
    taken.set(cmd, at + 1);
    const found = await until(() => ofKind(cmd)[at], { what: `${cmd}, after ${packets.length} packets` });
    return found as Extract<Packet, { cmd: C }>;
  }

  return {
    socket,
    packets,
    get closed() {
      return closed;
    },
    send: (...all) => {
      const bytes = all.map((one) => (one instanceof Uint8Array ? one : mqttPacket.generate(one)));
      socket.write(Buffer.concat(bytes));
    },
    next,
    many: async (cmd, count) => {
      await until(() => ofKind(cmd).length >= count, { what: `${count} × ${cmd}`, timeoutMs: 30_000 });
      return ofKind(cmd);
    },
    ended: async (timeoutMs = 5000) => {
      await until(() => closed, { what: "the server to close the connection", timeoutMs });
    },
    cut: async () => {
      socket.resetAndDestroy();
      await until(() => closed, { what: "the socket to close" });
    },
  };
}

interface ConnectFields {
  readonly clientId?: string;
  readonly clean?: boolean;
  readonly keepalive?: number;
  readonly protocolVersion?: 4 | 5;
  readonly username?: string;
  readonly password?: string;
  readonly properties?: { readonly maximumPacketSize?: number; readonly sessionExpiryInterval?: number };
}

export function connectPacket(device: Rec, fields: ConnectFields = {}): Packet {
  const { password = String(device.token), ...rest } = fields;
  return {
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion: 4,
    clientId: "raw",
    clean: true,
    keepalive: 0,
    username: String(device.deviceUsername),
    password: Buffer.from(password),
    ...rest,
  };
}

/** Connected and accepted. */
export async function rawConnected(
  address: string,
  device: Rec,
  fields: ConnectFields = {},
  from?: string,
): Promise<RawClient> {
  const client = await rawClient(address, 4, from);
  client.send(connectPacket(device, fields));
  const { returnCode } = await client.next("connack");
  if (returnCode !== 0) throw new Error(`CONNECT was refused: ${returnCode}`);
  return client;
}

interface PublishFields {
  readonly topic?: string;
  readonly qos?: 0 | 1 | 2;
  readonly dup?: boolean;
  readonly messageId?: number;
}

export function publishPacket(payload: string | Buffer, fields: PublishFields = {}): Packet {
  const { qos = 1, messageId = 1, topic = "data", dup = false } = fields;
  return {
    cmd: "publish",
    topic,
    payload,
    qos,
    dup,
    retain: false,
    ...(qos === 0 ? {} : { messageId }),
  };
}

export const pubrel = (messageId: number): Packet => ({ cmd: "pubrel", messageId, qos: 1 }) as Packet;

/** Reads the counter of a label of /metrics. */
export function counter(world: World, name: string, reason: string): () => Promise<number> {
  return async () => {
    const { text } = await world.call("GET", "/metrics");
    return Number(new RegExp(`^${name}\\{reason="${reason}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  };
}

export const endedBy = (world: World, reason: string) =>
  counter(world, "tidemark_connections_ended_total", reason);
export const refusedBy = (world: World, reason: string) => counter(world, "tidemark_refused_total", reason);

export async function eventsOf(world: World, device: Rec): Promise<readonly Rec[]> {
  return (await world.call("GET", `/api/v1/devices/${device.id}/events?_limit=1000`)).page.items;
}

/** The values of each data point, oldest first. */
export async function valuesOf(world: World, device: Rec): Promise<unknown[][]> {
  const { list } = await world.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
  return list.map(({ originalData }) => (originalData as { value: unknown[] }).value);
}
