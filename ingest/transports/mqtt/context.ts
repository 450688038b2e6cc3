import type { Origin } from "../../accept.js";
import type { Denied } from "../../credentials.js";
import type { Denials } from "../../denials.js";
import type { DeviceEntry } from "../../directory.js";
import type { Will } from "../../message.js";
import type { EndReason } from "../../meter.js";
import type { Presence } from "../../presence.js";
import type { MqttConnection } from "./connection.js";
import type { InboundContext } from "./inbound.js";

/** What is left of a connection that had been accepted. */
export interface Left {
  readonly reason: EndReason;
  /** Seconds that its session lives on; see message.ts. */
  readonly sessionExpiry: number;
  /** What is to be published for it, after its delay; null where it had none or took leave of us. */
  readonly will: Will | null;
}

/** What every connection of the endpoint shares. */
export interface MqttContext extends InboundContext {
  readonly presence: Presence;
  readonly denials: Denials;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Seconds; a client of MQTT 5 that asks for more, or for none, gets this one. Absent: its own stands. */
  readonly keepAliveMax?: number;
  authenticate(username: string | undefined, token: string | undefined): Promise<DeviceEntry | Denied>;
  hold(device: number): void;
  release(device: number): void;
  /** Whether the device may not read what the filter covers; absent: it may read its whole space. */
  refusesFilter?(device: DeviceEntry, filter: string): boolean;
  /** Called once a connection that had been accepted is off the books. */
  onLeft?(origin: Origin, left: Left): void;
  /** The connection has bytes to flush at the end of the commit. */
  markDirty(connection: MqttConnection): void;
  /** The connection has stopped reading until the journal has room. */
  markPaused(connection: MqttConnection): void;
  onClosed(connection: MqttConnection): void;
}
