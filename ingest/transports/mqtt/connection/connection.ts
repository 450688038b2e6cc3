import type { PlatformSubscription } from "../../../../store/journal/message.js";
import { asError } from "../../../../store/lib/errors.js";
import { addressBlock } from "../../../access/address-block.js";
import { type ClientCertificate, isValidAt } from "../../../access/credentials.js";
import { AdmittedClient } from "../../../clients/admitted-client.js";
import { identify } from "../../../clients/identify.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import { isWithinBytes } from "../../../messages/topics.js";
import { addCount, type EndReason } from "../../../meter.js";
import type { DeviceConnection, Protocol } from "../../../sessions/connections.js";
import type { SessionState } from "../../../sessions/state.js";
import type { Origin } from "../../../uplinks/accept.js";
import type { AttachedConnection, IncomingSocket } from "../../sockets/incoming-socket.js";
import { join, type Neighbours, part } from "../../sockets/relay.js";
import { readConnect, readProtocol } from "../codec/connect.js";
import { checkFlags, decodePacket, mqttPacketTypes } from "../codec/decode.js";
import { type FrameOwner, Framer, framePacket } from "../codec/framing.js";
import type { ClientPacket, ConnectRequest, PublishPacket, Terms } from "../codec/packets.js";
import { protocolError, Reader, Violation } from "../codec/reader.js";
import { endings } from "../codec/reasons.js";
import { createTopicAliases, type TopicAliases } from "../codec/topic-aliases.js";
import { type ByteStream, StreamError } from "./byte-stream.js";
import {
  acceptedConnack,
  agreedKeepAlive,
  defaultTerms,
  farewell,
  onAcceptance,
  refusedConnack,
} from "./connack.js";
import type { MqttContext, SharedContext } from "./context.js";
import { waitingBytesMax } from "./deliveries.js";
import { MqttClient, type MqttClientOwner, noGoodbye } from "./mqtt-client.js";
import { createWriteBuffer, type WriteBuffer } from "./write-buffer.js";

/** The first packet, which must be CONNECT. */
const connectBytesMax = 16 * 1024;
export const connectTimeoutMs = 10_000;
const closeTimeoutMs = 1000;
/** Clients that wait so long for an acknowledgement may send their message again. */
const slowMs = 250;
/** After so long without a pause, what lay in the socket has been read. */
const catchUpMs = 1000;

/** One connection of MQTT 3.1, 3.1.1 or 5. A class, because ten thousand of them share one set of methods. */
export class MqttConnection implements DeviceConnection, MqttClientOwner, FrameOwner, AttachedConnection {
  readonly #context: SharedContext;
  readonly #stream: ByteStream;
  readonly #framer = new Framer();
  readonly #writeBuffer: WriteBuffer;
  /** The client's certificate, on the mutual-TLS listener. */
  readonly certificate: ClientCertificate | null;
  readonly #ip: string;
  readonly #incoming: IncomingSocket;
  /** Nothing goes on until something asynchronous has ended: a limit, the history of a redelivery, CONNECT itself. */
  #isHeld = false;
  /** "relayed": another node of the cluster has it from CONNECT on, and this one passes its bytes on. */
  #phase: "new" | "connecting" | "open" | "relayed" | "closed" = "new";
  #terms: Terms = defaultTerms(4);
  #request: ConnectRequest | null = null;
  /** As its device's shard knows it; null until it is let in. */
  #admitted: AdmittedClient | null = null;
  #client: MqttClient | null = null;
  #aliases: TopicAliases | null = null;
  #paused = false;
  /** Monotonic, like all of these. */
  #pausedAt = 0;
  /** Until when what lay in the socket may be unread, after a long pause; 0: there was none. */
  #behindUntil = 0;
  /**
   * The rest of what came in one read. Nothing of it is looked at before CONNACK [MQTT-3.1.4-6 of 5.0], while the
   * connection is held, or once this turn's time for reading is over.
   */
  #unread: Buffer | null = null;
  /** Why the stream has ended while something was still to be read. */
  #gone: EndReason | null = null;
  #keepAliveMs = connectTimeoutMs;
  /** Monotonic: setting the clock must not end a connection. */
  #heardAt: number;

  constructor(
    context: SharedContext,
    stream: ByteStream,
    incoming: IncomingSocket,
    certificate: ClientCertificate | null,
  ) {
    this.#context = context;
    this.#stream = stream;
    this.certificate = certificate;
    this.#ip = incoming.address;
    this.#incoming = incoming;
    this.#writeBuffer = createWriteBuffer(stream);
    this.#heardAt = context.monotonic();
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
    stream.on("drain", () => this.#drained());
    stream.on("error", (error) => this.#streamGone(error instanceof StreamError ? error.reason : "lost"));
    stream.on("close", () => this.#streamGone("lost"));
    incoming.attach(this);
  }

  get clientID(): string {
    return this.#request?.clientID ?? "";
  }

  get protocol(): Protocol {
    return `mqtt${this.#terms.version}`;
  }

  get openedAt(): number {
    return this.#admitted?.openedAt ?? 0;
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
    return this.#admitted?.state ?? null;
  }

  get payer(): number | string {
    return this.#admitted?.entry.device.tenant ?? addressBlock(this.#ip);
  }

  get takesNoMore(): boolean {
    return (
      this.#isHeld ||
      this.#context.turns.isOver ||
      this.#phase === "closed" ||
      this.#client?.handingOver.isHandingOver === true
    );
  }

  get isPaused(): boolean {
    return this.#paused && this.#phase !== "closed";
  }

  get isBehind(): boolean {
    if (this.#behindUntil > 0) return true;
    return this.#paused && this.#context.monotonic() - this.#pausedAt >= slowMs;
  }

  get isClosed(): boolean {
    return this.#phase === "closed";
  }

  get isKnown(): boolean {
    return this.#phase !== "new" && this.#phase !== "closed";
  }

  /** The client of the connection. @throws Error before CONNECT has been accepted */
  get origin(): Origin {
    if (this.#admitted === null) throw new Error("cannot use the connection: CONNECT has not been accepted");
    return this.#admitted.origin;
  }

  /** Ends the connection from our side; the client receives the reason if its version has a code for it. */
  end(reason: EndReason, detail?: string): void {
    if (this.#phase === "closed") return;
    this.#say(reason, detail ?? endings[reason].text);
    this.#shut(reason);
  }

  /** Why it ends: in CONNACK before it has been accepted, in DISCONNECT, which only MQTT 5 knows, after it. */
  #say(reason: EndReason, text: string): void {
    if (this.#phase === "connecting") this.#push(refusedConnack(this.#terms, reason, text));
    else if (this.#phase === "open") this.#push(farewell(this.#terms, reason, text));
  }

  #shut(reason: EndReason): void {
    this.#writeBuffer.flush();
    this.#close(reason);
    this.#stream.end();
    // A peer that does not close its half, or whose end we do not read, is cut off.
    const cutOff = setTimeout(() => this.#stream.destroy(), closeTimeoutMs).unref();
    this.#stream.once("close", () => clearTimeout(cutOff));
  }

  /** The client has said goodbye; earlier answers to it, even of the same turn, are still sent. */
  leave(): void {
    this.#shut("disconnect");
  }

  flush(): void {
    this.#writeBuffer.flush();
  }

  markDirty(): void {
    this.#context.markDirty(this);
  }

  /** Reads on when its own window, the journal and the peer's unread bytes are below their limits again. */
  resumeIfRoom(): void {
    if (!this.#paused || this.#phase === "closed" || this.#hasMore || this.#isFull(0.5)) return;
    this.#paused = false;
    const now = this.#context.monotonic();
    if (now - this.#pausedAt >= slowMs) this.#behindUntil = now + catchUpMs;
    this.#stream.resume();
  }

  /** Called every second: ends a connection whose certificate has run out, or that is silent [MQTT-3.1.2-24]. */
  checkSilence(wall: number, monotonic: number): void {
    if (!this.#paused && this.#behindUntil > 0 && monotonic > this.#behindUntil) this.#caughtUp();
    if (this.#phase === "open" && this.certificate !== null && !isValidAt(this.certificate, wall)) {
      this.end("thrown_out");
    } else if (this.#isHeld || (this.#paused && (this.#isBusy(0.5) || this.#waitsForTurn))) {
      // It is not heard because we do not read; a peer that does not read either counts as silent.
      this.#heardAt = monotonic;
    } else if (this.#keepAliveMs > 0 && monotonic - this.#heardAt > this.#keepAliveMs) {
      this.end(this.#phase === "open" ? "keep_alive" : "connect_timeout");
    }
  }

  #caughtUp(): void {
    this.#behindUntil = 0;
    this.#client?.caughtUp();
  }

  get frameBytesMax(): number {
    return this.#phase === "new" ? connectBytesMax : this.#context.packetBytesMax;
  }

  get strictLengths(): boolean {
    return this.#terms.version === 5;
  }

  #read(chunk: Buffer): void {
    if (this.#phase === "closed" || this.#phase === "relayed") return;
    // Ten seconds in all to authenticate: a byte now and then does not prolong them.
    if (this.#phase !== "new") this.#heardAt = this.#context.monotonic();
    this.#guard(() => this.#cut(chunk));
    this.#goOn();
  }

  #cut(bytes: Buffer): void {
    const read = this.#framer.read(bytes, this);
    if (read < bytes.length && this.#phase !== "closed") this.#unread = bytes.subarray(read);
  }

  /** Hands over what is retained, then reads on, as far as this turn goes. */
  proceed(): void {
    if (this.#phase === "closed" || this.#phase === "relayed" || this.#isHeld) return;
    this.#guard(() => {
      if (this.#gone !== null) this.#client?.handingOver.giveUpHandingOver();
      this.#client?.handingOver.handOverSome(() => this.#isOver(1));
      const bytes = this.#unread;
      if (bytes === null || this.takesNoMore) return;
      this.#unread = null;
      if (this.#phase !== "new") this.#heardAt = this.#context.monotonic();
      this.#cut(bytes);
    });
    this.#goOn();
  }

  #isOver(units: number): boolean {
    const { turns } = this.#context;
    turns.spend(units);
    return turns.isOver;
  }

  /** Sends what results, and sees whether there is more to do. */
  #goOn(): void {
    this.#writeBuffer.flush();
    if (this.#phase === "closed") return;
    if (this.#isHeld) return this.#pause();
    if (this.#hasMore) {
      this.#pause();
      // A client that has enough to read goes on when it has read it.
      if (this.#client?.handingOver.isPaced !== true) this.#context.turns.later(this);
    } else if (this.#gone !== null) this.#close(this.#gone);
    else if (this.#isFull(1)) this.#pause();
    else this.resumeIfRoom();
  }

  get #hasMore(): boolean {
    return this.#unread !== null || this.#client?.handingOver.isHandingOver === true;
  }

  /** Whether it has sent more than we have read; what it has not read itself is no excuse. */
  get #waitsForTurn(): boolean {
    const isKnown = this.#phase !== "new";
    return isKnown && this.#unread !== null && this.#client?.handingOver.isHandingOver !== true;
  }

  handOver(): void {
    this.#pause();
    this.#context.turns.later(this);
  }

  /** The peer has taken all that it was sent. */
  #drained(): void {
    // Nothing is read meanwhile: by taking what it is handed it shows that it is there.
    if (this.#client?.handingOver.isHandingOver === true) this.#heardAt = this.#context.monotonic();
    if (this.#hasMore) this.#context.turns.later(this);
    else this.resumeIfRoom();
  }

  /** Ends the connection if the client has broken the rules, or if we cannot go on with what it says. */
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
    if (this.#phase !== "new" || firstByte >> 4 === mqttPacketTypes.connect) return;
    throw protocolError("the first packet is not CONNECT");
  }

  frame(firstByte: number, bytes: Buffer, start: number, end: number): void {
    const reader = new Reader(bytes, start, end);
    this.#context.turns.spend(1 + ((end - start) >> 8));
    if (this.#phase === "new") return this.#connect(firstByte & 15, reader, bytes.subarray(start, end));
    const packet = decodePacket(firstByte, reader, this.#terms.version);
    this.#take(packet.cmd === "publish" && packet.alias > 0 ? this.#withTopic(packet) : packet);
  }

  #withTopic(packet: PublishPacket): PublishPacket {
    this.#aliases ??= createTopicAliases(this.#context.topics.bytesMax);
    return { ...packet, topic: this.#aliases.resolve(packet.topic, packet.alias), alias: 0 };
  }

  /** Whether not to read: we are behind, or the peer does not take its answers. */
  #isFull(share: number): boolean {
    return this.#isBusy(share) || this.#writeBuffer.waitingBytes > waitingBytesMax * share;
  }

  #isBusy(share: number): boolean {
    if (this.#isHeld) return true;
    // An unauthenticated client waits for nothing of ours: its ten seconds run also while nothing can be taken.
    if (this.#phase === "new") return false;
    return this.#client?.isFull(share) === true || this.#admitted?.context.accept.full === true;
  }

  #pause(): void {
    if (this.#paused || this.#phase === "closed") return;
    this.#paused = true;
    this.#pausedAt = this.#context.monotonic();
    this.#stream.pause();
    // A connection that is held reads on when it is released.
    if (!this.#isHeld) this.#context.markPaused(this);
  }

  #take(packet: ClientPacket): void {
    if (this.#phase === "open") this.#client?.handle(packet);
  }

  /** Reads nothing until `action` has ended, then calls `resume`, so that the order of packets is kept. */
  suspend(action: () => Promise<void>, resume?: () => void): void {
    this.#isHeld = true;
    this.#pause();
    action()
      .catch(() => this.end("unavailable"))
      .finally(() => {
        this.#isHeld = false;
        if (resume !== undefined && this.#phase === "open") this.#guard(resume);
        this.#reachedAgain();
      });
  }

  #reachedAgain(): void {
    if (this.#isHeld) return this.#writeBuffer.flush();
    this.proceed();
    if (this.isPaused && !this.#isHeld) this.#context.markPaused(this);
  }

  /** What the client said before it went is still read, a DISCONNECT above all. */
  #streamGone(reason: EndReason): void {
    this.#client?.handingOver.giveUpHandingOver();
    if (!this.#isHeld && this.#unread === null) return this.#close(reason);
    this.#gone ??= reason;
    if (!this.#isHeld) this.#context.turns.later(this);
  }

  #connect(flags: number, reader: Reader, body: Buffer): void {
    const { version, served } = readProtocol(reader);
    this.#terms = defaultTerms(version);
    this.#phase = "connecting";
    if (!served) return this.end("version");
    checkFlags(mqttPacketTypes.connect, flags, version);
    const request = readConnect(reader, version);
    if (request.will !== null && !isWithinBytes(request.will.topic, this.#context.topics)) {
      throw new Violation("topic_name", "the will's topic is too long");
    }
    this.#request = request;
    this.#terms = request;
    const { neighbours } = this.#context;
    if (neighbours === null || this.#incoming.isRelayed) this.suspend(() => this.#enter(request));
    else
      this.suspend(() =>
        this.#enterCluster(request, framePacket(mqttPacketTypes.connect, flags, body), neighbours),
      );
  }

  /** The node that has the device asks for its credentials: so all attempts at a device are counted together. */
  async #enterCluster(request: ConnectRequest, connect: Buffer, neighbours: Neighbours): Promise<void> {
    const keeper = await neighbours.keeperOf(request.username, this.certificate);
    if (this.#phase !== "connecting") return;
    if (keeper === null) return this.#enter(request);
    // The node that has it need not know whether it has come by TLS: at MQTT nothing depends on that.
    const client = { address: this.#ip, isSecure: this.certificate !== null, certificate: this.certificate };
    const relay = await neighbours.openRelay(keeper.node, client);
    if (this.#phase !== "connecting") return part(relay);
    this.#phase = "relayed";
    this.#paused = false;
    this.#context.meter.relayed++;
    relay.write(this.#unread === null ? connect : Buffer.concat([connect, this.#unread]));
    this.#unread = null;
    onAcceptance(relay, () => {
      this.#keepAliveMs = 0;
      this.#incoming.prove(keeper.tenant);
    });
    join(this.#stream, relay);
    if (this.#gone !== null) this.#close(this.#gone);
  }

  async #enter(request: ConnectRequest): Promise<void> {
    const { username, token, clientID } = request;
    const { certificate } = this;
    const ip = this.#ip;
    const found = await identify<MqttContext>(this.#context, {
      credentials: { username, token, certificate },
      ...{ ip, clientID, keepAlive: request.keepAlive },
      isWaiting: () => this.#phase === "connecting",
    });
    // From here to the connect record nothing comes between.
    if (found === null || this.#phase !== "connecting") return;
    if (typeof found === "string") return this.end(found);
    const { context, entry } = found;
    const keepAlive = agreedKeepAlive(request, context.keepAliveMax);
    const { cleanStart, sessionExpiry, will } = request;
    const wanted = { clientID, cleanStart, sessionExpiry, keepAlive, will };
    const admitted = new AdmittedClient(context, entry, ip, wanted, this);
    this.#admitted = admitted;
    const rejection = admitted.enter();
    if (rejection !== null) {
      this.#admitted = null;
      return this.end(rejection);
    }
    this.#incoming.prove(entry.device.tenant);
    // CONNACK waits for the disk.
    await new Promise<void>((resolve) => {
      admitted.record((state, present) => {
        if (!this.isClosed) this.#begin(context, admitted, request, state, present);
        resolve();
      });
    });
  }

  #begin(
    context: MqttContext,
    admitted: AdmittedClient,
    request: ConnectRequest,
    state: SessionState,
    present: boolean,
  ): void {
    const { monotonic, packetBytesMax } = context;
    const { keepAlive } = admitted;
    const client = new MqttClient(context, admitted, this, this.#writeBuffer, request, state);
    this.#client = client;
    this.#keepAliveMs = keepAlive * 1500;
    this.#heardAt = monotonic();
    // How long CONNACK took says nothing of what follows it.
    this.#pausedAt = this.#heardAt;
    admitted.begin(state);
    this.#phase = "open";
    const granted = { keepAlive, sessionExpiry: state.expiry, present, packetBytesMax };
    const connack = acceptedConnack(request, granted);
    // Nothing may be sent before CONNACK, not even DISCONNECT [MQTT-3.14.0-1].
    if (connack === null) return this.#shut("oversize");
    this.#writeBuffer.push(connack);
    // Waiting packets go first: a subscription may bring retained messages at once.
    client.resume();
    admitted.subscribeByPlatform();
  }

  #push(bytes: Buffer | null): void {
    if (bytes !== null) this.#writeBuffer.push(bytes);
  }

  #close(reason: EndReason): void {
    if (this.#phase === "closed") return;
    const wasRelayed = this.#phase === "relayed";
    this.#phase = "closed";
    // The node that has it counts its end.
    if (wasRelayed) this.#context.meter.relayed--;
    else addCount(this.#context.meter.ended, reason);
    this.#admitted?.leave({ ...(this.#client?.goodbye ?? noGoodbye), reason });
    this.#client?.close();
    this.#context.onClosed(this);
  }

  subscribeByPlatform(wanted: readonly PlatformSubscription[]): void {
    this.#admitted?.subscribeByPlatform(wanted);
  }
}
