import type { Journal } from "../../store/journal/journal.js";
import type { MessageProperties } from "../../store/journal/message.js";
import { type BatchLine, encodeUplinkDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { crc32c } from "../../store/lib/crc32c.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { Meter } from "../meter.js";

export const payloadBytesMax = 256 * 1024;

/** What a transport knows of the connection that an uplink came on. */
export interface Origin {
  readonly device: DeviceEntry;
  /** Journal id of its connect record; 0 if the protocol has no connections. */
  readonly connection: number;
  readonly session: number;
  readonly ip: string;
}

export interface AcceptedUplink {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly messageID: number;
  readonly dup: boolean;
  readonly retain: boolean;
  readonly properties: MessageProperties | null;
  /** As in UplinkDetails; absent is null. */
  readonly sentAt?: number | null;
  readonly key?: string | null;
  readonly batch?: BatchLine | null;
}

/** Whether there are shards here and none of them takes anything now. */
export function takeNothing({
  all,
}: {
  readonly all: readonly { readonly accept: Pick<Accept, "full"> }[];
}): boolean {
  return all.length > 0 && all.every(({ accept }) => accept.full);
}

/** The one way in that every uplink of every protocol takes. Nothing here awaits before the append. */
export interface Accept {
  /**
   * `done` is called when the message is kept; until then nothing may be acknowledged. A message that is refused by a
   * policy is kept as an event, without points.
   */
  uplink(origin: Origin, uplink: AcceptedUplink, refused: boolean, done?: () => void): void;
  /** Records that a known device was refused. */
  deny(device: DeviceEntry, ip: string, clientID: string, keepAlive: number): void;
  /** Resolves once everything taken so far is on disk, or the journal closes. */
  allKept(): Promise<void>;
  /** True while transports must stop reading. */
  readonly full: boolean;
  /** Why nothing can be kept, or null. */
  readonly stopped: string | null;
}

/** Nearly all have none: no object is made for them. */
function createDetails({ properties, sentAt = null, key = null, batch = null }: AcceptedUplink) {
  if (properties === null && sentAt === null && key === null && batch === null) return null;
  return encodeUplinkDetails({ properties, isWill: false, sentAt, key, batch });
}

/** With the device it names a session; 32 bits suffice within the few sessions of one device. */
export function hashClientID(clientID: string): number {
  return crc32c(Buffer.from(clientID));
}

/** `backlogFull`: what consumers have not taken yet fills its bound on disk. */
export function createAccept(journal: Journal, meter: Meter, backlogFull: () => boolean): Accept {
  return {
    uplink: (origin, uplink, refused, done) => {
      const { tenant } = origin.device.device;
      meter.messages++;
      meter.messageBytes += uplink.payload.length;
      meter.rates.message(tenant);
      journal.append(
        {
          kind: recordKinds.uplink,
          tenant,
          device: origin.device.id,
          connection: origin.connection,
          session: origin.session,
          messageID: uplink.messageID,
          qos: uplink.qos,
          dup: uplink.dup,
          retain: uplink.retain,
          refused,
          ip: origin.ip,
          topic: uplink.topic,
          details: createDetails(uplink),
          payload: uplink.payload,
        },
        done,
      );
    },
    deny: (device, ip, clientID, keepAlive) => {
      journal.append({
        kind: recordKinds.denial,
        tenant: device.device.tenant,
        device: device.id,
        session: hashClientID(clientID),
        ip,
        clientID,
        keepAlive,
      });
    },
    allKept: async () => {
      await journal.waitFor(journal.appendedID - 1);
    },
    get full() {
      return journal.full || backlogFull();
    },
    get stopped() {
      return journal.stopped ?? (backlogFull() ? "the journal's backlog is full" : null);
    },
  };
}
