import type { Journal } from "../../store/journal/journal.js";
import { type JournalInput, recordKinds } from "../../store/journal/record.js";
import { createSlice } from "../../store/lib/turns.js";
import type { DeviceEntry } from "../directory/entries.js";
import {
  endsWithConnection,
  type MessageProperties,
  type Subscription,
  type Will,
} from "../messages/message.js";
import type { PlatformSubscription } from "../messages/platform-subscriptions.js";
import {
  connectExtra,
  disconnectExtra,
  messageExtra,
  platformExtra,
  subscribeExtra,
} from "../messages/record-extras.js";
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

  function record(
    origin: Omit<Origin, "device"> & { device: DeviceEntry },
    kind: JournalInput["kind"],
  ): JournalInput {
    const { device, connection, session, ip } = origin;
    return { ...blank, kind, tenant: device.device.tenant, device: device.id, connection, session, ip };
  }

  /** `change` follows the record, or comes at once where nothing of the session outlives the connection. */
  function keep(state: SessionState, input: JournalInput, change: () => void): void {
    if (state.expiry === endsWithConnection) change();
    else journal.append(input, change);
  }

  const downlinks = createDownlinkRecords(journal, spaces, micros, blank, work);

  /** What sessions were asked to be brought up to and are not yet. */
  const asked = new WeakMap<SessionState, number>();

  /** `killedAt`: when it was, if another run held the connection. */
  function disconnected(input: JournalInput, goodbye: Goodbye, killedAt: number | null): void {
    const { device, connection } = input;
    const { orderly, sessionExpiry: expiry, reason } = goodbye;
    const extra = disconnectExtra({ expiry, endedAt: killedAt });
    const at = killedAt ?? micros();
    journal.append({ ...input, flag: orderly, topic: reason, extra }, () => {
      spaces.disconnect({ device, connection, at, orderly, expiry, ofEarlierRun: killedAt !== null });
      onEnded();
    });
  }

  return {
    connect: (origin, request, done) => {
      const { clientID, cleanStart, sessionExpiry, keepAlive, will } = request;
      const { deviceID } = origin.device.device;
      const input: JournalInput = {
        ...record({ ...origin, connection: 0 }, recordKinds.connect),
        messageID: keepAlive,
        flag: cleanStart,
        topic: clientID,
        extra: connectExtra(deviceID, sessionExpiry, will),
        payload: will?.payload ?? nothing,
      };
      const at = micros();
      return journal.append(input, (connection) => {
        const { tenant, device, session, ip } = input;
        const { state, present } = spaces.connect({
          ...{ tenant, device, deviceID, clientID, session, connection, at },
          ...{ cleanStart, expiry: sessionExpiry, will, ip, keepAlive },
        });
        // What it left behind may be a will.
        onEnded();
        done(state, present);
      });
    },
    disconnect: (origin, keepAlive, goodbye) =>
      disconnected({ ...record(origin, recordKinds.disconnect), messageID: keepAlive }, goodbye, null),
    disconnectKilled: (killedAt) => {
      for (const { tenant, device, sessions } of spaces.all()) {
        for (const { connection, session, ip, keepAlive } of sessions.values()) {
          if (connection === 0) continue;
          const ids = { tenant, device, connection, session, ip, messageID: keepAlive };
          const input: JournalInput = { ...blank, kind: recordKinds.disconnect, ...ids };
          disconnected(input, { reason: "killed", orderly: false, sessionExpiry: null }, killedAt);
        }
      }
    },
    subscribeByPlatform: (origin, state, wanted, done) => {
      // What is on its way to the disk may differ from both.
      const pending = asked.get(state) ?? 0;
      if (pending === 0 && !spaces.differsFromPlatform(state, wanted)) return done?.();
      const input = { ...record(origin, recordKinds.platform), extra: platformExtra(wanted) };
      const at = micros();
      asked.set(state, pending + 1);
      keep(state, input, () => {
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
          ...record(origin, recordKinds.subscribe),
          ...{ topic: filter, qos, flag: noLocal, retain: retainAsPublished },
          extra: subscribeExtra(subscription),
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
      for (const [i, topic] of filters.entries()) {
        keep(state, { ...record(origin, recordKinds.unsubscribe), topic }, () => {
          spaces.unsubscribe(state, topic);
          if (i === last) done();
        });
      }
    },
    release: (origin, state, messageID, done) => {
      journal.append({ ...record(origin, recordKinds.release), messageID }, () => {
        spaces.released(state, messageID);
        done();
      });
    },
    received: (origin, state, messageID, done) =>
      keep(state, { ...record(origin, recordKinds.received), messageID }, () => {
        spaces.received(state, messageID);
        done();
      }),
    delivered: (origin, state, messageID, acknowledged) =>
      keep(state, { ...record(origin, recordKinds.delivered), messageID, flag: acknowledged }, () =>
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
            const ids = { tenant, device, session, ip, messageID };
            journal.append({ ...blank, kind: recordKinds.delivered, ...ids }, () =>
              spaces.delivered(state, messageID, false),
            );
          }
        }
      }
    },
    publishWill: ({ tenant, device, session, connection, ip, will }, refused, done) => {
      const { topic, payload, qos, retain, properties } = will;
      const input: JournalInput = {
        ...blank,
        ...{ kind: recordKinds.uplink, tenant, device, session, connection, ip, topic, payload, qos, retain },
        ...{ flag: refused, extra: messageExtra(properties, { isWill: true }) },
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

const blank: JournalInput = {
  kind: recordKinds.uplink,
  ...{ tenant: 0, device: 0, connection: 0, session: 0, messageID: 0, qos: 0 },
  ...{ dup: false, retain: false, flag: false, ip: "", topic: "", extra: null, payload: nothing },
};
