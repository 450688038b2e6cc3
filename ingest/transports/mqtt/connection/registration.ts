import { isEntitled } from "../../../access/credentials.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import type { EndReason } from "../../../meter.js";
import { sessionExpiryMax } from "../../../sessions/bounds.js";
import type { Goodbye } from "../../../sessions/connection-records.js";
import type { Connection } from "../../../sessions/connections.js";
import type { SessionState } from "../../../sessions/state.js";
import { weightOfWill } from "../../../sessions/weights.js";
import { type Origin, sessionOf } from "../../../uplinks/accept.js";
import type { ConnectRequest } from "../codec/packets.js";
import { agreedKeepAlive } from "./connack.js";
import type { MqttContext } from "./context.js";

/** A connection as its device's shard knows it: counted among the device's, and on record from begin to end. */
export class Registration {
  readonly context: MqttContext;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** Seconds. */
  readonly keepAlive: number;
  readonly #request: ConnectRequest;
  #origin: Origin;
  /** Its connect record is written: its end must be recorded as well. */
  #isOnRecord = false;

  constructor(context: MqttContext, device: DeviceEntry, ip: string, request: ConnectRequest) {
    this.context = context;
    this.openedAt = context.now();
    this.keepAlive = agreedKeepAlive(request, context.keepAliveMax);
    this.#request = request;
    this.#origin = { device, session: sessionOf(request.clientID), ip, connection: 0 };
  }

  get origin(): Origin {
    return this.#origin;
  }

  get device(): DeviceEntry {
    return this.#origin.device;
  }

  /**
   * Counts it among the device's connections, or says why it may not come in after all. The session that it takes over
   * ends here, before this one is on record.
   */
  enter(connection: Connection): EndReason | null {
    const { accept, connections, limits, registry } = this.context;
    if (accept.full) return "unavailable";
    // What the feed brought since its credentials were looked at has found no connection to throw out.
    if (!isEntitled(this.device, connection)) return "credentials";
    if (!registry.held.mayGrow(this.device.device.tenant, 0, weightOfWill(this.#request.will))) return "room";
    if (!connections.open(connection)) return "sessions";
    if (limits?.enter(this.device) !== false) return null;
    connections.close(connection);
    return "connections";
  }

  /** Writes the connect record; `done` is called once it is on disk: then the session is what the journal says it is. */
  record(done: (state: SessionState, present: boolean) => void): void {
    const { records, hold } = this.context;
    const { clientID, cleanStart, will } = this.#request;
    const sessionExpiry = Math.min(this.#request.sessionExpiry, sessionExpiryMax);
    hold(this.device.id);
    this.#isOnRecord = true;
    const asked = { clientID, cleanStart, sessionExpiry, keepAlive: this.keepAlive, will };
    const connection = records.connect(this.#origin, asked, done);
    this.#origin = { ...this.#origin, connection };
  }

  /** Takes it out again. */
  leave(connection: Connection, goodbye: Goodbye): void {
    if (!this.#isOnRecord) return;
    const { connections, records, release, limits } = this.context;
    records.disconnect(this.#origin, this.keepAlive, goodbye);
    limits?.leave(this.device);
    connections.close(connection);
    release(this.device.id);
  }
}
