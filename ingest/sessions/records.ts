import type { Journal } from "../../store/journal/journal.js";
import type { PlatformSubscription } from "../../store/journal/message.js";
import {
  endsWithConnection,
  type MessageProperties,
  type Subscription,
  type Will,
} from "../../store/journal/message.js";
import type { Disconnect, JournalInput } from "../../store/journal/record.js";
import {
  encodeConnectDetails,
  encodeDisconnectDetails,
  encodePlatformDetails,
  encodeSubscribeDetails,
  encodeUplinkDetails,
} from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createSlice } from "../../store/lib/turns.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { EndReason } from "../meter.js";
import type { Origin } from "../uplinks/accept.js";
import type { WorkBudget } from "../uplinks/work-budget.js";
import { createDownlinkRecords } from "./downlink-records.js";
import type { SessionRegistry } from "./session-registry.js";
import { type DueWill, isExpired, type SessionState, type Settled } from "./state.js";

/** What a CONNECT asks of its session. */
interface SessionRequest {
  readonly clientID: string;
  readonly cleanStart: boolean;
  /** Seconds. */
  readonly sessionExpiry: number;
  readonly keepAlive: number;
  readonly will: Will | null;
}

export interface Goodbye {
  /** Why the connection has ended, for the log. */
  readonly reason: EndReason | "killed";
  readonly orderly: boolean;
  /** A session expiry that DISCONNECT brought, seconds; null: as at CONNECT. */
  readonly sessionExpiry: number | null;
}

/** A message of ours to one device. */
export interface DownMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly properties: MessageProperties | null;
  /** Of a command: record id of its control log. */
  readonly receipt: number | null;
}

/**
 * The way of every change of a session: a record first, the change once it is on disk. Sessions that end with
 * their connection need no record for what happens within; theirs are changed at once.
 */
export interface SessionRecords {
  /** Returns the connection's number; `done` hands over the session. */
  connect(
    origin: Omit<Origin, "connection">,
    request: SessionRequest,
    done: (state: SessionState, present: boolean) => void,
  ): number;
  disconnect(origin: Origin, keepAlive: number, goodbye: Goodbye): void;
  /** Closes what a killed run left open; it had ended by `killedAt`, microseconds since 1970. */
  disconnectKilled(killedAt: number): void;
  /** Brings the session up to what the platform subscribes it to. */
  subscribeByPlatform(
    origin: Origin,
    state: SessionState,
    wanted: readonly PlatformSubscription[],
    done?: () => void,
  ): void;
  subscribe(origin: Origin, state: SessionState, filters: Filters, done: () => void): void;
  unsubscribe(origin: Origin, state: SessionState, filters: readonly string[], done: () => void): void;
  /** PUBREL of a message that came up. */
  release(origin: Origin, state: SessionState, messageID: number, done: () => void): void;
  /** PUBREC of a message that went down; PUBREL may go once it is done. */
  received(origin: Origin, state: SessionState, messageID: number, done: () => void): void;
  /** `acknowledged`: by the client; otherwise it is given up. */
  delivered(origin: Origin, state: SessionState, messageID: number, acknowledged: boolean): void;
  /**
   * To all sessions of the device that it reaches; `kept` is called once it is on disk, after what settles it then. One
   * payload (the same array) that goes to several devices without a pause stands in one record.
   */
  send(device: DeviceEntry, message: DownMessage, settled: Settled, kept: () => void): void;
  /** Gives up what has waited too long for clients that are away. */
  expireMessages(): Promise<void>;
  /** `refused`: by a policy; then it is an event only. */
  publishWill(due: DueWill, refused: boolean, done: () => void): void;
}

export type Filters = readonly (readonly [filter: string, subscription: Subscription])[];

const nothing = new Uint8Array(0);

/**
 * The times that a change goes by are those of its record, not of its commit, so that a replay comes to the same.
 * `now` is in milliseconds; `onEnded` is called after a disconnect has been applied: a will may be due.
 */
export function createSessionRecords(
  journal: Journal,
  spaces: SessionRegistry,
  now: () => number,
  onEnded: () => void,
  work: WorkBudget,
): SessionRecords {
  const micros = () => now() * 1000;

  /** `change` follows the record, or comes at once where nothing of the session outlives the connection. */
  function keep(state: SessionState, input: JournalInput, change: () => void): void {
    if (state.expiry === endsWithConnection) change();
    else journal.append(input, change);
  }

  const downlinks = createDownlinkRecords(journal, spaces, micros, work);

  /** What sessions were asked to be brought up to and are not yet. */
  const asked = new WeakMap<SessionState, number>();

  /** `killedAt`: when it was, if another run held the connection. */
  function disconnected(
    of: Omit<Disconnect, "kind" | "orderly" | "reason" | "details">,
    { orderly, sessionExpiry: expiry, reason }: Goodbye,
    killedAt: number | null,
  ): void {
    const { device, connection } = of;
    const details = encodeDisconnectDetails({ expiry, endedAt: killedAt });
    const at = killedAt ?? micros();
    journal.append({ ...of, kind: recordKinds.disconnect, orderly, reason, details }, () => {
      spaces.disconnect({ device, connection, at, orderly, expiry, ofEarlierRun: killedAt !== null });
      onEnded();
    });
  }

  return {
    connect: (origin, request, done) => {
      const { clientID, cleanStart, sessionExpiry, keepAlive, will } = request;
      const {
        id: device,
        device: { deviceID, tenant },
      } = origin.device;
      const session = {
        tenant,
        device,
        session: origin.session,
        ip: origin.ip,
        clientID,
        keepAlive,
        cleanStart,
      };
      const input: JournalInput = {
        ...session,
        kind: recordKinds.connect,
        details: encodeConnectDetails({ deviceID, expiry: sessionExpiry, will }),
        payload: will?.payload ?? nothing,
      };
      const at = micros();
      return journal.append(input, (connection) => {
        const { state, present } = spaces.connect({
          ...session,
          deviceID,
          connection,
          at,
          expiry: sessionExpiry,
          will,
        });
        // What it left behind may be a will.
        onEnded();
        done(state, present);
      });
    },
    disconnect: (origin, keepAlive, goodbye) =>
      disconnected({ ...subject(origin), keepAlive }, goodbye, null),
    disconnectKilled: (killedAt) => {
      for (const { tenant, device, sessions } of spaces.all()) {
        for (const { connection, session, ip, keepAlive } of sessions.values()) {
          if (connection === 0) continue;
          const killed: Goodbye = { reason: "killed", orderly: false, sessionExpiry: null };
          disconnected({ tenant, device, connection, session, ip, keepAlive }, killed, killedAt);
        }
      }
    },
    subscribeByPlatform: (origin, state, wanted, done) => {
      // What is on its way to the disk may differ from both.
      const pending = asked.get(state) ?? 0;
      if (pending === 0 && !spaces.differsFromPlatform(state, wanted)) return done?.();
      const details = encodePlatformDetails(wanted);
      const at = micros();
      asked.set(state, pending + 1);
      keep(state, { ...subject(origin), kind: recordKinds.platform, details }, () => {
        asked.set(state, (asked.get(state) ?? 1) - 1);
        spaces.subscribeByPlatform(state, wanted, at);
        done?.();
      });
    },
    subscribe: (origin, state, filters, done) => {
      const last = filters.length - 1;
      const at = micros();
      for (const [i, [filter, subscription]] of filters.entries()) {
        const { qos, noLocal, retainAsPublished } = subscription;
        const input: JournalInput = {
          ...subject(origin),
          kind: recordKinds.subscribe,
          filter,
          qos,
          noLocal,
          retainAsPublished,
          details: encodeSubscribeDetails(subscription),
        };
        keep(state, input, () => {
          // The answer goes before the retained messages.
          if (i === last) done();
          spaces.subscribe(state, filter, subscription, at);
        });
      }
      if (filters.length === 0) done();
    },
    unsubscribe: (origin, state, filters, done) => {
      const last = filters.length - 1;
      for (const [i, filter] of filters.entries()) {
        keep(state, { ...subject(origin), kind: recordKinds.unsubscribe, filter }, () => {
          spaces.unsubscribe(state, filter);
          if (i === last) done();
        });
      }
    },
    release: (origin, state, messageID, done) => {
      journal.append({ ...subject(origin), kind: recordKinds.release, messageID }, () => {
        spaces.released(state, messageID);
        done();
      });
    },
    received: (origin, state, messageID, done) =>
      keep(state, { ...subject(origin), kind: recordKinds.received, messageID }, () => {
        spaces.received(state, messageID);
        done();
      }),
    delivered: (origin, state, messageID, acknowledged) =>
      keep(state, { ...subject(origin), kind: recordKinds.delivered, messageID, acknowledged }, () =>
        spaces.delivered(state, messageID, acknowledged),
      ),
    send: ({ id: device, device: { tenant } }, message, settled, kept) =>
      downlinks.send({ tenant, device }, message, settled, kept),
    expireMessages: async () => {
      const at = micros();
      const slice = createSlice();
      for (const { tenant, device, sessions } of spaces.all()) {
        for (const state of sessions.values()) {
          if (state.link !== null || state.expiry === endsWithConnection) continue;
          const { session, ip } = state;
          for (const [messageID, message] of state.outgoing) {
            if (slice.isOver()) await slice.next();
            // Its client may have come back meanwhile.
            if (state.isOver || state.link !== null) break;
            if (message.received || !isExpired(message, at)) continue;
            const ended = { tenant, device, connection: 0, session, ip, messageID, acknowledged: false };
            journal.append({ ...ended, kind: recordKinds.delivered }, () =>
              spaces.delivered(state, messageID, false),
            );
          }
        }
      }
    },
    publishWill: ({ tenant, device, session, connection, ip, will }, refused, done) => {
      const { topic, payload, qos, retain, properties } = will;
      const input: JournalInput = {
        kind: recordKinds.uplink,
        tenant,
        device,
        connection,
        session,
        ip,
        messageID: 0,
        qos,
        dup: false,
        retain,
        refused,
        topic,
        details: encodeUplinkDetails({ properties, isWill: true }),
        payload,
      };
      const at = micros();
      journal.append(input, () => {
        if (!refused) spaces.publish({ device, session, topic, payload, qos, retain, properties, at });
        spaces.willPublished(device, connection);
        done();
      });
    },
  };
}

/** Whom a record of a session speaks of. */
function subject({ device, connection, session, ip }: Origin) {
  return { tenant: device.device.tenant, device: device.id, connection, session, ip };
}
