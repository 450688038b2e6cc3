import { randomUUID } from "node:crypto";
import mqttPacket, {
  type IConnectPacket,
  type ISubscribePacket,
  type IUnsubscribePacket,
  type Packet,
  type Parser,
} from "mqtt-packet";
import { type Accept, type Origin, packetBytesMax, sessionOf } from "../../accept.js";
import type { ClientCertificate, Denied } from "../../credentials.js";
import { isEntitled, isValidAt } from "../../credentials.js";
import type { Denials } from "../../denials.js";
import type { DeviceEntry } from "../../directory.js";
import { endsWithConnection, neverExpires, type Subscription, type Will } from "../../message.js";
import { count, type EndReason, type Meter } from "../../meter.js";
import type { Presence } from "../../presence.js";
import type { Taken } from "../../redelivery.js";
import { sessionExpiryMax, subscriptionsMax } from "../../sessions/bounds.js";
import type { Session, Sessions } from "../../sessions/live.js";
import type { SessionRecords, SessionRequest } from "../../sessions/records.js";
import type { Spaces } from "../../sessions/spaces.js";
import type { SessionState } from "../../sessions/state.js";
import { isTopicFilter } from "../../topics.js";
import { createDeliveries, type Deliveries, inFlightDefault } from "./deliveries.js";
import { createFrameWatch } from "./framing.js";
import { Inbound, type InboundOwner } from "./inbound.js";
import { createOutbox, type Outbox } from "./outbox.js";
import { type Wire, WireError } from "./wire.js";

/** What every connection of the endpoint shares. */
export interface MqttContext {
  readonly accept: Accept;
  readonly sessions: Sessions;
  readonly presence: Presence;
  readonly spaces: Spaces;
  readonly records: SessionRecords;
  readonly denials: Denials;
  readonly meter: Meter;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  authenticate(
    username: string | undefined,
    token: string | undefined,
    certificate: ClientCertificate | null,
  ): Promise<DeviceEntry | Denied>;
  takenBefore(origin: Origin): Promise<Taken>;
  hold(device: number): void;
  release(device: number): void;
  /** The connection has bytes to flush at the end of the commit. */
  markDirty(connection: MqttConnection): void;
  /** The connection has stopped reading until the journal has room. */
  markPaused(connection: MqttConnection): void;
  onClosed(connection: MqttConnection): void;
}

/** CONNECT and what a stranger may send before it is answered. */
const connectBytesMax = 16 * 1024;
export const connectTimeoutMs = 10_000;
const clientIDLengthMax = 256;

const pingresp = Buffer.from([0xd0, 0]);

/** CONNACK return codes, MQTT 3.1.1 §3.2.2.3. */
const returnCodes: Partial<Record<EndReason, number>> = {
  version: 1,
  client_id: 2,
  unavailable: 3,
  sessions: 3,
  shutdown: 3,
  credentials: 4,
  blocked: 5,
};

/** One MQTT 3.1.1 connection. A class, because ten thousand of them share one set of methods. */
export class MqttConnection implements Session, InboundOwner {
  readonly #context: MqttContext;
  readonly #socket: Wire;
  readonly #parser: Parser;
  readonly #frames = createFrameWatch();
  readonly #outbox: Outbox;
  #deliveries: Deliveries | null = null;
  #state: SessionState | null = null;
  /** Packets that wait for something asynchronous: authentication, or the history of a redelivery. */
  #waiting: Packet[] | null = null;
  #phase: "new" | "connecting" | "open" | "closed" = "new";
  #origin: Origin | null = null;
  #clientID = "";
  #token = "";
  /** Of a connection on the mutual-TLS listener. */
  readonly certificate: ClientCertificate | null;
  readonly #ip: string;
  readonly #inbound: Inbound;
  #sessionExpiry: number | null = null;
  #keepAlive = 0;
  /** Its connect record is written: its end is written as well. */
  #isOnRecord = false;
  #paused = false;
  #keepAliveMs = connectTimeoutMs;
  #heardAt: number;

  constructor(context: MqttContext, socket: Wire, certificate: ClientCertificate | null) {
    this.#context = context;
    this.#socket = socket;
    this.certificate = certificate;
    this.#ip = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
    this.#outbox = createOutbox(socket);
    this.#inbound = new Inbound(context, this.#outbox, this);
    this.#parser = mqttPacket.parser({ protocolVersion: 4 });
    this.#heardAt = context.now();
    this.#parser.on("packet", (packet: Packet) => this.#take(packet));
    this.#parser.on("error", () => this.end("protocol"));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#close(error instanceof WireError ? error.reason : "lost"));
    socket.on("close", () => this.#close("lost"));
  }

  get clientID(): string {
    return this.#clientID;
  }

  get token(): string {
    return this.#token;
  }

  get entry(): DeviceEntry {
    return this.origin.device;
  }

  get state(): SessionState | null {
    return this.#state;
  }

  get isPaused(): boolean {
    return this.#paused && this.#phase !== "closed";
  }

  /** Ends the connection from our side; before CONNACK the client is told why. */
  end(reason: EndReason): void {
    if (this.#phase === "closed") return;
    const code = returnCodes[reason];
    if (this.#phase === "connecting" && code !== undefined) this.#connack(code);
    this.#outbox.flush();
    this.#close(reason);
    this.#socket.end();
    // A peer that never closes its half is cut off.
    setTimeout(() => this.#socket.destroy(), 1000).unref();
  }

  flush(): void {
    this.#outbox.flush();
  }

  /** Reads on when both its own window and the journal have room again. */
  resumeIfRoom(): void {
    if (!this.#paused || this.#phase === "closed" || this.#isFull(0.5)) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Called every second: ends a connection whose certificate has run out, or that is silent [MQTT-3.1.2-24]. */
  checkSilence(now: number): void {
    if (this.#phase === "open" && this.certificate !== null && !isValidAt(this.certificate, now)) {
      this.end("thrown_out");
    } else if (this.#paused || this.#waiting !== null) {
      this.#heardAt = now;
    } else if (this.#keepAliveMs > 0 && now - this.#heardAt > this.#keepAliveMs) {
      this.end(this.#phase === "open" ? "keep_alive" : "connect_timeout");
    }
  }

  get isClosed(): boolean {
    return this.#phase === "closed";
  }

  /** Who it is. @throws Error before CONNECT has been accepted */
  get origin(): Origin {
    if (this.#origin === null) throw new Error("cannot use the connection: CONNECT has not been accepted");
    return this.#origin;
  }

  #read(chunk: Buffer): void {
    if (this.#phase === "closed") return;
    this.#heardAt = this.#context.now();
    const bytesMax = this.#phase === "open" ? packetBytesMax : connectBytesMax;
    if (!this.#frames.inspect(chunk, bytesMax)) return this.end("oversize");
    try {
      this.#parser.parse(chunk);
    } catch {
      this.end("protocol");
    }
    this.#outbox.flush();
    if (this.#isFull(1)) this.#pause();
  }

  #isFull(share: number): boolean {
    return this.#waiting !== null || this.#inbound.isFull(share) || this.#context.accept.full;
  }

  #pause(): void {
    if (this.#paused || this.#phase === "closed") return;
    this.#paused = true;
    this.#socket.pause();
    this.#context.markPaused(this);
  }

  #take(packet: Packet): void {
    if (this.#waiting !== null) {
      this.#waiting.push(packet);
    } else if (this.#phase === "new") {
      if (packet.cmd === "connect") this.#connect(packet);
      else this.end("protocol");
    } else if (this.#phase === "open") {
      this.#handle(packet);
    }
  }

  #handle(packet: Packet): void {
    switch (packet.cmd) {
      case "publish":
        return this.#inbound.publish(packet);
      case "puback":
      case "pubcomp":
        return this.#deliveries?.acknowledged(packet.messageId ?? 0);
      case "pubrec":
        return this.#deliveries?.received(packet.messageId ?? 0);
      case "pubrel":
        return this.#inbound.release(packet.messageId ?? 0);
      case "subscribe":
        return this.#subscribe(packet);
      case "unsubscribe":
        return this.#unsubscribe(packet);
      case "pingreq":
        return this.#outbox.push(pingresp);
      case "disconnect":
        this.#close("disconnect");
        this.#socket.end();
        return;
      default:
        // A second CONNECT [MQTT-3.1.0-2], or a packet that only servers send.
        return this.end("protocol");
    }
  }

  markDirty(): void {
    this.#context.markDirty(this);
  }

  /** Holds back `first` and what follows until `action` has ended, so that the order of packets is kept. */
  holdBack(action: () => Promise<void>, first?: Packet): void {
    const waiting: Packet[] = first === undefined ? [] : [first];
    this.#waiting = waiting;
    this.#pause();
    action()
      .catch(() => this.end("unavailable"))
      .finally(() => {
        this.#waiting = null;
        for (const [i, packet] of waiting.entries()) {
          this.#take(packet);
          const again = this.#waiting as Packet[] | null;
          if (again !== null) {
            again.push(...waiting.slice(i + 1));
            break;
          }
        }
        this.#outbox.flush();
        this.resumeIfRoom();
      });
  }

  #connect(packet: IConnectPacket): void {
    this.#phase = "connecting";
    if (packet.protocolVersion === 5 || packet.protocolVersion === 3) return this.#refuseVersion(packet);
    const clientID = packet.clientId === "" && packet.clean !== false ? randomUUID() : packet.clientId;
    // U+0000 ends the connection wherever it stands [MQTT-1.5.3-2].
    if (clientID.includes("\0")) return this.end("protocol");
    if (clientID === "" || clientID.length > clientIDLengthMax) return this.end("client_id");
    this.holdBack(async () => {
      if (this.#context.accept.full) return this.end("unavailable");
      const token = packet.password?.toString("utf8");
      const found = await this.#context.authenticate(packet.username, token, this.certificate);
      if (this.#phase !== "connecting") return;
      if ("denial" in found) {
        const { device, denial } = found;
        if (device !== null) this.#context.denials.add(device, this.#ip, clientID, packet.keepalive ?? 0);
        return this.end(denial);
      }
      this.#clientID = clientID;
      this.#token = token ?? "";
      // What the feed brought since the answer was given has found no session to throw out.
      if (!isEntitled(found, this)) return this.end("credentials");
      await this.#open(found, packet);
    });
  }

  #refuseVersion(packet: IConnectPacket): void {
    if (packet.protocolVersion === 5) {
      // A 5.0 client understands only its own CONNACK: 0x84 Unsupported Protocol Version.
      const connack = { cmd: "connack", reasonCode: 0x84, sessionPresent: false } as const;
      this.#outbox.push(mqttPacket.generate(connack, { protocolVersion: 5 }));
      this.#phase = "new";
    }
    this.end("version");
  }

  /** CONNACK waits for the disk: then the session is what the journal says it is. */
  #open(device: DeviceEntry, packet: IConnectPacket): Promise<void> {
    const { sessions, records } = this.#context;
    const ip = this.#ip;
    const session = sessionOf(this.#clientID);
    const request = requestOf(packet, this.#clientID);
    this.#keepAlive = request.keepAlive;
    this.#origin = { device, connection: 0, session, ip };
    // The session that this one takes over ends before this one is on record.
    if (!sessions.open(this)) {
      this.#origin = null;
      this.end("sessions");
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const connection = records.connect({ device, session, ip }, request, (state, present) => {
        if (!this.isClosed) this.#begin(state, present);
        resolve();
      });
      this.#origin = { device, connection, session, ip };
      this.#context.hold(device.id);
      this.#isOnRecord = true;
    });
  }

  #begin(state: SessionState, present: boolean): void {
    const { presence, meter, now, records } = this.#context;
    const { device, ip } = this.origin;
    const deliveries = createDeliveries(state, {
      ...{ outbox: this.#outbox, meter, now, inFlightMax: inFlightDefault },
      records: {
        delivered: (messageID) => records.delivered(this.origin, state, messageID),
        received: (messageID, done) => records.received(this.origin, state, messageID, done),
      },
      isClosed: () => this.isClosed,
      markDirty: () => this.markDirty(),
    });
    this.#state = state;
    this.#deliveries = deliveries;
    state.link = deliveries;
    this.#keepAliveMs = this.#keepAlive * 1500;
    presence.connected(device.id, ip, this.#keepAlive, now());
    meter.connections++;
    this.#phase = "open";
    this.#connack(0, present);
    deliveries.resume();
  }

  #connack(returnCode: number, sessionPresent = false): void {
    this.#outbox.push(Buffer.from([0x20, 2, sessionPresent ? 1 : 0, returnCode]));
  }

  #subscribe(packet: ISubscribePacket): void {
    const state = this.#state;
    if (state === null || packet.subscriptions.some(({ topic }) => topic.includes("\0"))) {
      return this.end("protocol");
    }
    const filters = new Map<string, Subscription>();
    const granted = packet.subscriptions.map(({ topic, qos }) => {
      const known = state.subscriptions.has(topic) || filters.has(topic);
      const room = known || state.subscriptions.size + filters.size < subscriptionsMax;
      if (!isTopicFilter(topic) || !room) return 0x80;
      filters.set(topic, {
        qos,
        noLocal: false,
        retainAsPublished: false,
        retainHandling: 0,
        identifier: null,
      });
      return qos;
    });
    this.#context.records.subscribe(this.origin, state, [...filters], () => {
      if (this.isClosed) return;
      this.#outbox.push(mqttPacket.generate({ cmd: "suback", messageId: packet.messageId ?? 0, granted }));
      if (filters.has("$time")) this.#tellTime();
      this.markDirty();
    });
  }

  #tellTime(): void {
    const at = this.#context.now() * 1000;
    const envelope = {
      topic: "$time",
      qos: 0,
      retain: false,
      properties: null,
      identifiers: [],
      at,
    } as const;
    this.#deliveries?.deliver({ ...envelope, payload: clock(this.#context.now()) });
  }

  #unsubscribe(packet: IUnsubscribePacket): void {
    if (this.#state === null) return;
    this.#context.records.unsubscribe(this.origin, this.#state, packet.unsubscriptions, () => {
      if (this.isClosed) return;
      this.#outbox.push(
        mqttPacket.generate({ cmd: "unsuback", messageId: packet.messageId ?? 0, granted: [] }),
      );
      this.markDirty();
    });
  }

  #close(reason: EndReason): void {
    if (this.#phase === "closed") return;
    const wasOpen = this.#phase === "open";
    this.#phase = "closed";
    count(this.#context.meter.ended, reason);
    if (this.#isOnRecord) this.#leave(reason);
    if (wasOpen) {
      this.#context.presence.disconnected(this.origin.device.id);
      this.#context.meter.connections--;
    }
    this.#context.onClosed(this);
  }

  #leave(reason: EndReason): void {
    const { sessions, records } = this.#context;
    const goodbye = { orderly: reason === "disconnect", sessionExpiry: this.#sessionExpiry };
    records.disconnect(this.origin, this.#keepAlive, goodbye);
    sessions.close(this);
    if (this.#state?.link === this.#deliveries && this.#state !== null) this.#state.link = null;
    this.#context.release(this.origin.device.id);
  }
}

/** Below 5.0 a session either ends with its connection or has no end, which is bounded here. */
function requestOf(packet: IConnectPacket, clientID: string): SessionRequest {
  const cleanStart = packet.clean !== false;
  return {
    ...{ clientID, cleanStart, keepAlive: packet.keepalive ?? 0 },
    sessionExpiry: cleanStart ? endsWithConnection : Math.min(neverExpires, sessionExpiryMax),
    will: willOf(packet),
  };
}

function willOf({ will }: IConnectPacket): Will | null {
  if (will === undefined) return null;
  const { topic, payload, qos = 0, retain = false } = will;
  return { topic, payload: Buffer.from(payload), qos, retain, delay: 0, properties: null };
}

/** The clock as topic `$time` serves it: milliseconds since 1970. */
function clock(now: number): Buffer {
  return Buffer.from(JSON.stringify({ time: now }));
}
