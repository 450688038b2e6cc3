import { crc32c } from "../store/crc32c.js";
import type { Journal } from "../store/journal.js";
import { type JournalInput, recordKinds } from "../store/journal-record.js";
import type { DeviceEntry } from "./directory.js";
import type { EndReason, Meter } from "./meter.js";
import { topicBytesMax } from "./topics.js";

export const payloadBytesMax = 256 * 1024;

/** What a transport knows of the connection that an uplink came on. */
export interface Origin {
  readonly device: DeviceEntry;
  /** Journal id of its connect record; 0 where the protocol has no connections. */
  readonly connection: number;
  readonly session: number;
  readonly ip: string;
}

export interface Uplink {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly messageID: number;
  readonly dup: boolean;
  readonly retain: boolean;
  /** By a policy: it is kept as an event, and has no points. */
  readonly refused?: boolean;
}

/** The one way in that every uplink of every protocol takes. Nothing here awaits before the append. */
export interface Accept {
  /** `done` is called when the message is kept; until then nothing may be acknowledged. */
  uplink(origin: Origin, uplink: Uplink, done?: () => void): void;
  /** Records that a session is there; returns the connection's number. */
  connect(origin: Omit<Origin, "connection">, clientID: string, keepAlive: number, clean: boolean): number;
  /** `keepAlive` is that of its connect record, seconds. */
  disconnect(origin: Origin, orderly: boolean, keepAlive: number, reason?: EndReason): void;
  /** Records that a known device was refused. */
  deny(device: DeviceEntry, ip: string, clientID: string, keepAlive: number): void;
  /** A QoS 2 id is free again once `done` is called. */
  release(origin: Origin, messageID: number, done: () => void): void;
  /** Resolves once everything taken so far is on disk, or the journal closes. */
  allKept(): Promise<void>;
  /** True while transports must stop reading. */
  readonly full: boolean;
  /** Why nothing can be kept, or null. */
  readonly stopped: string | null;
}

const nothing = new Uint8Array(0);

/** With the device it names a session; 32 bits suffice within the few sessions of one device. */
export function sessionOf(clientID: string): number {
  return crc32c(Buffer.from(clientID));
}

/** `backlogFull`: what consumers have not taken yet fills its bound on disk. */
export function createAccept(journal: Journal, meter: Meter, backlogFull: () => boolean): Accept {
  function record(origin: Origin, kind: JournalInput["kind"]): JournalInput {
    return {
      kind,
      tenant: origin.device.device.tenant,
      device: origin.device.id,
      connection: origin.connection,
      session: origin.session,
      messageID: 0,
      qos: 0,
      dup: false,
      retain: false,
      flag: false,
      ip: origin.ip,
      topic: "",
      payload: nothing,
    };
  }

  return {
    uplink: (origin, uplink, done) => {
      meter.messages++;
      meter.messageBytes += uplink.payload.length;
      journal.append(
        {
          kind: recordKinds.uplink,
          tenant: origin.device.device.tenant,
          device: origin.device.id,
          connection: origin.connection,
          session: origin.session,
          messageID: uplink.messageID,
          qos: uplink.qos,
          dup: uplink.dup,
          retain: uplink.retain,
          flag: uplink.refused === true,
          ip: origin.ip,
          topic: uplink.topic,
          payload: uplink.payload,
        },
        done,
      );
    },
    connect: (origin, clientID, keepAlive, clean) =>
      journal.append({
        ...record({ ...origin, connection: 0 }, recordKinds.connect),
        messageID: keepAlive,
        flag: clean,
        topic: clientID,
      }),
    disconnect: (origin, orderly, keepAlive, reason) => {
      const input = record(origin, recordKinds.disconnect);
      journal.append({ ...input, messageID: keepAlive, flag: orderly, topic: reason ?? "" });
    },
    deny: (device, ip, clientID, keepAlive) => {
      const origin = { device, connection: 0, session: sessionOf(clientID), ip };
      journal.append({ ...record(origin, recordKinds.denial), messageID: keepAlive, topic: clientID });
    },
    release: (origin, messageID, done) => {
      journal.append({ ...record(origin, recordKinds.release), messageID }, done);
    },
    allKept: () => journal.waitFor(journal.appendedID - 1),
    get full() {
      return journal.full || backlogFull();
    },
    get stopped() {
      return journal.stopped ?? (backlogFull() ? "the journal's backlog is full" : null);
    },
  };
}

/** Larger packets cannot hold an acceptable message. */
export const packetBytesMax = payloadBytesMax + topicBytesMax + 64;
