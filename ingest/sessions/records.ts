/** How every change of a session is made: first a record, then the change once the record is on disk. */
import type { Journal } from "../../store/journal/journal.js";
import { endsWithConnection } from "../../store/journal/message.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { Origin } from "../uplinks/accept.js";
import type { WorkBudget } from "../uplinks/work-budget.js";
import { type ConnectionRecords, createConnectionRecords } from "./connection-records.js";
import { createDownlinkRecords, type DownMessage } from "./downlink-records.js";
import { appendOrApply, toRecordSubject } from "./record-subject.js";
import type { SessionRegistry } from "./session-registry.js";
import { isExpired, type SessionState, type Settled } from "./state.js";
import { createSubscriptionRecords, type SubscriptionRecords } from "./subscription-records.js";

/** What a record can say. */
const refusedLinesMax = 0xffff;

/** Sessions that end with their connection need no record of what happens within it: they are changed at once. */
export interface SessionRecords extends ConnectionRecords, SubscriptionRecords {
  /** PUBREL of a message that came up. */
  release(origin: Origin, state: SessionState, messageID: number, done: () => void): void;
  /** Every line of a batch of the device has been taken, or refused for good. */
  endBatch(origin: Origin, batchID: string, refusedLines: number, done: () => void): void;
  /** PUBREC of a message that went down; PUBREL may go once it is done. */
  received(origin: Origin, state: SessionState, messageID: number, done: () => void): void;
  /** `acknowledged`: by the client; otherwise it is given up. */
  delivered(origin: Origin, state: SessionState, messageID: number, acknowledged: boolean): void;
  /**
   * Sends to all sessions of the device that it reaches; `kept` is called once it is on disk, after any `settled`. One
   * payload (the same array) that goes to several devices without a pause stands in one record.
   */
  send(device: DeviceEntry, message: DownMessage, settled: Settled, kept: () => void): void;
  /** Gives up what has waited too long for clients that are away. */
  expireMessages(): Promise<void>;
}

/**
 * A change goes by the time of its record, not of its commit, so that a replay comes to the same state.
 * `now` is in milliseconds; `onEnded` is called after a disconnect has been applied: a will may be due.
 */
export function createSessionRecords(
  journal: Journal,
  registry: SessionRegistry,
  now: () => number,
  onEnded: () => void,
  work: WorkBudget,
): SessionRecords {
  const micros = () => now() * 1000;

  const downlinks = createDownlinkRecords(journal, registry, micros, work);

  return {
    ...createConnectionRecords(journal, registry, micros, onEnded),
    ...createSubscriptionRecords(journal, registry, micros),
    release: (origin, state, messageID, done) => {
      journal.append({ ...toRecordSubject(origin), kind: recordKinds.release, messageID }, () => {
        registry.released(state, messageID);
        done();
      });
    },
    endBatch: (origin, batchID, refusedLines, done) => {
      const refused = Math.min(refusedLines, refusedLinesMax);
      journal.append(
        { ...toRecordSubject(origin), kind: recordKinds.batch, batchID, refusedLines: refused },
        done,
      );
    },
    received: (origin, state, messageID, done) =>
      appendOrApply(
        journal,
        state,
        { ...toRecordSubject(origin), kind: recordKinds.received, messageID },
        () => {
          registry.received(state, messageID);
          done();
        },
      ),
    delivered: (origin, state, messageID, acknowledged) =>
      appendOrApply(
        journal,
        state,
        { ...toRecordSubject(origin), kind: recordKinds.delivered, messageID, acknowledged },
        () => registry.delivered(state, messageID, acknowledged),
      ),
    send: ({ id: device, device: { tenant } }, message, settled, kept) =>
      downlinks.send({ tenant, device }, message, settled, kept),
    expireMessages: async () => {
      const at = micros();
      const slice = createSlice();
      for (const { tenant, device, sessions } of registry.all()) {
        for (const state of sessions.values()) {
          if (isPushed(state) || state.expiry === endsWithConnection) continue;
          const { session, ip } = state;
          for (const [messageID, message] of state.outgoing) {
            if (slice.isOver()) await slice.next();
            // Its client may have come back meanwhile.
            if (state.isOver || isPushed(state)) break;
            if (message.received || !isExpired(message, at)) continue;
            const ended = { tenant, device, connection: 0, session, ip, messageID, acknowledged: false };
            journal.append({ ...ended, kind: recordKinds.delivered }, () =>
              registry.delivered(state, messageID, false),
            );
          }
        }
      }
    },
  };
}

/** Whether what waits is on its way to a client, which gives up by itself what has waited too long. */
function isPushed({ link }: SessionState): boolean {
  return link !== null && link.isPolled !== true;
}
