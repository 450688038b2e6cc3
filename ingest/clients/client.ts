import type { BatchLine } from "../../store/journal/record-details.js";
import type { ClientCertificate } from "../access/credentials.js";
import { waitMsMax } from "../access/limits.js";
import type { DeviceEntry } from "../directory/entries.js";
import { isTopicName, isWithinBytes, type TopicBounds } from "../messages/topics.js";
import { addCount, type EndReason } from "../meter.js";
import { mayPublish } from "../policies.js";
import type { DeviceConnection, Protocol } from "../sessions/connections.js";
import { countRefusal, publishUplink } from "../sessions/publish.js";
import type { SessionLink, SessionMessage, SessionState } from "../sessions/state.js";
import { type Accept, type Origin, payloadBytesMax } from "../uplinks/accept.js";
import type { RecentIDs } from "../uplinks/recent-ids.js";
import { lightWorkMax } from "../uplinks/work-budget.js";
import { AdmittedClient, type AdmittedContext } from "./admitted-client.js";
import type { DeviceIDMemory, IDMemory } from "./device-ids.js";
import type { Rejection } from "./identify.js";
import { InFlight, type InFlightBounds } from "./in-flight.js";
import type { Kept, WaitingForDisk } from "./waiting-for-disk.js";

/** What every client shares. */
export interface ClientContext extends AdmittedContext {
  readonly topics: TopicBounds;
  readonly ids: IDMemory;
  readonly waiting: WaitingForDisk;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** How a client comes, and how long its session waits for it. */
export interface ClientRequest {
  readonly protocol: Protocol;
  readonly clientID: string;
  readonly username: string;
  readonly token: string;
  readonly certificate: ClientCertificate | null;
  readonly ip: string;
  /** Seconds of silence after which it counts as gone; 0: its transport detects that. */
  readonly keepAlive: number;
  /** Seconds that the session outlives the client. */
  readonly sessionExpiry: number;
  /** Absent: the usual ones. */
  readonly inFlight?: InFlightBounds;
}

export interface Publication {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** By which its repetition is recognised; null: it has no id. */
  readonly key: string | null;
  /** Microseconds since 1970; null: now. */
  readonly sentAt: number | null;
  readonly batch: BatchLine | null;
}

/** Why a message is not kept. */
export type PublishRefusal =
  | "topic" // no topic name, or too many bytes or levels
  | "oversize"
  | "policy"
  | "rate" // further over its limit than a message may wait
  | "unavailable" // nothing can be kept now, or its client has ended: it may come again
  | "gone"; // the device was blocked, changed its credentials or was deleted meanwhile

/** repeated: it had been kept before. */
export type PublishOutcome = "kept" | "repeated" | PublishRefusal;

/** How long the messages of one request may wait for their limit, together. */
interface Patience {
  leftMs: number;
  /** They have been waited for all together. */
  isPaid: boolean;
}

export const newPatience = (): Patience => ({ leftMs: waitMsMax, isPaid: false });

/** A message on its way to the disk. */
interface Taken {
  readonly outcome: Promise<PublishOutcome>;
}

/** How messages come down to a client. */
export interface ClientLink extends SessionLink {
  /** The session is open: what it holds may be sent. */
  resume(): void;
  /** The client has ended; nothing more is sent. */
  close(reason: EndReason): void;
}

/** Makes the link of a client, once its session is known. */
export type LinkMaker<L extends ClientLink> = (state: SessionState, of: DeliveryOptions) => L;

export interface DeliveryOptions {
  readonly isDue: (message: SessionMessage) => boolean;
  readonly settle: (messageID: number, acknowledged: boolean) => void;
}

/**
 * A device as the client of a protocol that is not MQTT: one session, from its first message until its end. It takes the
 * way of every uplink (policies, limits, journal), and what comes down waits in its session.
 */
export class DeviceClient<L extends ClientLink = ClientLink> implements DeviceConnection {
  readonly #context: ClientContext;
  readonly #request: ClientRequest;
  readonly #admitted: AdmittedClient;
  readonly #onEnded: (client: DeviceClient<L>) => void;
  readonly #inFlight: InFlight;
  /** Messages that wait for others to leave the in-flight budget. */
  #waitingForCapacity: (() => void)[] = [];
  #link: L | null = null;
  #endedFor: EndReason | null = null;
  /** Requests that are not answered yet: with one the client neither gives way nor counts as silent. */
  underWay = 0;
  /** Monotonic, milliseconds. */
  #heardAt: number;
  /** From `open` to `end`. */
  #ids: DeviceIDMemory | null = null;

  /** Opened by `createClients`. */
  constructor(
    context: ClientContext,
    entry: DeviceEntry,
    request: ClientRequest,
    onEnded: (client: DeviceClient<L>) => void,
  ) {
    const { clientID, sessionExpiry, keepAlive, ip } = request;
    const wanted = { clientID, cleanStart: false, sessionExpiry, keepAlive, will: null };
    this.#context = context;
    this.#request = request;
    this.#onEnded = onEnded;
    this.#heardAt = context.monotonic();
    this.#inFlight = new InFlight(request.inFlight);
    this.#admitted = new AdmittedClient(context, entry, ip, wanted, this);
  }

  get entry(): DeviceEntry {
    return this.#admitted.entry;
  }

  get openedAt(): number {
    return this.#admitted.openedAt;
  }

  get #origin(): Origin {
    return this.#admitted.origin;
  }

  get clientID(): string {
    return this.#request.clientID;
  }

  get protocol(): Protocol {
    return this.#request.protocol;
  }

  get username(): string {
    return this.#request.username;
  }

  get token(): string {
    return this.#request.token;
  }

  get certificate(): ClientCertificate | null {
    return this.#request.certificate;
  }

  get state(): SessionState | null {
    return this.#admitted.state;
  }

  get isEnded(): boolean {
    return this.#endedFor !== null;
  }

  /** Whether it has not been heard for as long as it may be silent. */
  get isSilent(): boolean {
    const { keepAlive } = this.#request;
    return keepAlive > 0 && this.#context.monotonic() - this.#heardAt > keepAlive * 1000;
  }

  /** Takes its messages; callers may wait for it. */
  get accept(): Accept {
    return this.#context.accept;
  }

  get waiting(): WaitingForDisk {
    return this.#context.waiting;
  }

  /** How its messages come down. @throws Error before it is open */
  get link(): L {
    if (this.#link === null) throw new Error("cannot use the client: it is not open");
    return this.#link;
  }

  /** Whether its messages, or those of its tenant, are limited. */
  get isLimited(): boolean {
    return this.#admitted.limiter !== null;
  }

  heard(): void {
    this.#heardAt = this.#context.monotonic();
  }

  /** Whether `share` of its in-flight budget is in use, with messages that wait beside it. */
  isFull(share: number, waiting: number, waitingBytes: number): boolean {
    return this.#inFlight.isFull(share, waiting, waitingBytes);
  }

  /** Counts it against every limit, or returns why it may not come in. `places`: those of its transport. */
  enter(places: Parameters<AdmittedClient["enter"]>[0]): Rejection | null {
    return this.#admitted.enter(places);
  }

  /** Puts the client on record; resolves once that is on disk and the session is there. */
  open(link: LinkMaker<L>): Promise<void> {
    this.#ids = this.#context.ids.hold(this.entry.id, this.entry.device.tenant);
    return new Promise((resolve) => {
      this.#admitted.record((state) => {
        if (!this.isEnded) this.#begin(state, link);
        resolve();
      });
    });
  }

  #begin(state: SessionState, link: LinkMaker<L>): void {
    const admitted = this.#admitted;
    this.#link = link(state, {
      isDue: (message) => admitted.isDue(message),
      settle: (messageID, acknowledged) =>
        this.#context.records.delivered(this.#origin, state, messageID, acknowledged),
    });
    state.link = this.#link;
    admitted.begin(state);
    this.#link.resume();
    admitted.subscribeByPlatform();
  }

  subscribeByPlatform(wanted: Parameters<DeviceConnection["subscribeByPlatform"]>[0]): void {
    this.#admitted.subscribeByPlatform(wanted);
  }

  end(reason: EndReason): void {
    if (this.#endedFor !== null) return;
    this.#endedFor = reason;
    addCount(this.#context.meter.ended, reason);
    this.#admitted.leave({ reason, orderly: reason === "disconnect", sessionExpiry: null });
    this.#context.ids.release(this.entry.id);
    const { state } = this;
    if (state !== null && state.link === this.#link) state.link = null;
    this.#link?.close(reason);
    this.#onEnded(this);
  }

  /** Takes a message; resolves once it is on disk, or with why it is not kept. `ip`: where this message came from. */
  async publish(message: Publication, ip?: string): Promise<PublishOutcome> {
    const taken = await this.take(message, ip);
    return typeof taken === "string" ? taken : taken.outcome;
  }

  /**
   * Resolves once the message is on its way to the disk, in the order of the calls that have waited for one another, or
   * with why it is not kept.
   */
  async take(
    message: Publication,
    ip: string = this.#origin.ip,
    patience: Patience = newPatience(),
  ): Promise<Taken | PublishRefusal> {
    const refusal = this.#findRefusal(message);
    if (refusal !== null) return refusal;
    const { limiter } = this.#admitted;
    if (limiter !== null && !patience.isPaid) {
      const { topic, payload } = message;
      const waitMs = limiter.take(topic.length + payload.length);
      if (waitMs === null || !(await this.#wait(waitMs, patience))) return "rate";
    }
    while (this.#inFlight.isFull(1))
      await new Promise<void>((resolve) => this.#waitingForCapacity.push(resolve));
    const keys = message.key === null ? null : await this.ids.keys();
    const { registry, work } = this.#context;
    const { id, device } = this.entry;
    const cost = registry.publishCost(id, message.topic);
    const isHeavy = cost > lightWorkMax;
    if (isHeavy) await work.room(device.tenant, cost);
    const late = this.#lateRefusal();
    const isRepeated = keys?.get(message.key as string) !== undefined;
    if (isHeavy && (late !== null || isRepeated)) work.give(device.tenant, cost);
    if (late !== null) return late;
    if (isRepeated) return this.#repeated();
    return {
      outcome: new Promise((settled) => this.#append(message, ip, keys, isHeavy ? cost : 0, settled)),
    };
  }

  /**
   * Does what `take` does, if that needs no wait: returns null, and calls `settled` once the message is on disk.
   * "wait": a wait is needed, and nothing is done.
   */
  takeNow(
    message: Publication,
    ip: string,
    patience: Patience,
    settled: (outcome: PublishOutcome) => void,
  ): PublishRefusal | "wait" | null {
    const refusal = this.#findRefusal(message);
    if (refusal !== null) return refusal;
    if ((this.isLimited && !patience.isPaid) || message.key !== null || this.#inFlight.isFull(1))
      return "wait";
    if (this.#context.registry.publishCost(this.entry.id, message.topic) > lightWorkMax) return "wait";
    this.#append(message, ip, null, 0, settled);
    return null;
  }

  /** The first one may still be on its way. */
  #repeated(): Taken {
    const { accept, meter, waiting } = this.#context;
    this.heard();
    meter.redelivered++;
    const kept = waiting.untilKept((done) => void accept.allKept().then(done));
    return { outcome: kept.then((how) => (how === "kept" ? "repeated" : how)) };
  }

  /** `cost` has been taken of the work budget. */
  #append(
    { topic, payload, key, sentAt, batch }: Publication,
    ip: string,
    keys: RecentIDs | null,
    cost: number,
    settled: (outcome: PublishOutcome) => void,
  ): void {
    this.heard();
    const origin = ip === this.#origin.ip ? this.#origin : { ...this.#origin, ip };
    const uplink = {
      topic,
      payload,
      properties: null,
      qos: 1,
      messageID: 0,
      dup: false,
      retain: false,
      sentAt,
      key,
      batch,
    };
    const bytes = topic.length + payload.length;
    this.#inFlight.add(bytes);
    this.#context.waiting.whenKept(
      (done) => {
        publishUplink(this.#context, origin, uplink, false, cost, done);
        keys?.add(key as string);
      },
      (outcome) => {
        this.#leaveInFlight(bytes);
        settled(outcome);
      },
    );
  }

  #leaveInFlight(bytes: number): void {
    this.#inFlight.remove(bytes);
    if (this.#waitingForCapacity.length === 0) return;
    const resumed = this.#waitingForCapacity;
    this.#waitingForCapacity = [];
    for (const resume of resumed) resume();
  }

  /** "gone" only for an ended client that may not come again; others, for instance after a stop, may come again. */
  #lateRefusal(): Extract<PublishRefusal, "gone" | "unavailable"> | null {
    if (this.#endedFor === "thrown_out") return "gone";
    return this.#endedFor !== null || this.#context.accept.full ? "unavailable" : null;
  }

  #findRefusal(message: Publication): PublishRefusal | null {
    const late = this.#lateRefusal();
    if (late !== null) return late;
    const reason = this.#findFault(message);
    if (reason === null) return null;
    countRefusal(this.#context.meter, this.entry.device.tenant, reason);
    return reason;
  }

  #findFault({ topic, payload }: Publication): "topic" | "oversize" | "policy" | null {
    if (!isTopicName(topic) || !isWithinBytes(topic, this.#context.topics)) return "topic";
    if (payload.length > payloadBytesMax) return "oversize";
    return mayPublish(this.entry, topic) ? null : "policy";
  }

  /**
   * Waits for the limit of all messages of a request together, where it may ever let them through so: none is taken if
   * that would be too long, and a repetition of the request is no repetition of some of them.
   */
  async isWithin(messages: number, bytes: number, patience: Patience): Promise<boolean> {
    const { limiter } = this.#admitted;
    const waitMs = limiter === null ? "never" : limiter.takeAll(messages, bytes);
    if (waitMs === "never") return true;
    patience.isPaid = true;
    return waitMs !== null && (await this.#wait(waitMs, patience));
  }

  /** Waits as a connection of MQTT does that is not read meanwhile; false: it would be too long. */
  async #wait(waitMs: number, patience: Patience): Promise<boolean> {
    patience.leftMs -= waitMs;
    if (patience.leftMs < 0) return false;
    if (waitMs > 0) await this.#admitted.waitForLimit(waitMs);
    return true;
  }

  /** The ids under which its device has sent messages. @throws Error before it is open */
  get ids(): DeviceIDMemory {
    if (this.#ids === null) throw new Error("cannot use the client: it is not open");
    return this.#ids;
  }

  /** Puts on record that every line of the batch has been taken, or refused for good; resolves once that is on disk. */
  async endBatch(id: string, refusedLines: number): Promise<Kept> {
    const { ids } = await this.ids.batches();
    return this.#context.waiting.untilKept((done) => {
      this.#context.records.endBatch(this.#origin, id, refusedLines, done);
      ids.add(id, Math.min(refusedLines, 0xffff));
    });
  }
}
