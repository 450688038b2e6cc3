import type { Denials } from "../../../access/denials.js";
import type { AdmittedContext } from "../../../clients/admitted-client.js";
import type { Authenticate } from "../../../clients/identify.js";
import type { Elsewhere } from "../../../directory/by-shard.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import type { EndReason } from "../../../meter.js";
import type { Neighbours } from "../../sockets/relay.js";
import type { InboundContext } from "./inbound.js";
import type { ReadingTurns, SocketReading } from "./reading.js";

/** A connection as the endpoint keeps it. */
export interface Attended extends SocketReading {
  readonly isPaused: boolean;
  flush(): void;
  /** Reads on if the limits allow it again. */
  resumeIfRoom(): void;
  /** Both in milliseconds: since 1970, and of the clock that is never set. */
  checkSilence(wall: number, monotonic: number): void;
  end(reason: EndReason): void;
}

/** What every connection of the endpoint shares. */
export interface SharedContext
  extends Pick<InboundContext, "meter" | "topics" | "now">,
    Pick<AdmittedContext, "limits" | "platformSubscriptions" | "hold" | "release"> {
  readonly denials: Denials;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** Our Maximum Packet Size. */
  readonly packetBytesMax: number;
  /** Seconds; a client of MQTT 5 that asks for a longer one, or for none, gets this one. Null: its own stands. */
  readonly keepAliveMax: number | null;
  readonly authenticate: Authenticate;
  /** The context of the device's shard. */
  contextOf(device: DeviceEntry): Promise<MqttContext | Elsewhere>;
  /** Null: the process is alone. */
  readonly neighbours: Neighbours | null;
  /** Whether none of the shards that are here takes anything now. */
  readonly takesNothing: () => boolean;
  /** The connection has bytes to flush at the end of the commit. */
  markDirty(connection: Attended): void;
  /** The connection has stopped reading until the journal takes more. */
  markPaused(connection: Attended): void;
  onClosed(connection: Attended): void;
  readonly turns: ReadingTurns;
  /** A fault of ours, which one connection or one message has paid for. */
  readonly onFault: (error: Error) => void;
}

/** And what those share whose devices are of one shard. */
export interface MqttContext extends SharedContext, InboundContext, AdmittedContext {}
