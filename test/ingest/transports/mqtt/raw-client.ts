/** A client of any MQTT version that sends any bytes, and keeps all that it gets. */
import { connect, type Socket } from "node:net";
import mqttPacket, { type IConnectPacket, type IPublishPacket, type Packet } from "mqtt-packet";
import { assert, until } from "../../../suite.js";
import type { Rec, World } from "../../../world.js";

export type Version = 3 | 4 | 5;
export type Of<C extends Packet["cmd"]> = Extract<Packet, { cmd: C }>;

export interface Client {
  readonly version: Version;
  readonly socket: Socket;
  /** Everything received so far, in order. */
  readonly packets: readonly Packet[];
  readonly closed: boolean;
  /** The bytes of everything received so far. */
  bytes(): Buffer;
  send(...packets: readonly (Packet | Uint8Array)[]): void;
  /** Waits for the next packet of the kind that was not waited for yet. */
  next<C extends Packet["cmd"]>(cmd: C): Promise<Of<C>>;
  /** All of the kind so far, once a PINGREQ has come back: what was on its way is here. */
  all<C extends Packet["cmd"]>(cmd: C): Promise<Of<C>[]>;
  /** Resolves when the server has closed the connection. */
  ended(timeoutMs?: number): Promise<void>;
  /** Resolves when the server has closed it with this reason code of DISCONNECT; before MQTT 5 without a word. */
  endedWith(reasonCode: number): Promise<void>;
  /** Takes leave and waits for the end. */
  leave(): Promise<void>;
  /** Breaks the connection without DISCONNECT. */
  cut(): Promise<void>;
}

export async function openClient(address: string, version: Version): Promise<Client> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.setNoDelay(true);
  const packets: Packet[] = [];
  const chunks: Buffer[] = [];
  let closed = false;
  const parser = mqttPacket.parser({ protocolVersion: version });
  parser.on("packet", (packet: Packet) => packets.push(packet));
  parser.on("error", () => undefined);
  socket.on("data", (chunk) => {
    chunks.push(chunk);
    parser.parse(chunk);
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    closed = true;
  });
  const taken = new Map<string, number>();
  const ofKind = <C extends Packet["cmd"]>(cmd: C) => packets.filter((one): one is Of<C> => one.cmd === cmd);

  const client: Client = {
    version,
    socket,
    packets,
    get closed() {
      return closed;
    },
    bytes: () => Buffer.concat(chunks),
    send: (...all) => {
      const bytes = all.map((one) =>
        one instanceof Uint8Array ? one : mqttPacket.generate(one, { protocolVersion: version }),
      );
      socket.write(Buffer.concat(bytes));
    },
    next: async (cmd) => {
      const at = taken.get(cmd) ?? 0;
      taken.set(cmd, at + 1);
      return until(() => ofKind(cmd)[at], { what: `${cmd}, after ${packets.length} packets` });
    },
    all: async (cmd) => {
      const before = ofKind("pingresp").length;
      client.send({ cmd: "pingreq" });
      await until(() => ofKind("pingresp").length > before, { what: "PINGRESP" });
      return ofKind(cmd);
    },
    ended: async (timeoutMs = 5000) => {
      await until(() => closed, { what: "the server to close the connection", timeoutMs });
    },
    endedWith: async (reasonCode) => {
      await client.ended();
      const codes = ofKind("disconnect").map((packet) => packet.reasonCode);
      assert.equal(codes, version === 5 ? [reasonCode] : []);
    },
    leave: async () => {
      client.send({ cmd: "disconnect" });
      await client.ended();
    },
    cut: async () => {
      socket.resetAndDestroy();
      await until(() => closed, { what: "the socket to close" });
    },
  };
  return client;
}

export type ConnectFields = Partial<Omit<IConnectPacket, "cmd">>;

export function connectPacket(device: Rec, version: Version, fields: ConnectFields = {}): IConnectPacket {
  return {
    cmd: "connect",
    protocolId: version === 3 ? "MQIsdp" : "MQTT",
    protocolVersion: version,
    clientId: "raw",
    clean: true,
    keepalive: 0,
    username: String(device.deviceUsername),
    password: Buffer.from(String(device.token)),
    ...fields,
  };
}

/** The code of a CONNACK of either kind. */
export const codeOf = (packet: Of<"connack">): number | undefined => packet.reasonCode ?? packet.returnCode;

/** Connected and accepted. */
export async function connected(
  world: World,
  device: Rec,
  version: Version,
  fields: ConnectFields = {},
): Promise<Client> {
  const client = await openClient(world.mqtt, version);
  client.send(connectPacket(device, version, fields));
  assert.is(codeOf(await client.next("connack")), 0);
  return client;
}

export function publishing(topic: string, fields: Partial<IPublishPacket> = {}): IPublishPacket {
  const { qos = 1, messageId = 1 } = fields;
  return {
    cmd: "publish",
    topic,
    payload: "m",
    qos,
    dup: false,
    retain: false,
    ...(qos === 0 ? {} : { messageId }),
    ...fields,
  } as IPublishPacket;
}

interface Wanted {
  readonly qos?: 0 | 1 | 2;
  readonly nl?: boolean;
  readonly rap?: boolean;
  readonly rh?: number;
  readonly identifier?: number;
  readonly messageId?: number;
}

/** SUBSCRIBE to each filter with the same options. */
export function subscribing(filters: readonly string[], wanted: Wanted = {}): Packet {
  const { qos = 2, nl = false, rap = false, rh = 0, identifier, messageId = 1 } = wanted;
  return {
    cmd: "subscribe",
    messageId,
    subscriptions: filters.map((topic) => ({ topic, qos, nl, rap, rh })),
    ...(identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } }),
  };
}

/** Subscribed to each filter, all of them granted. */
export async function subscribed(
  client: Client,
  filters: readonly string[],
  wanted: Wanted = {},
): Promise<void> {
  client.send(subscribing(filters, wanted));
  const { granted } = await client.next("suback");
  assert.equal(granted, Array(filters.length).fill(wanted.qos ?? 2));
}

/** Publishes at QoS 1, or as `fields` say, and waits for the acknowledgement: by then every receiver has it. */
export async function publish(
  client: Client,
  topic: string,
  fields: Partial<IPublishPacket> = {},
): Promise<void> {
  client.send(publishing(topic, fields));
  if (fields.qos === 2) {
    await client.next("pubrec");
    client.send(ack("pubrel", fields.messageId ?? 1));
    await client.next("pubcomp");
  } else {
    await client.next("puback");
  }
}

export function ack(
  cmd: "puback" | "pubrec" | "pubrel" | "pubcomp",
  messageId: number,
  reasonCode = 0,
): Packet {
  return { cmd, messageId, reasonCode, ...(cmd === "pubrel" ? { qos: 1 } : {}) } as Packet;
}

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

/** A whole packet: fixed header, then the parts; a text gets its length in front, a number is one byte. */
export function bytesOf(firstByte: number, ...parts: readonly (number | string | Uint8Array)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "number") return Buffer.from([part]);
      if (typeof part !== "string") return part;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(Buffer.byteLength(part));
      return Buffer.concat([length, Buffer.from(part)]);
    }),
  );
  const header = [firstByte];
  let left = body.length;
  for (; left > 127; left >>>= 7) header.push((left & 0x7f) | 0x80);
  header.push(left);
  return Buffer.concat([Buffer.from(header), body]);
}

/** A text of bytes that are not UTF-8, or are what no text may hold. */
export const badTexts: readonly (readonly [string, Buffer])[] = [
  ["a lone continuation byte", hex("0001 80")],
  ["a surrogate", hex("0003 eda080")],
  ["an overlong form", hex("0002 c0af")],
  ["U+0000", hex("0003 610062")],
];
