import { asError } from "../../../store/errors.js";
import { type Origin, packetBytesMax, sessionOf } from "../../accept.js";
import { type ClientCertificate, isEntitled, isValidAt } from "../../credentials.js";
import type { DeviceEntry } from "../../directory-entries.js";
import type { Limits } from "../../limits.js";
import { count, type EndReason } from "../../meter.js";
import type { PlatformSubscription } from "../../platform-subscriptions.js";
import { sessionExpiryMax } from "../../sessions/bounds.js";
import type { Session, Sessions } from "../../sessions/live.js";
import type { SessionState } from "../../sessions/state.js";
import { weightOfWill } from "../../sessions/weights.js";
import { readConnect, readProtocol } from "./connect.js";
import type { MqttContext } from "./context.js";
import { Conversation, type ConversationOwner } from "./conversation.js";
import { checkFlags, decodePacket, packetTypes } from "./decode.js";
import { waitingBytesMax } from "./deliveries.js";
import { type FrameOwner, Framer } from "./framing.js";
import { accepted, agreedKeepAlive, farewell, refused, strangersTerms } from "./greetings.js";
import { createOutbox, type Outbox } from "./outbox.js";
import type { ClientPacket, ConnectRequest, PublishPacket, Terms } from "./packets.js";
import { protocolError, Reader, Violation } from "./reader.js";
import { endings } from "./reasons.js";
import { createTopicAliases, type TopicAliases } from "./topic-aliases.js";
import { type Wire, WireError } from "./wire.js";

/** A stranger's packet, which must be CONNECT. */
const connectBytesMax = 16 * 1024;
export const connectTimeoutMs = 10_000;

/** One connection of MQTT 3.1, 3.1.1 or 5. A class, because ten thousand of them share one set of methods. */
export class MqttConnection implements Session, ConversationOwner, FrameOwner {
  readonly #context: MqttContext;
  readonly #wire: Wire;
  readonly #framer = new Framer();
  readonly #outbox: Outbox;
  /** Of a connection on the mutual-TLS listener. */
  readonly certificate: ClientCertificate | null;
  readonly #ip: string;
  /** Packets that wait for something asynchronous: a limit, or the history of a redelivery. */
  #waiting: ClientPacket[] | null = null;
  #phase: "new" | "connecting" | "open" | "closed" = "new";
  #terms: Terms = strangersTerms(4);
  #request: ConnectRequest | null = null;
  #origin: Origin | null = null;
  /** Its connect record is written: its end will be as well. */
  #isOnRecord = false;
  #conversation: Conversation | null = null;
  #aliases: TopicAliases | null = null;
  #keepAlive = 0;
  #paused = false;
  /** What came in one read with CONNECT: nothing of it is looked at before CONNACK [MQTT-3.1.4-6 of 5.0]. */
  #unread: Buffer | null = null;
  /** Why the wire has ended while packets were held back. */
  #gone: EndReason | null = null;
  #keepAliveMs = connectTimeoutMs;
  /** Monotonic: a clock that is set must not end a connection. */
  #heardAt: number;

  constructor(context: MqttContext, wire: Wire, address: string, certificate: ClientCertificate | null) {
    this.#context = context;
    this.#wire = wire;
    this.certificate = certificate;
    this.#ip = address;
    this.#outbox = createOutbox(wire);
    this.#heardAt = context.monotonic();
    wire.on("data", (chunk: Buffer) => this.#read(chunk));
    wire.on("drain", () => this.resumeIfRoom());
    wire.on("error", (error) => this.#wireGone(error instanceof WireError ? error.reason : "lost"));
    wire.on("close", () => this.#wireGone("lost"));
  }

  get clientID(): string {
    return this.#request?.clientID ?? "";
  }

  get username(): string {
    return this.#request?.username ?? "";
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

  get state(): SessionState | null {
    return this.#conversation?.state ?? null;
  }

  get takesNoMore(): boolean {
    return this.#phase === "connecting" || this.#phase === "closed";
  }

  get isPaused(): boolean {
    return this.#paused && this.#phase !== "closed";
  }

  get isClosed(): boolean {
    return this.#phase === "closed";
  }

  /** Who it is. @throws Error before CONNECT has been accepted */
  get origin(): Origin {
    if (this.#origin === null) throw new Error("cannot use the connection: CONNECT has not been accepted");
    return this.#origin;
  }

  /** Ends the connection from our side; the client is told why where its version has words for it. */
  end(reason: EndReason, detail?: string): void {
    if (this.#phase === "closed") return;
    this.#say(reason, detail ?? endings[reason].text);
    this.#shut(reason);
  }

  /** Why it ends: in CONNACK before it has been accepted, in DISCONNECT, which only MQTT 5 knows, after it. */
  #say(reason: EndReason, text: string): void {
    if (this.#phase === "connecting") this.#push(refused(this.#terms, reason, text));
    else if (this.#phase === "open") this.#push(farewell(this.#terms, reason, text));
  }

  #shut(reason: EndReason): void {
    this.#outbox.flush();
    this.#close(reason);
    this.#wire.end();
    // A peer that never closes its half is cut off.
    setTimeout(() => this.#wire.destroy(), 1000).unref();
  }

  /** The client has said goodbye; what it was answered before, in the same turn even, still goes. */
  leave(): void {
    this.#outbox.flush();
    this.#close("disconnect");
    this.#wire.end();
  }

  flush(): void {
    this.#outbox.flush();
  }

  markDirty(): void {
    this.#context.markDirty(this);
  }

  /** Reads on when its own window, the journal and what the peer has not taken have room again. */
  resumeIfRoom(): void {
    if (!this.#paused || this.#phase === "closed" || this.#isFull(0.5)) return;
    this.#paused = false;
    this.#wire.resume();
  }

  /** Called every second: ends a connection whose certificate has run out, or that is silent [MQTT-3.1.2-24]. */
  checkSilence(wall: number, monotonic: number): void {
    if (this.#phase === "open" && this.certificate !== null && !isValidAt(this.certificate, wall)) {
      this.end("thrown_out");
    } else if (this.#waiting !== null || (this.#paused && this.#isBusy(0.5))) {
      // It is not heard because we do not read. A peer that does not read either is silent.
      this.#heardAt = monotonic;
    } else if (this.#keepAliveMs > 0 && monotonic - this.#heardAt > this.#keepAliveMs) {
      this.end(this.#phase === "open" ? "keep_alive" : "connect_timeout");
    }
  }

  get frameBytesMax(): number {
    return this.#phase === "new" ? connectBytesMax : packetBytesMax;
  }

  get strictLengths(): boolean {
    return this.#terms.version === 5;
  }

  #read(chunk: Buffer): void {
    if (this.#phase === "closed") return;
    // A stranger has its ten seconds in all: a byte now and then is no CONNECT.
    if (this.#phase !== "new") this.#heardAt = this.#context.monotonic();
    this.#guard(() => this.#cut(chunk));
    this.#outbox.flush();
    if (this.#isFull(1)) this.#pause();
  }

  #cut(bytes: Buffer): void {
    const read = this.#framer.read(bytes, this);
    if (read < bytes.length && this.#phase === "connecting") this.#unread = bytes.subarray(read);
  }

  /** CONNACK has gone. */
  #cutUnread(): void {
    const bytes = this.#unread;
    this.#unread = null;
    if (bytes !== null && this.#phase === "open") this.#cut(bytes);
  }

  /** Ends the connection where the client has broken the rules, or where we cannot go on with what it says. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (error instanceof Violation) return this.end(error.reason, error.message);
      this.#context.onFault(asError(error));
      this.end("fault");
    }
  }

  begin(firstByte: number): void {
    if (this.#phase !== "new" || firstByte >> 4 === packetTypes.connect) return;
    throw protocolError("the first packet is not CONNECT");
  }

  frame(firstByte: number, bytes: Buffer, start: number, end: number): void {
    const reader = new Reader(bytes, start, end);
    if (this.#phase === "new") return this.#connect(firstByte & 15, reader);
    const packet = decodePacket(firstByte, reader, this.#terms.version);
    this.#take(packet.cmd === "publish" && packet.alias > 0 ? this.#withTopic(packet) : packet);
  }

  #withTopic(packet: PublishPacket): PublishPacket {
    this.#aliases ??= createTopicAliases();
    return { ...packet, topic: this.#aliases.resolve(packet.topic, packet.alias), alias: 0 };
  }

  /** Not to be read: we are behind, or the peer does not take what it is answered. */
  #isFull(share: number): boolean {
    return this.#isBusy(share) || this.#outbox.waitingBytes > waitingBytesMax * share;
  }

  #isBusy(share: number): boolean {
    return this.#waiting !== null || this.#conversation?.isFull(share) === true || this.#context.accept.full;
  }

  #pause(): void {
    if (this.#paused || this.#phase === "closed") return;
    this.#paused = true;
    this.#wire.pause();
    // One that holds packets back reads on when it has taken them.
    if (this.#waiting === null) this.#context.markPaused(this);
  }

  #take(packet: ClientPacket): void {
    if (this.#waiting !== null) this.#waiting.push(packet);
    else if (this.#phase === "open") this.#conversation?.handle(packet);
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
        this.#guard(() => {
          this.#takeAll(waiting);
          this.#cutUnread();
        });
        this.#outbox.flush();
        this.resumeIfRoom();
        if (this.#gone !== null && this.#waiting === null) this.#close(this.#gone);
        if (this.isPaused && this.#waiting === null) this.#context.markPaused(this);
      });
  }

  /** What the client said before it went and is held back is still heard, a DISCONNECT above all. */
  #wireGone(reason: EndReason): void {
    if (this.#waiting === null) this.#close(reason);
    else this.#gone ??= reason;
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
    this.#phase = "connecting";
    if (!served) return this.end("version");
    checkFlags(packetTypes.connect, flags, version);
    const request = readConnect(reader, version);
    this.#request = request;
    this.#terms = request;
    this.holdBack(() => this.#enter(request));
  }

  async #enter(request: ConnectRequest): Promise<void> {
    const { accept, authenticate, denials } = this.#context;
    if (accept.full) return this.end("unavailable");
    const found = await authenticate(request.username, request.token, this.certificate, this.#ip);
    if (this.#phase !== "connecting") return;
    if ("denial" in found) {
      const { device, denial } = found;
      if (device !== null) denials.add(device, this.#ip, request.clientID, request.keepAlive);
      return this.end(denial);
    }
    // What the feed brought since the answer was given has found no session to throw out.
    if (!isEntitled(found, this)) return this.end("credentials");
    return this.#open(found, request);
  }

  /** CONNACK waits for the disk: then the session is what the journal says it is. */
  #open(device: DeviceEntry, request: ConnectRequest): Promise<void> {
    const { sessions, records, keepAliveMax, hold, limits } = this.#context;
    const ids = { device, session: sessionOf(request.clientID), ip: this.#ip };
    const keepAlive = agreedKeepAlive(request, keepAliveMax);
    const sessionExpiry = Math.min(request.sessionExpiry, sessionExpiryMax);
    this.#keepAlive = keepAlive;
    this.#origin = { ...ids, connection: 0 };
    // The session that this one takes over ends before this one is on record.
    const refusal = this.#refusalOf(request, sessions, limits);
    if (refusal !== null) {
      this.#origin = null;
      this.end(refusal);
      return Promise.resolve();
    }
    hold(device.id);
    this.#isOnRecord = true;
    const { clientID, cleanStart, will } = request;
    return new Promise((resolve) => {
      const asked = { clientID, cleanStart, sessionExpiry, keepAlive, will };
      const connection = records.connect(ids, asked, (state, present) => {
        if (!this.isClosed) this.#begin(request, state, present);
        resolve();
      });
      this.#origin = { ...ids, connection };
    });
  }

  /** Counts it among the device's connections, or says why there is no place for it. */
  #refusalOf({ will }: ConnectRequest, sessions: Sessions, limits: Limits | null): EndReason | null {
    const { tenant } = this.entry.device;
    if (!this.#context.spaces.held.mayGrow(tenant, 0, weightOfWill(will))) return "room";
    if (!sessions.open(this)) return "sessions";
    if (limits?.enter(this.entry) !== false) return null;
    sessions.close(this);
    return "connections";
  }

  #begin(request: ConnectRequest, state: SessionState, present: boolean): void {
    const { presence, meter, now, monotonic, platformSubscriptions } = this.#context;
    const conversation = new Conversation(this.#context, this, this.#outbox, request, state);
    this.#conversation = conversation;
    this.#keepAliveMs = this.#keepAlive * 1500;
    this.#heardAt = monotonic();
    presence.connected(this.entry.id, this.#ip, this.#keepAlive, now());
    meter.connections++;
    this.#phase = "open";
    const connack = accepted(request, { keepAlive: this.#keepAlive, sessionExpiry: state.expiry, present });
    // Nothing may go before CONNACK, not even DISCONNECT [MQTT-3.14.0-1].
    if (connack === null) return this.#shut("oversize");
    this.#outbox.push(connack);
    // What waits goes first: a subscription may bring retained messages at once.
    conversation.resume();
    this.subscribeByPlatform(platformSubscriptions(this.entry));
  }

  #push(bytes: Buffer | null): void {
    if (bytes !== null) this.#outbox.push(bytes);
  }

  #close(reason: EndReason): void {
    if (this.#phase === "closed") return;
    const wasOpen = this.#phase === "open";
    this.#phase = "closed";
    count(this.#context.meter.ended, reason);
    if (this.#isOnRecord) this.#leaveRecord(reason);
    if (wasOpen) {
      this.#context.presence.disconnected(this.entry.id);
      this.#context.meter.connections--;
    }
    this.#context.onClosed(this);
  }

  subscribeByPlatform(wanted: readonly PlatformSubscription[]): void {
    this.#conversation?.subscribeByPlatform(wanted);
  }

  #leaveRecord(reason: EndReason): void {
    const { sessions, records, release, limits } = this.#context;
    const goodbye = this.#conversation?.goodbye ?? { orderly: false, sessionExpiry: null };
    records.disconnect(this.origin, this.#keepAlive, { ...goodbye, reason });
    limits?.leave(this.entry);
    sessions.close(this);
    this.#conversation?.close();
    release(this.origin.device.id);
  }
}
