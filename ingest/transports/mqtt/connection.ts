import type { Socket } from "node:net";
import { type Origin, packetBytesMax, sessionOf } from "../../accept.js";
import type { DeviceEntry } from "../../directory.js";
import { endsWithConnection, type Subscription, type Will } from "../../message.js";
import { count, type EndReason } from "../../meter.js";
import type { Carried, Session, Settled } from "../../sessions.js";
import * as answers from "./answers.js";
import { readConnect, readProtocol } from "./connect.js";
import type { MqttContext } from "./context.js";
import { checkFlags, decodePacket, packetTypes } from "./decode.js";
import { createDeliveries, type Deliveries } from "./deliveries.js";
import { type FrameOwner, Framer } from "./framing.js";
import { accepted, agreedKeepAlive, farewell, refused, strangersTerms } from "./greetings.js";
import { Inbound, type InboundOwner } from "./inbound.js";
import { createOutbox, type Outbox } from "./outbox.js";
import type {
  AckPacket,
  ClientPacket,
  ConnectRequest,
  DisconnectPacket,
  PublishPacket,
  SubscribePacket,
  Terms,
  UnsubscribePacket,
} from "./packets.js";
import { createPublishEncoder } from "./publish-packet.js";
import { protocolError, Reader, Violation } from "./reader.js";
import { code, endings, failure } from "./reasons.js";
import { createSubscribing, refusal, type Subscribing } from "./subscribing.js";
import { createTopicAliases, type TopicAliases } from "./topic-aliases.js";

/** CONNECT and what a stranger may send before it is answered. */
const connectBytesMax = 16 * 1024;
export const connectTimeoutMs = 10_000;

const pingresp = Buffer.from([0xd0, 0]);

/** One connection of MQTT 3.1, 3.1.1 or 5. A class, because ten thousand of them share one set of methods. */
export class MqttConnection implements Session, InboundOwner, FrameOwner {
  readonly subscriptions = new Map<string, Subscription>();
  readonly #context: MqttContext;
  readonly #socket: Socket;
  readonly #framer = new Framer();
  readonly #outbox: Outbox;
  readonly #inbound: Inbound;
  #deliveries: Deliveries | null = null;
  #subscribing: Subscribing | null = null;
  #aliases: TopicAliases | null = null;
  /** Packets that wait for something asynchronous: authentication, or the history of a redelivery. */
  #waiting: ClientPacket[] | null = null;
  #state: "new" | "connecting" | "open" | "closed" = "new";
  #terms: Terms = strangersTerms(4);
  #request: ConnectRequest | null = null;
  #origin: Origin | null = null;
  /** Seconds that the session outlives the connection; DISCONNECT may change it. */
  #sessionExpiry = endsWithConnection;
  #will: Will | null = null;
  #keepAlive = 0;
  #paused = false;
  #keepAliveMs = connectTimeoutMs;
  #heardAt: number;

  constructor(context: MqttContext, socket: Socket) {
    this.#context = context;
    this.#socket = socket;
    this.#outbox = createOutbox(socket);
    this.#inbound = new Inbound(context, this.#outbox, this);
    this.#heardAt = context.now();
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => this.#close("lost"));
    socket.on("close", () => this.#close("lost"));
  }

  get clientID(): string {
    return this.#request?.clientID ?? "";
  }

  get token(): string {
    return this.#request?.token ?? "";
  }

  get terms(): Terms {
    return this.#terms;
  }

  get entry(): DeviceEntry {
    return this.origin.device;
  }

  get hasInbox(): boolean {
    return this.#subscribing?.hasInbox ?? true;
  }

  get isPaused(): boolean {
    return this.#paused && this.#state !== "closed";
  }

  deliver(topic: string, payload: Uint8Array, qos: number, settled?: Settled, carried?: Carried): boolean {
    const taken = this.#deliveries?.deliver(topic, payload, qos, settled, carried) ?? false;
    this.#context.markDirty(this);
    return taken;
  }

  /** Ends the connection from our side; the client is told why where its version has words for it. */
  end(reason: EndReason, detail?: string): void {
    if (this.#state === "closed") return;
    this.#say(reason, detail ?? endings[reason].text);
    this.#shut(reason);
  }

  /** Why it ends: in CONNACK before it has been accepted, in DISCONNECT, which only MQTT 5 knows, after it. */
  #say(reason: EndReason, text: string): void {
    if (this.#state === "connecting") this.#push(refused(this.#terms, reason, text));
    else if (this.#state === "open") this.#push(farewell(this.#terms, reason, text));
  }

  #shut(reason: EndReason): void {
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

  get frameBytesMax(): number {
    return this.#state === "open" ? packetBytesMax : connectBytesMax;
  }

  get strictLengths(): boolean {
    return this.#terms.version === 5;
  }

  #read(chunk: Buffer): void {
    if (this.#state === "closed") return;
    this.#heardAt = this.#context.now();
    this.#guard(() => this.#framer.read(chunk, this));
    this.#outbox.flush();
    if (this.#isFull(1)) this.#pause();
  }

  /** Ends the connection where the client has broken the rules. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.end(error.reason, error.message);
    }
  }

  begin(firstByte: number): void {
    if (this.#state !== "new" || firstByte >> 4 === packetTypes.connect) return;
    throw protocolError("the first packet is not CONNECT");
  }

  frame(firstByte: number, bytes: Buffer, start: number, end: number): void {
    const reader = new Reader(bytes, start, end);
    if (this.#state === "new") return this.#connect(firstByte & 15, reader);
    const packet = decodePacket(firstByte, reader, this.#terms.version);
    this.#take(packet.cmd === "publish" && packet.alias > 0 ? this.#withTopic(packet) : packet);
  }

  #withTopic(packet: PublishPacket): PublishPacket {
    this.#aliases ??= createTopicAliases();
    return { ...packet, topic: this.#aliases.resolve(packet.topic, packet.alias), alias: 0 };
  }

  #isFull(share: number): boolean {
    return this.#waiting !== null || this.#inbound.isFull(share) || this.#context.accept.full;
  }

  #pause(): void {
    if (this.#paused || this.#state === "closed") return;
    this.#paused = true;
    this.#socket.pause();
    this.#context.markPaused(this);
  }

  #take(packet: ClientPacket): void {
    if (this.#waiting !== null) this.#waiting.push(packet);
    else if (this.#state === "open") this.#handle(packet);
  }

  #handle(packet: ClientPacket): void {
    switch (packet.cmd) {
      case "publish":
        return this.#inbound.publish(packet);
      case "puback":
      case "pubcomp":
        return this.#deliveries?.acknowledged(packet.messageID, packet.code);
      case "pubrec":
        return this.#received(packet);
      case "pubrel":
        return this.#inbound.release(packet.messageID);
      case "subscribe":
        return this.#subscribe(packet);
      case "unsubscribe":
        return this.#unsubscribe(packet);
      case "pingreq":
        return this.#outbox.push(pingresp);
      case "disconnect":
        return this.#disconnect(packet);
    }
  }

  markDirty(): void {
    this.#context.markDirty(this);
  }

  /** Holds back `first` and what follows until `action` has ended, so that the order of packets is kept. */
  holdBack(action: () => Promise<void>, first?: ClientPacket): void {
    const waiting: ClientPacket[] = first === undefined ? [] : [first];
    this.#waiting = waiting;
    this.#pause();
    action()
      .catch(() => this.end("unavailable"))
      .finally(() => {
        this.#waiting = null;
        this.#guard(() => this.#takeAll(waiting));
        this.#outbox.flush();
        this.resumeIfRoom();
      });
  }

  #takeAll(packets: readonly ClientPacket[]): void {
    for (const [i, packet] of packets.entries()) {
      this.#take(packet);
      const again = this.#waiting as ClientPacket[] | null;
      if (again === null) continue;
      again.push(...packets.slice(i + 1));
      break;
    }
  }

  #connect(flags: number, reader: Reader): void {
    const { version, served } = readProtocol(reader);
    this.#terms = strangersTerms(version);
    this.#state = "connecting";
    if (!served) return this.end("version");
    checkFlags(packetTypes.connect, flags, version);
    const request = readConnect(reader, version);
    this.#request = request;
    this.#terms = request;
    this.holdBack(async () => {
      if (this.#context.accept.full) return this.end("unavailable");
      const found = await this.#context.authenticate(request.username, request.token);
      if (this.#state !== "connecting") return;
      if ("denial" in found) {
        const { device, denial } = found;
        const { clientID, keepAlive } = request;
        if (device !== null) this.#context.denials.add(device, this.#ip, clientID, keepAlive);
        return this.end(denial);
      }
      this.#open(found, request);
    });
  }

  #open(device: DeviceEntry, request: ConnectRequest): void {
    const { accept, sessions, presence, unreleased, meter, now, refusesFilter } = this.#context;
    const { clientID, cleanStart } = request;
    const ip = this.#ip;
    const session = sessionOf(clientID);
    const keepAlive = agreedKeepAlive(request, this.#context.keepAliveMax);
    this.#keepAlive = keepAlive;
    this.#sessionExpiry = request.sessionExpiry;
    this.#will = request.will;
    // The session that this one takes over ends before this one is on record.
    this.#origin = { device, connection: 0, session, ip };
    if (!sessions.open(this)) {
      this.#origin = null;
      return this.end("sessions");
    }
    const ends = request.sessionExpiry === endsWithConnection;
    const connection = accept.connect({ device, session, ip }, clientID, keepAlive, ends);
    this.#origin = { device, connection, session, ip };
    if (cleanStart) unreleased.clear(device.id, session);
    else unreleased.inherit(device.id, session);
    this.#keepAliveMs = keepAlive * 1500;
    this.#deliveries = createDeliveries(this.#outbox, meter, createPublishEncoder(request), now);
    const refuses = (filter: string): boolean => refusesFilter?.(this.entry, filter) ?? false;
    this.#subscribing = createSubscribing(this.subscriptions, device.device.deviceID, refuses);
    this.#context.hold(device.id);
    presence.connected(device.id, ip, keepAlive, now());
    meter.connections++;
    this.#state = "open";
    const connack = accepted(request, keepAlive);
    // Nothing may go before CONNACK, not even DISCONNECT [MQTT-3.14.0-1].
    if (connack === null) this.#shut("oversize");
    else this.#outbox.push(connack);
  }

  get #ip(): string {
    return this.#socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
  }

  #push(bytes: Buffer | null): void {
    if (bytes !== null) this.#outbox.push(bytes);
  }

  /** An answer that the client cannot take ends the connection. */
  #answer(bytes: Buffer | null): void {
    if (bytes === null) this.end("oversize", "the answer is larger than the client allows");
    else this.#outbox.push(bytes);
  }

  #received({ messageID, code: reasonCode }: AckPacket): void {
    if (this.#deliveries?.received(messageID, reasonCode)) return;
    if (this.#terms.version < 5 || reasonCode >= failure) return;
    const text = "no message with this packet id is in flight";
    this.#answer(answers.negativeAck(this.#terms, "pubrel", messageID, code.packetIDNotFound, text));
  }

  #subscribe(packet: SubscribePacket): void {
    const codes = this.#subscribing?.subscribe(packet) ?? [];
    this.#answer(answers.suback(this.#terms, packet.messageID, codes, refusal(codes)));
    for (const [i, { filter, options }] of packet.filters.entries()) {
      if (filter === "$time" && (codes[i] ?? failure) < failure) this.#tellTime(options);
    }
  }

  #tellTime({ qos, identifier }: Subscription): void {
    const carried = { retain: false, properties: null, identifiers: identifier === null ? [] : [identifier] };
    this.#deliveries?.deliver("$time", clock(this.#context.now()), qos, undefined, carried);
  }

  #unsubscribe(packet: UnsubscribePacket): void {
    const codes = this.#subscribing?.unsubscribe(packet.filters) ?? [];
    this.#answer(answers.unsuback(this.#terms, packet.messageID, codes));
  }

  #disconnect({ code: reasonCode, sessionExpiry }: DisconnectPacket): void {
    if (sessionExpiry !== null) {
      if (sessionExpiry > 0 && this.#request?.sessionExpiry === endsWithConnection) {
        throw protocolError("a session that ends with its connection cannot be kept after all");
      }
      this.#sessionExpiry = sessionExpiry;
    }
    if (reasonCode === code.success) this.#will = null;
    this.#close("disconnect");
    this.#socket.end();
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
    const { accept, sessions, presence, unreleased, meter } = this.#context;
    accept.disconnect(origin, reason === "disconnect", this.#keepAlive);
    sessions.close(this);
    this.#deliveries?.close();
    presence.disconnected(origin.device.id);
    this.#context.release(origin.device.id);
    // Of a session that ends here nothing outlives the connection, unless another one has taken it over.
    const ends = this.#sessionExpiry === endsWithConnection;
    if (ends && reason !== "taken_over") unreleased.clear(origin.device.id, origin.session);
    meter.connections--;
    this.#context.onLeft?.(origin, { reason, sessionExpiry: this.#sessionExpiry, will: this.#will });
  }
}

/** The clock as topic `$time` serves it: milliseconds since 1970. */
function clock(now: number): Buffer {
  return Buffer.from(JSON.stringify({ time: now }));
}
