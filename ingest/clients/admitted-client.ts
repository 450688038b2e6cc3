import { setTimeout as sleep } from "node:timers/promises";
import type { PlatformSubscription, Will } from "../../store/journal/message.js";
import type { IngestLimits, Limiter } from "../access/limits.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { Presence } from "../directory/presence.js";
import { addCount, type Meter } from "../meter.js";
import { mayReceive } from "../policies.js";
import { sessionExpiryMax } from "../sessions/bounds.js";
import type { Goodbye } from "../sessions/connection-records.js";
import type { Connections, DeviceConnection } from "../sessions/connections.js";
import type { PublishContext } from "../sessions/publish.js";
import type { SessionRecords } from "../sessions/records.js";
import type { SessionRegistry } from "../sessions/session-registry.js";
import { isExpired, type SessionMessage, type SessionState } from "../sessions/state.js";
import { weightOfWill } from "../sessions/weights.js";
import { type Accept, hashClientID, type Origin } from "../uplinks/accept.js";
import { lightWorkMax, type WorkBudget } from "../uplinks/work-budget.js";
import { findLateRejection, type Rejection } from "./identify.js";

/** The parts of a shard that clients of every transport share. */
export interface AdmittedContext extends PublishContext {
  readonly accept: Accept;
  readonly connections: Connections;
  readonly presence: Presence;
  readonly registry: SessionRegistry;
  readonly records: SessionRecords;
  readonly meter: Meter;
  readonly work: WorkBudget;
  /** Null: nothing is limited. */
  readonly limits: IngestLimits | null;
  platformSubscriptions(entry: DeviceEntry): readonly PlatformSubscription[];
  hold(device: number): void;
  release(device: number): void;
}

/** The session that a client asks for. */
interface AdmittedRequest {
  readonly clientID: string;
  readonly cleanStart: boolean;
  /** Seconds that the session outlives the client. */
  readonly sessionExpiry: number;
  /** Seconds of silence after which it counts as gone; 0: its transport reports that. */
  readonly keepAlive: number;
  readonly will: Will | null;
}

/** Places that a transport bounds beside the limits of devices and tenants. */
interface Places {
  take(): boolean;
  give(): void;
}

/**
 * A device's client, whatever its transport: it is counted against the limits, on record from begin to end, present
 * while its session is open, and brought up to what the platform subscribes it to.
 */
export class AdmittedClient {
  readonly context: AdmittedContext;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** Null: nothing is limited. */
  readonly limiter: Limiter | null;
  readonly #request: AdmittedRequest;
  readonly #connection: DeviceConnection;
  #origin: Origin;
  /** Its connect record is written: its end must be recorded as well. */
  #isOnRecord = false;
  /** Null until its connect record is on disk. */
  #state: SessionState | null = null;
  #hasLeft = false;
  /** The platform's subscriptions, while they wait for their turn. */
  #wanted: readonly PlatformSubscription[] | null = null;

  constructor(
    context: AdmittedContext,
    device: DeviceEntry,
    ip: string,
    request: AdmittedRequest,
    connection: DeviceConnection,
  ) {
    this.context = context;
    this.openedAt = context.now();
    this.limiter = context.limits?.limiter(device) ?? null;
    this.#request = request;
    this.#connection = connection;
    this.#origin = { device, session: hashClientID(request.clientID), ip, connection: 0 };
  }

  get origin(): Origin {
    return this.#origin;
  }

  get entry(): DeviceEntry {
    return this.#origin.device;
  }

  get keepAlive(): number {
    return this.#request.keepAlive;
  }

  get state(): SessionState | null {
    return this.#state;
  }

  /**
   * Counts it among the device's connections, or returns why it may not come in after all. The session that it takes
   * over ends here, before this one is on record.
   */
  enter(places: Places | null = null): Rejection | null {
    const { accept, connections, limits, registry } = this.context;
    const late = findLateRejection(accept, this.entry, this.#connection);
    if (late !== null) return late;
    const { tenant } = this.entry.device;
    if (!registry.held.mayGrow(tenant, 0, weightOfWill(this.#request.will))) return "room";
    if (places?.take() === false) return "room";
    if (!connections.open(this.#connection)) {
      places?.give();
      return "sessions";
    }
    if (limits?.enter(this.entry) !== false) return null;
    connections.close(this.#connection);
    places?.give();
    return "connections";
  }

  /** Writes the connect record; `done` is called once it is on disk: then the session is what the journal says it is. */
  record(done: (state: SessionState, present: boolean) => void): void {
    const { records, hold } = this.context;
    const sessionExpiry = Math.min(this.#request.sessionExpiry, sessionExpiryMax);
    hold(this.entry.id);
    this.#isOnRecord = true;
    const connection = records.connect(this.#origin, { ...this.#request, sessionExpiry }, done);
    this.#origin = { ...this.#origin, connection };
  }

  /** The session is open: the device is present. */
  begin(state: SessionState): void {
    const { presence, meter, now } = this.context;
    this.#state = state;
    presence.connected(this.entry.id, this.#origin.ip, this.keepAlive, now());
    meter.connections++;
  }

  /** Takes it out again. */
  leave(goodbye: Goodbye): void {
    this.#hasLeft = true;
    if (!this.#isOnRecord) return;
    const { connections, records, release, limits, presence, meter } = this.context;
    records.disconnect(this.#origin, this.keepAlive, goodbye);
    limits?.leave(this.entry);
    connections.close(this.#connection);
    if (this.#state !== null) {
      presence.disconnected(this.entry.id);
      meter.connections--;
    }
    release(this.entry.id);
  }

  /** Slows the client down, as the limiter asks. */
  waitForLimit(waitMs: number): Promise<void> {
    this.context.meter.slowedDown++;
    return sleep(waitMs, undefined, { ref: false });
  }

  /** Whether a message may go down: its policies allow it, and it has not expired. Counts those that may not. */
  isDue(message: SessionMessage): boolean {
    const { meter, now } = this.context;
    if (!mayReceive(this.entry, message.topic)) {
      addCount(meter.policyRefused, "receive");
      return false;
    }
    if (!isExpired(message, now() * 1000)) return true;
    addCount(meter.dropped, "expired");
    return false;
  }

  /** Brings the session up to what the platform subscribes it to; if that is much work, in its tenant's turn. */
  subscribeByPlatform(wanted = this.context.platformSubscriptions(this.entry)): void {
    const state = this.#state;
    if (state === null || this.#hasLeft) return;
    const waits = this.#wanted !== null;
    if (!waits && this.#platformCost(state, wanted) <= lightWorkMax)
      return this.context.records.subscribeByPlatform(this.#origin, state, wanted, () => undefined);
    this.#wanted = wanted;
    if (!waits) void this.#subscribeInTurn(state);
  }

  /** Takes what is wanted when the turn comes, which may be newer. */
  async #subscribeInTurn(state: SessionState): Promise<void> {
    const { work, records } = this.context;
    const { tenant } = state;
    const cost = this.#platformCost(state, this.#wanted ?? []);
    await work.room(tenant, cost);
    const wanted = this.#wanted ?? [];
    this.#wanted = null;
    if (this.#hasLeft) return work.give(tenant, cost);
    try {
      records.subscribeByPlatform(this.#origin, state, wanted, () => work.give(tenant, cost));
    } catch {
      // The journal takes nothing: the connection cannot get the subscriptions that the platform wants.
      work.give(tenant, cost);
      this.#connection.end("unavailable");
    }
  }

  #platformCost(state: SessionState, wanted: readonly PlatformSubscription[]): number {
    return this.context.registry.platformCost(state, wanted);
  }
}
