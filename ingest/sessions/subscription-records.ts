/** Records of what sessions subscribe to: at their clients' wish, and at the platform's. */
import type { Journal } from "../../store/journal/journal.js";
import type { MqttSubscription, PlatformSubscription } from "../../store/journal/message.js";
import type { JournalInput } from "../../store/journal/record.js";
import { encodePlatformDetails, encodeSubscribeDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import type { Origin } from "../uplinks/accept.js";
import { appendOrApply, toRecordSubject } from "./record-subject.js";
import type { SessionRegistry } from "./session-registry.js";
import type { SessionState } from "./state.js";

export type Filters = readonly (readonly [filter: string, subscription: MqttSubscription])[];

export interface SubscriptionRecords {
  /** Brings the session up to what the platform subscribes it to. */
  subscribeByPlatform(
    origin: Origin,
    state: SessionState,
    wanted: readonly PlatformSubscription[],
    done?: () => void,
  ): void;
  subscribe(origin: Origin, state: SessionState, filters: Filters, done: () => void): void;
  unsubscribe(origin: Origin, state: SessionState, filters: readonly string[], done: () => void): void;
}

export function createSubscriptionRecords(
  journal: Journal,
  registry: SessionRegistry,
  micros: () => number,
): SubscriptionRecords {
  /** How many platform records of each session are on their way to the disk. */
  const asked = new WeakMap<SessionState, number>();

  return {
    subscribeByPlatform: (origin, state, wanted, done) => {
      // A change on its way to the disk may differ from both.
      const pending = asked.get(state) ?? 0;
      if (pending === 0 && !registry.differsFromPlatform(state, wanted)) return done?.();
      const details = encodePlatformDetails(wanted);
      const at = micros();
      asked.set(state, pending + 1);
      appendOrApply(
        journal,
        state,
        { ...toRecordSubject(origin), kind: recordKinds.platform, details },
        () => {
          asked.set(state, (asked.get(state) ?? 1) - 1);
          registry.subscribeByPlatform(state, wanted, at);
          done?.();
        },
      );
    },
    subscribe: (origin, state, filters, done) => {
      const last = filters.length - 1;
      const at = micros();
      for (const [i, [filter, subscription]] of filters.entries()) {
        const { qos, noLocal, retainAsPublished } = subscription;
        const input: JournalInput = {
          ...toRecordSubject(origin),
          kind: recordKinds.subscribe,
          filter,
          qos,
          noLocal,
          retainAsPublished,
          details: encodeSubscribeDetails(subscription),
        };
        appendOrApply(journal, state, input, () => {
          // SUBACK goes before the retained messages.
          if (i === last) done();
          registry.subscribe(state, filter, subscription, at);
        });
      }
      if (filters.length === 0) done();
    },
    unsubscribe: (origin, state, filters, done) => {
      const last = filters.length - 1;
      for (const [i, filter] of filters.entries()) {
        appendOrApply(
          journal,
          state,
          { ...toRecordSubject(origin), kind: recordKinds.unsubscribe, filter },
          () => {
            registry.unsubscribe(state, filter);
            if (i === last) done();
          },
        );
      }
    },
  };
}
