import type { WebSocket } from "ws";
import { createSlice } from "../../../store/lib/scheduling.js";
import type { DeviceClient, PublishOutcome } from "../../clients/client.js";
import type { Rejected } from "../../clients/clients.js";
import { InFlight } from "../../clients/in-flight.js";
import { type LocalTime, readPointTime, unreadableTime } from "../../decode/time.js";
import type { EndReason } from "../../meter.js";
import type { SessionMessage } from "../../sessions/state.js";
import type { FrameLink, FrameSocket } from "./frame-link.js";
import type { WebSocketFrame } from "./frame-relay.js";
import {
  type BadFrame,
  type ClientFrame,
  type FrameFormat,
  type FrameID,
  messageFrame,
  readFrame,
  writeFrame,
} from "./frames.js";

/** Passes the client on, with the frames that have come. */
export type Onward = (client: WebSocket, known: readonly WebSocketFrame[]) => void;

/** What a connection needs of the transport. */
interface FrameConnectionDeps {
  readonly local: LocalTime;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** Opens the device's client, whose messages go down to `socket`. */
  login(username: string, token: string, socket: FrameSocket): Promise<DeviceClient<FrameLink> | Rejected>;
  /** What goes on with a client of a device that another node keeps; null: this one keeps it. */
  elsewhere(username: string): Promise<Onward | Rejected | null>;
  readonly onFault: (error: unknown) => void;
}

/** What a frame takes in memory beside its bytes. */
const frameOverheadBytes = 256;
/** For the first frame of a client that has not said who it is. */
const loginMs = 10_000;
/** Between two pings; who answers neither is gone. */
const pingMs = 30_000;
const missedPingsMax = 2;
/** Unsent bytes beyond which the client is not read, and is not sent answers to its pings. */
const unsentBytesMax = 1024 * 1024;

const statuses: Readonly<Record<Exclude<PublishOutcome, "kept" | "repeated">, readonly [number, string]>> = {
  topic: [400, "no message can be published to this topic"],
  oversize: [413, "a message may have 262144 bytes"],
  policy: [403, "the device may not publish to this topic"],
  rate: [429, "more than the limit of the device or its tenant"],
  unavailable: [503, "nothing can be kept now, try again later"],
  gone: [401, "the credentials of the device have changed"],
};

/** RFC 6455 §7.4.1. */
const closeCodes = { goingAway: 1001, policy: 1008, tooBig: 1009 } as const;

/** One WebSocket of a device that speaks frames of its own. */
export class FrameConnection implements FrameSocket {
  readonly #webSocket: WebSocket;
  readonly #deps: FrameConnectionDeps;
  #client: DeviceClient<FrameLink> | null = null;
  /** The format of the client's last frame: frames to the client have the same. */
  #format: FrameFormat = "json";
  /** Frames that wait for those before them. */
  readonly #waiting: WebSocketFrame[] = [];
  /** Bytes of these, and of the one that is being taken. */
  #untakenBytes = 0;
  #isTaking = false;
  #isClosed = false;
  readonly #openedAt: number;
  #pingedAt: number;
  #missedPings = 0;

  constructor(webSocket: WebSocket, deps: FrameConnectionDeps) {
    this.#webSocket = webSocket;
    this.#deps = deps;
    this.#openedAt = deps.monotonic();
    this.#pingedAt = this.#openedAt;
    webSocket.on("message", (bytes: Buffer, isBinary: boolean) => this.#read({ bytes, isBinary }));
    webSocket.on("ping", (data) => {
      if (this.waitingBytes < unsentBytesMax) webSocket.pong(data);
    });
    webSocket.on("pong", () => {
      this.#missedPings = 0;
    });
    webSocket.on("error", () => undefined);
    webSocket.on("close", (code) => this.#closed(code));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get waitingBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Enters a client that was authenticated by the request itself. */
  enter(client: DeviceClient<FrameLink>): void {
    this.#client = client;
  }

  send(id: string | null, { topic, payload }: SessionMessage): void {
    this.#webSocket.send(messageFrame(id, topic, payload, this.#format));
  }

  close(reason: EndReason): void {
    const isOurs = reason === "shutdown" || reason === "moved";
    const code = isOurs ? closeCodes.goingAway : closeCodes.policy;
    this.#webSocket.close(code, reason);
  }

  /** Ends a client that does not say who it is, or is gone. To be called each second. */
  check(): void {
    const now = this.#deps.monotonic();
    if (this.#client === null && now - this.#openedAt > loginMs)
      return this.#webSocket.close(closeCodes.policy, "login");
    this.#goOn();
    if (now - this.#pingedAt < pingMs) return;
    this.#pingedAt = now;
    if (++this.#missedPings > missedPingsMax) return this.#webSocket.terminate();
    this.#webSocket.ping();
  }

  #closed(code: number): void {
    this.#isClosed = true;
    const isOrderly = code === 1000 || code === 1001;
    this.#client?.end(isOrderly ? "disconnect" : this.#missedPings > missedPingsMax ? "keep_alive" : "lost");
  }

  #read(frame: WebSocketFrame): void {
    this.#missedPings = 0;
    this.#waiting.push(frame);
    this.#untakenBytes += frameBytes(frame);
    if (this.#isFull(1)) this.#webSocket.pause();
    if (!this.#isTaking) void this.#takeAll().catch(this.#deps.onFault);
  }

  #isFull(share: number): boolean {
    const isUnsent = this.waitingBytes > unsentBytesMax * share;
    return isUnsent || (this.#client ?? nobody).isFull(share, this.#waiting.length, this.#untakenBytes);
  }

  #goOn(): void {
    if (this.#webSocket.isPaused && !this.#isFull(0.5)) this.#webSocket.resume();
  }

  /** One frame after the other, in the order in which they came: some thousands may be there at once. */
  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    const slice = createSlice();
    try {
      for (
        let next = this.#waiting.shift();
        next !== undefined && !this.#isClosed;
        next = this.#waiting.shift()
      ) {
        this.#format = next.isBinary ? "cbor" : "json";
        await this.#take(readFrame(next.bytes, this.#format), next);
        this.#untakenBytes -= frameBytes(next);
        this.#goOn();
        if (slice.isOver()) await slice.next();
      }
    } finally {
      this.#isTaking = false;
    }
  }

  async #take(frame: ClientFrame | BadFrame, asItCame: WebSocketFrame): Promise<void> {
    const client = this.#client;
    if (frame.kind === "bad") return this.#refuse(frame.id, 400, frame.error);
    if (frame.kind === "login") return this.#login(frame, asItCame);
    if (client === null) {
      this.#refuse("id" in frame ? frame.id : null, 401, "the first frame must have username and token");
      return this.#webSocket.close(closeCodes.policy, "credentials");
    }
    if (frame.kind === "ack") return client.link.confirm(String(frame.ack));
    const sentAt = frame.time === undefined ? null : readPointTime(frame.time, this.#deps.local);
    if (sentAt === null && frame.time !== undefined)
      return this.#refuse(frame.id, 400, `time ${unreadableTime}`);
    const { id, topic, payload, key } = frame;
    const taken = await client.take({ topic, payload, key, sentAt, batch: null });
    if (typeof taken === "string") return this.#tell(id, taken);
    void taken.outcome.then((outcome) => {
      this.#tell(id, outcome);
      this.#goOn();
    });
  }

  async #login(
    { id, username, token }: Extract<ClientFrame, { kind: "login" }>,
    asItCame: WebSocketFrame,
  ): Promise<void> {
    if (this.#client !== null) return this.#refuse(id, 400, "the client has said who it is");
    const elsewhere = await this.#deps.elsewhere(username);
    if (typeof elsewhere === "function") return this.#passOn(elsewhere, asItCame);
    const found = elsewhere ?? (await this.#deps.login(username, token, this));
    if ("reason" in found) {
      this.#refuse(id, 401, "the device is not let in");
      return this.#webSocket.close(closeCodes.policy, found.reason);
    }
    // It may have left meanwhile.
    if (this.#isClosed) return found.end("lost");
    this.#client = found;
    if (id !== null) this.#write({ ack: id });
  }

  /** From here on the other node answers: nothing of this conversation is for this one. */
  #passOn(goOn: Onward, first: WebSocketFrame): void {
    this.#isClosed = true;
    this.#webSocket.removeAllListeners();
    goOn(this.#webSocket, [first, ...this.#waiting.splice(0)]);
  }

  #tell(id: FrameID | null, outcome: PublishOutcome): void {
    if (outcome !== "kept" && outcome !== "repeated") this.#refuse(id, ...statuses[outcome]);
    else if (id !== null) this.#write({ ack: id });
  }

  #refuse(id: FrameID | null, status: number, error: string): void {
    this.#write({ refused: id, status, error });
  }

  #write(frame: Readonly<Record<string, unknown>>): void {
    if (!this.#isClosed) this.#webSocket.send(writeFrame(frame, this.#format));
  }
}

/** Bounds the frames that wait before the client has said who it is. */
const nobody = new InFlight();

function frameBytes({ bytes }: WebSocketFrame): number {
  return bytes.length + frameOverheadBytes;
}
