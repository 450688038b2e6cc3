import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { setTimeout as setTimeoutAsync } from "node:timers/promises";
import mqttPacket, {
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type IUnsubscribePacket,
  type Packet,
  type Parser,
} from "mqtt-packet";
import { type Accept, type Origin, packetBytesMax, sessionOf } from "../../accept.js";
import type { Denied } from "../../credentials.js";
import type { Denials } from "../../denials.js";
import type { DeviceEntry } from "../../directory.js";
import type { Limiter, Limits } from "../../limits.js";
import { count, type EndReason, type Meter } from "../../meter.js";
import {
  applyPlatform,
  declinedByClient,
  ownedByClient,
  type PlatformPart,
  type PlatformSubscription,
} from "../../platform-subscriptions.js";
import { mayReceive, maySubscribe } from "../../policies.js";
import type { Presence } from "../../presence.js";
import type { Taken } from "../../redelivery.js";
import type { Session, Sessions, Settled } from "../../sessions.js";
import { inboxAlias, inboxTopic, isTopicFilter } from "../../topics.js";
import type { Unreleased } from "../../unreleased.js";
import { createDeliveries, type Deliveries } from "./deliveries.js";
import { createFrameWatch } from "./framing.js";
import { Inbound, type InboundOwner } from "./inbound.js";
import { createOutbox, type Outbox } from "./outbox.js";

/** What every connection of the endpoint shares. */
export interface MqttContext {
  readonly accept: Accept;
  readonly sessions: Sessions;
  readonly presence: Presence;
  readonly unreleased: Unreleased;
  readonly denials: Denials;
  readonly meter: Meter;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Null: nothing is limited. */
  readonly limits: Limits | null;
  authenticate(
    username: string | undefined,
    token: string | undefined,
    address: string,
  ): Promise<DeviceEntry | Denied>;
  platformSubscriptions(entry: DeviceEntry): readonly PlatformSubscription[];
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
const subscriptionsMax = 1000;

const pingresp = Buffer.from([0xd0, 0]);

/** CONNACK return codes, MQTT 3.1.1 §3.2.2.3. */
const returnCodes: Partial<Record<EndReason, number>> = {
  version: 1,
  client_id: 2,
  unavailable: 3,
  sessions: 3,
  connections: 3,
  shutdown: 3,
  credentials: 4,
  back_off: 5,
  blocked: 5,
};

/** One MQTT 3.1.1 connection. A class, because ten thousand of them share one set of methods. */
export class MqttConnection implements Session, InboundOwner {
  readonly subscriptions = new Map<string, number>();
  platform: PlatformPart | null = null;
  readonly #context: MqttContext;
  readonly #socket: Socket;
  readonly #parser: Parser;
  readonly #frames = createFrameWatch();
  readonly #outbox: Outbox;
  readonly #deliveries: Deliveries;
  /** Packets that wait for something asynchronous: authentication, or the history of a redelivery. */
  #waiting: Packet[] | null = null;
  #state: "new" | "connecting" | "open" | "closed" = "new";
  #origin: Origin | null = null;
  #clientID = "";
  #token = "";
  readonly #inbound: Inbound;
  #cleanSession = true;
  #hasInbox = true;
  #keepAlive = 0;
  #paused = false;
  #limiter: Limiter | null = null;
  /** The message that has waited for its limit. */
  #charged: Packet | null = null;
  #keepAliveMs = connectTimeoutMs;
  #heardAt: number;

  constructor(context: MqttContext, socket: Socket) {
    this.#context = context;
    this.#socket = socket;
    this.#outbox = createOutbox(socket);
    this.#deliveries = createDeliveries(this.#outbox, context.meter);
    this.#inbound = new Inbound(context, this.#outbox, this);
    this.#parser = mqttPacket.parser({ protocolVersion: 4 });
    this.#heardAt = context.now();
    this.#parser.on("packet", (packet: Packet) => this.#take(packet));
    this.#parser.on("error", () => this.end("protocol"));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => this.#close("lost"));
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

  get hasInbox(): boolean {
    return this.#hasInbox;
  }

  get isPaused(): boolean {
    return this.#paused && this.#state !== "closed";
  }

  deliver(topic: string, payload: Uint8Array, qos: number, settled?: Settled): boolean {
    const taken = this.#deliveries.deliver(topic, payload, qos, settled);
    this.#context.markDirty(this);
    return taken;
  }

  /** Ends the connection from our side; before CONNACK the client is told why. */
  end(reason: EndReason): void {
    if (this.#state === "closed") return;
    const code = returnCodes[reason];
    if (this.#state === "connecting" && code !== undefined) this.#connack(code);
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
    if (!this.#paused || this.#state === "closed" || this.#isFull(0.5)) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Called every second: ends a connection that has been silent too long [MQTT-3.1.2-24]. */
  checkSilence(now: number): void {
    if (this.#paused || this.#waiting !== null) {
      this.#heardAt = now;
    } else if (this.#keepAliveMs > 0 && now - this.#heardAt > this.#keepAliveMs) {
      this.end(this.#state === "open" ? "keep_alive" : "connect_timeout");
    }
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Who it is. @throws Error before CONNECT has been accepted */
  get origin(): Origin {
    if (this.#origin === null) throw new Error("cannot use the connection: CONNECT has not been accepted");
    return this.#origin;
  }

  #read(chunk: Buffer): void {
    if (this.#state === "closed") return;
    this.#heardAt = this.#context.now();
    const bytesMax = this.#state === "open" ? packetBytesMax : connectBytesMax;
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
    if (this.#paused || this.#state === "closed") return;
    this.#paused = true;
    this.#socket.pause();
    if (this.#waiting === null) this.#context.markPaused(this);
  }

  #take(packet: Packet): void {
    if (this.#waiting !== null) {
      this.#waiting.push(packet);
    } else if (this.#state === "new") {
      if (packet.cmd === "connect") this.#connect(packet);
      else this.end("protocol");
    } else if (this.#state === "open") {
      this.#handle(packet);
    }
  }

  #handle(packet: Packet): void {
    switch (packet.cmd) {
      case "publish":
        if (this.#limiter !== null && !this.#isWithin(this.#limiter, packet)) return;
        return this.#inbound.publish(packet);
      case "puback":
      case "pubcomp":
        return this.#deliveries.acknowledged(packet.messageId ?? 0);
      case "pubrec":
        return this.#deliveries.received(packet.messageId ?? 0);
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
        if (this.isPaused && this.#waiting === null) this.#context.markPaused(this);
      });
  }

  /** Slows down what is over its limit, and ends the connection where that is not enough. */
  #isWithin(limiter: Limiter, packet: IPublishPacket): boolean {
    if (this.#charged === packet) return true;
    const waitMs = limiter.take(packet.topic.length + packet.payload.length);
    if (waitMs === 0) return true;
    if (waitMs === null) this.end("rate");
    else {
      this.#charged = packet;
      this.#context.meter.slowedDown++;
      this.holdBack(() => setTimeoutAsync(waitMs, undefined, { ref: false }), packet);
    }
    return false;
  }

  #connect(packet: IConnectPacket): void {
    this.#state = "connecting";
    if (packet.protocolVersion === 5 || packet.protocolVersion === 3) return this.#refuseVersion(packet);
    const clientID = packet.clientId === "" && packet.clean !== false ? randomUUID() : packet.clientId;
    // U+0000 ends the connection wherever it stands [MQTT-1.5.3-2].
    if (clientID.includes("\0")) return this.end("protocol");
    if (clientID === "" || clientID.length > clientIDLengthMax) return this.end("client_id");
    this.holdBack(async () => {
      if (this.#context.accept.full) return this.end("unavailable");
      const token = packet.password?.toString("utf8");
      const found = await this.#context.authenticate(packet.username, token, this.#ip);
      if (this.#state !== "connecting") return;
      if ("denial" in found) {
        const { device, denial } = found;
        if (device !== null) this.#context.denials.add(device, this.#ip, clientID, packet.keepalive ?? 0);
        return this.end(denial);
      }
      this.#clientID = clientID;
      this.#token = token ?? "";
      this.#open(found, packet);
    });
  }

  #refuseVersion(packet: IConnectPacket): void {
    if (packet.protocolVersion === 5) {
      // A 5.0 client understands only its own CONNACK: 0x84 Unsupported Protocol Version.
      const connack = { cmd: "connack", reasonCode: 0x84, sessionPresent: false } as const;
      this.#outbox.push(mqttPacket.generate(connack, { protocolVersion: 5 }));
      this.#state = "new";
    }
    this.end("version");
  }

  #open(device: DeviceEntry, packet: IConnectPacket): void {
    const { accept, sessions, presence, unreleased, limits } = this.#context;
    const ip = this.#ip;
    const session = sessionOf(this.#clientID);
    const keepAlive = packet.keepalive ?? 0;
    this.#keepAlive = keepAlive;
    this.#cleanSession = packet.clean !== false;
    // The session that this one takes over ends before this one is on record.
    this.#origin = { device, connection: 0, session, ip };
    if (!sessions.open(this)) {
      this.#origin = null;
      return this.end("sessions");
    }
    if (limits?.enter(device) === false) {
      sessions.close(this);
      this.#origin = null;
      return this.end("connections");
    }
    this.#limiter = limits?.limiter(device) ?? null;
    applyPlatform(this, this.#context.platformSubscriptions(device));
    const connection = accept.connect({ device, session, ip }, this.#clientID, keepAlive, this.#cleanSession);
    this.#origin = { device, connection, session, ip };
    if (this.#cleanSession) unreleased.clear(device.id, session);
    else unreleased.inherit(device.id, session);
    this.#keepAliveMs = keepAlive * 1500;
    this.#context.hold(device.id);
    presence.connected(this.#origin, keepAlive, this.#context.now());
    this.#context.meter.connections++;
    this.#state = "open";
    this.#connack(0);
    // Its row may have changed since it was authenticated.
    sessions.check(device.id, device);
  }

  get #ip(): string {
    return this.#socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
  }

  #connack(returnCode: number): void {
    this.#outbox.push(Buffer.from([0x20, 2, 0, returnCode]));
  }

  #subscribe(packet: ISubscribePacket): void {
    if (packet.subscriptions.some(({ topic }) => topic.includes("\0"))) return this.end("protocol");
    const granted = packet.subscriptions.map(({ topic, qos }) => {
      const room = this.subscriptions.has(topic) || this.subscriptions.size < subscriptionsMax;
      if (!isTopicFilter(topic) || !room) return 0x80;
      if (!maySubscribe(this.entry, topic)) {
        count(this.#context.meter.policyRefused, "subscribe");
        return 0x80;
      }
      ownedByClient(this, topic);
      this.subscriptions.set(topic, qos);
      if (this.#isInbox(topic)) this.#hasInbox = false;
      return qos;
    });
    this.#outbox.push(mqttPacket.generate({ cmd: "suback", messageId: packet.messageId ?? 0, granted }));
    for (const { topic, qos } of packet.subscriptions) {
      if (topic === "$time" && mayReceive(this.entry, topic))
        this.#deliveries.deliver("$time", clock(this.#context.now()), qos);
    }
  }

  #unsubscribe(packet: IUnsubscribePacket): void {
    for (const topic of packet.unsubscriptions) {
      declinedByClient(this, topic);
      this.subscriptions.delete(topic);
      if (this.#isInbox(topic)) this.#hasInbox = false;
    }
    this.#outbox.push(
      mqttPacket.generate({ cmd: "unsuback", messageId: packet.messageId ?? 0, granted: [] }),
    );
  }

  /** Whoever names the inbox takes over the subscription to it. */
  #isInbox(filter: string): boolean {
    return filter === inboxTopic || filter === inboxAlias(this.entry.device.deviceID);
  }

  #close(reason: EndReason): void {
    if (this.#state === "closed") return;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    count(this.#context.meter.ended, reason);
    if (wasOpen) this.#leave(reason);
    this.#context.onClosed(this);
  }

  #leave(reason: EndReason): void {
    const origin = this.origin;
    const { accept, sessions, presence, unreleased, meter, limits } = this.#context;
    accept.disconnect(origin, reason === "disconnect", this.#keepAlive, reason);
    limits?.leave(origin.device);
    sessions.close(this);
    this.#deliveries.close();
    presence.disconnected(origin);
    this.#context.release(origin.device.id);
    // Of a clean session nothing outlives the connection, unless another one has taken it over.
    if (this.#cleanSession && reason !== "taken_over") unreleased.clear(origin.device.id, origin.session);
    meter.connections--;
  }
}

/** The clock as topic `$time` serves it: milliseconds since 1970. */
function clock(now: number): Buffer {
  return Buffer.from(JSON.stringify({ time: now }));
}
