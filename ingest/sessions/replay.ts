import { type JournalRecord, recordKinds } from "../../store/journal/record.js";
import { endsWithConnection, type MessageProperties } from "../messages/message.js";
import {
  readConnectExtra,
  readDisconnectExtra,
  readMessageExtra,
  readPlatformExtra,
  readRecipientsExtra,
  readSubscribeExtra,
} from "../messages/record-extras.js";
import { sessionExpiryMax } from "./bounds.js";
import type { PendingReceipts } from "./pending-receipts.js";
import type { SessionRegistry } from "./session-registry.js";
import type { SessionState } from "./state.js";

/** Brings the state one record further, as the running service did when it was written. */
export function replay(spaces: SessionRegistry, record: JournalRecord, held: PendingReceipts): void {
  appliers[record.kind]?.(spaces, record, held);
}

type Applier = (spaces: SessionRegistry, record: JournalRecord, held: PendingReceipts) => void;

/** Records of a session that is there. */
const ofSession =
  (apply: (spaces: SessionRegistry, state: SessionState, record: JournalRecord) => void): Applier =>
  (spaces, record) => {
    const state = spaces.find(record.device, record.session);
    if (state !== undefined) apply(spaces, state, record);
  };

/** What a record sends to one device. */
function sendAgain(
  spaces: SessionRegistry,
  { topic, payload, qos, receivedAt: at }: JournalRecord,
  held: PendingReceipts,
  to: { device: number; receipt: number | null; properties: MessageProperties | null },
): void {
  const copies = to.receipt === null ? null : held.begin(to.receipt);
  const message = { topic, payload, qos, retain: false, at, session: -1, ...to };
  const { awaited } = spaces.send(message, copies?.settled);
  copies?.begin(awaited);
}

const appliers: Partial<Record<JournalRecord["kind"], Applier>> = {
  [recordKinds.connect]: (spaces, record) => {
    const { id, tenant, device, session, topic, flag, receivedAt, ip, extra, payload } = record;
    // Records of the first format say no more than whether the session is clean.
    const before = { deviceID: "", expiry: flag ? endsWithConnection : sessionExpiryMax, will: null };
    const said = extra === null ? before : readConnectExtra(extra, payload);
    spaces.connect({
      ...{ tenant, device, session, connection: id, clientID: topic, cleanStart: flag },
      ...{ at: receivedAt, ip, keepAlive: record.messageID },
      ...said,
    });
  },
  [recordKinds.disconnect]: (spaces, { device, connection, receivedAt, flag, extra }) => {
    const { expiry, endedAt } = readDisconnectExtra(extra);
    const at = endedAt ?? receivedAt;
    spaces.disconnect({ device, connection, at, orderly: flag, expiry, ofEarlierRun: true });
  },
  [recordKinds.uplink]: (spaces, record) => {
    const { device, session, connection, messageID, topic, payload, qos, retain, flag } = record;
    const { properties, isWill } = readMessageExtra(record.extra);
    const state = qos === 2 && !isWill ? spaces.find(device, session) : undefined;
    if (state !== undefined) spaces.took(state, messageID);
    const at = record.receivedAt;
    if (!flag) spaces.publish({ device, session, topic, payload, qos, retain, properties, at });
    // Last: a space with nothing left in it goes.
    if (isWill) spaces.willPublished(device, connection);
  },
  [recordKinds.downlink]: (spaces, record, held) => {
    const { properties, receipt } = readMessageExtra(record.extra);
    sendAgain(spaces, record, held, { device: record.device, receipt, properties });
  },
  [recordKinds.downlinks]: (spaces, record, held) => {
    const { properties, to } = readRecipientsExtra(record.extra);
    // Once for all of them.
    const own = { ...record, payload: Uint8Array.from(record.payload) };
    for (const [device, receipt] of to) sendAgain(spaces, own, held, { device, receipt, properties });
  },
  [recordKinds.subscribe]: ofSession((spaces, state, { topic, qos, flag, retain, receivedAt, extra }) => {
    const subscription = { qos: qos as 0 | 1 | 2, noLocal: flag, retainAsPublished: retain };
    spaces.subscribe(state, topic, { ...subscription, ...readSubscribeExtra(extra) }, receivedAt);
  }),
  [recordKinds.platform]: ofSession((spaces, state, { extra, receivedAt }) =>
    spaces.subscribeByPlatform(state, readPlatformExtra(extra), receivedAt),
  ),
  [recordKinds.unsubscribe]: ofSession((spaces, state, { topic }) => spaces.unsubscribe(state, topic)),
  [recordKinds.release]: ofSession((spaces, state, { messageID }) => spaces.released(state, messageID)),
  [recordKinds.received]: ofSession((spaces, state, { messageID }) => spaces.received(state, messageID)),
  [recordKinds.delivered]: ofSession((spaces, state, { messageID, flag }) =>
    spaces.delivered(state, messageID, flag),
  ),
};
