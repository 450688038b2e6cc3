import { endsWithConnection, type MessageProperties } from "../../store/journal/message.js";
import type { Downlink, Downlinks, JournalInput, JournalRecord } from "../../store/journal/record.js";
import {
  decodeConnectDetails,
  decodeDisconnectDetails,
  decodeDownlinkDetails,
  decodeDownlinksDetails,
  decodePlatformDetails,
  decodeSubscribeDetails,
  decodeUplinkDetails,
} from "../../store/journal/record-details.js";
import { type RecordKind, recordKinds } from "../../store/journal/record-kinds.js";
import { sessionExpiryMax } from "./bounds.js";
import type { PendingReceipts } from "./pending-receipts.js";
import type { SessionRegistry } from "./session-registry.js";
import type { SessionState } from "./state.js";

/** Brings the state one record further, as the running service did when it was written. */
export function replay(spaces: SessionRegistry, record: JournalRecord, held: PendingReceipts): void {
  (appliers[record.kind] as Applier<JournalRecord> | undefined)?.(spaces, record, held);
}

type Applier<Input> = (spaces: SessionRegistry, record: Input, held: PendingReceipts) => void;

/** Records of a session that is there. */
function ofSession<Input extends { readonly device: number; readonly session: number }>(
  apply: (spaces: SessionRegistry, state: SessionState, record: Input) => void,
): Applier<Input> {
  return (spaces, record) => {
    const state = spaces.find(record.device, record.session);
    if (state !== undefined) apply(spaces, state, record);
  };
}

/** What a record sends to one device. */
function sendAgain(
  spaces: SessionRegistry,
  { topic, payload, qos, receivedAt: at }: JournalRecord<Downlink | Downlinks>,
  held: PendingReceipts,
  to: { device: number; receipt: number | null; properties: MessageProperties | null },
): void {
  const copies = to.receipt === null ? null : held.begin(to.receipt);
  const message = { topic, payload, qos, retain: false, at, session: -1, ...to };
  const { awaited } = spaces.send(message, copies?.settled);
  copies?.begin(awaited);
}

type OfKind<Kind extends RecordKind> = JournalRecord<Extract<JournalInput, { kind: Kind }>>;

const appliers: { readonly [Kind in RecordKind]?: Applier<OfKind<Kind>> } = {
  [recordKinds.connect]: (spaces, record) => {
    const { id, tenant, device, session, clientID, cleanStart, keepAlive, receivedAt, ip } = record;
    const before = { deviceID: "", expiry: cleanStart ? endsWithConnection : sessionExpiryMax, will: null };
    const { details } = record;
    const said = details === null ? before : decodeConnectDetails(details, record.payload);
    spaces.connect({
      tenant,
      device,
      session,
      connection: id,
      clientID,
      cleanStart,
      at: receivedAt,
      ip,
      keepAlive,
      ...said,
    });
  },
  [recordKinds.disconnect]: (spaces, { device, connection, receivedAt, orderly, details }) => {
    const { expiry, endedAt } = decodeDisconnectDetails(details);
    const at = endedAt ?? receivedAt;
    spaces.disconnect({ device, connection, at, orderly, expiry, ofEarlierRun: true });
  },
  [recordKinds.uplink]: (spaces, record) => {
    const { device, session, connection, messageID, topic, payload, qos, retain, refused } = record;
    const { properties, isWill } = decodeUplinkDetails(record.details);
    const state = qos === 2 && !isWill ? spaces.find(device, session) : undefined;
    if (state !== undefined) spaces.took(state, messageID);
    const at = record.receivedAt;
    if (!refused) spaces.publish({ device, session, topic, payload, qos, retain, properties, at });
    // Last: a device with nothing left goes from the registry.
    if (isWill) spaces.willPublished(device, connection);
  },
  [recordKinds.downlink]: (spaces, record, held) => {
    const { properties, receipt } = decodeDownlinkDetails(record.details);
    sendAgain(spaces, record, held, { device: record.device, receipt, properties });
  },
  [recordKinds.downlinks]: (spaces, record, held) => {
    const { properties, to } = decodeDownlinksDetails(record.details);
    // Once for all of them.
    const own = { ...record, payload: Uint8Array.from(record.payload) };
    for (const { device, receipt } of to) sendAgain(spaces, own, held, { device, receipt, properties });
  },
  [recordKinds.subscribe]: ofSession((spaces, state, record) => {
    const { filter, qos, noLocal, retainAsPublished, details, receivedAt } = record;
    const subscription = { qos, noLocal, retainAsPublished, ...decodeSubscribeDetails(details) };
    spaces.subscribe(state, filter, subscription, receivedAt);
  }),
  [recordKinds.platform]: ofSession((spaces, state, { details, receivedAt }) =>
    spaces.subscribeByPlatform(state, decodePlatformDetails(details), receivedAt),
  ),
  [recordKinds.unsubscribe]: ofSession((spaces, state, { filter }) => spaces.unsubscribe(state, filter)),
  [recordKinds.release]: ofSession((spaces, state, { messageID }) => spaces.released(state, messageID)),
  [recordKinds.received]: ofSession((spaces, state, { messageID }) => spaces.received(state, messageID)),
  [recordKinds.delivered]: ofSession((spaces, state, { messageID, acknowledged }) =>
    spaces.delivered(state, messageID, acknowledged),
  ),
};
