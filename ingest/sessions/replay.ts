import { endsWithConnection, type MessageProperties } from "../../store/journal/message.js";
import type { Downlink, DownlinksRecord, JournalInput, JournalRecord } from "../../store/journal/record.js";
import {
  decodeConnectDetails,
  decodeDisconnectDetails,
  decodeDownlinkDetails,
  decodeDownlinksDetails,
  decodeInboxDetails,
  decodePlatformDetails,
  decodeSubscribeDetails,
  decodeUplinkDetails,
} from "../../store/journal/record-details.js";
import { type RecordKind, recordKinds } from "../../store/journal/record-kinds.js";
import { sessionExpiryMax } from "./bounds.js";
import type { PendingReceipts } from "./pending-receipts.js";
import type { SessionRegistry } from "./session-registry.js";
import type { SessionState } from "./state.js";

/** Applies one record to the state, as the running service did when the record was written. */
export function replay(registry: SessionRegistry, record: JournalRecord, held: PendingReceipts): void {
  (appliers[record.kind] as Applier<JournalRecord> | undefined)?.(registry, record, held);
}

type Applier<Input> = (registry: SessionRegistry, record: Input, held: PendingReceipts) => void;

/** Records of a session that is there. */
function ofSession<Input extends { readonly device: number; readonly session: number }>(
  apply: (registry: SessionRegistry, state: SessionState, record: Input) => void,
): Applier<Input> {
  return (registry, record) => {
    const state = registry.find(record.device, record.session);
    if (state !== undefined) apply(registry, state, record);
  };
}

/** Sends again what a record sent to one device. */
function sendAgain(
  registry: SessionRegistry,
  { topic, payload, qos, receivedAt: at }: JournalRecord<Downlink | DownlinksRecord>,
  held: PendingReceipts,
  to: { device: number; receipt: number | null; properties: MessageProperties | null },
): void {
  const copies = to.receipt === null ? null : held.begin(to.receipt);
  const message = { topic, payload, qos, retain: false, at, session: -1, ...to };
  const { awaited } = registry.send(message, copies?.settled);
  copies?.begin(awaited);
}

type OfKind<Kind extends RecordKind> = JournalRecord<Extract<JournalInput, { kind: Kind }>>;

const appliers: { readonly [Kind in RecordKind]?: Applier<OfKind<Kind>> } = {
  [recordKinds.connect]: (registry, record) => {
    const { id, tenant, device, session, clientID, cleanStart, keepAlive, receivedAt, ip } = record;
    const before = { deviceID: "", expiry: cleanStart ? endsWithConnection : sessionExpiryMax, will: null };
    const { details } = record;
    const said = details === null ? before : decodeConnectDetails(details, record.payload);
    registry.connect({
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
  [recordKinds.inbox]: (registry, { tenant, device, session, clientID, details, receivedAt: at }) =>
    registry.openInbox({ tenant, device, session, clientID, at, ...decodeInboxDetails(details) }),
  [recordKinds.disconnect]: (registry, { device, connection, receivedAt, orderly, details }) => {
    const { expiry, endedAt } = decodeDisconnectDetails(details);
    const at = endedAt ?? receivedAt;
    registry.disconnect({ device, connection, at, orderly, expiry, ofEarlierRun: true });
  },
  [recordKinds.sessionEnd]: (registry, { device, clientID, session, receivedAt: at }) =>
    registry.endSession({ device, clientID, session, at }),
  [recordKinds.uplink]: (registry, record) => {
    const { device, session, connection, messageID, topic, payload, qos, retain, refused } = record;
    const { properties, isWill } = decodeUplinkDetails(record.details);
    const state = qos === 2 && !isWill ? registry.find(device, session) : undefined;
    if (state !== undefined) registry.took(state, messageID);
    const at = record.receivedAt;
    if (!refused) registry.publish({ device, session, topic, payload, qos, retain, properties, at });
    // Last, for a device with nothing left goes from the registry.
    if (isWill) registry.willPublished(device, connection);
  },
  [recordKinds.downlink]: (registry, record, held) => {
    const { properties, receipt } = decodeDownlinkDetails(record.details);
    sendAgain(registry, record, held, { device: record.device, receipt, properties });
  },
  [recordKinds.downlinks]: (registry, record, held) => {
    const { properties, to } = decodeDownlinksDetails(record.details);
    // One copy for all of them.
    const own = { ...record, payload: Uint8Array.from(record.payload) };
    for (const { device, receipt } of to) sendAgain(registry, own, held, { device, receipt, properties });
  },
  [recordKinds.subscribe]: ofSession((registry, state, record) => {
    const { filter, qos, noLocal, retainAsPublished, details, receivedAt } = record;
    const subscription = { qos, noLocal, retainAsPublished, ...decodeSubscribeDetails(details) };
    registry.subscribe(state, filter, subscription, receivedAt);
  }),
  [recordKinds.platform]: ofSession((registry, state, { details, receivedAt }) =>
    registry.subscribeByPlatform(state, decodePlatformDetails(details), receivedAt),
  ),
  [recordKinds.unsubscribe]: ofSession((registry, state, { filter }) => registry.unsubscribe(state, filter)),
  [recordKinds.release]: ofSession((registry, state, { messageID }) => registry.released(state, messageID)),
  [recordKinds.received]: ofSession((registry, state, { messageID }) => registry.received(state, messageID)),
  [recordKinds.delivered]: ofSession((registry, state, { messageID, acknowledged }) =>
    registry.delivered(state, messageID, acknowledged),
  ),
};

type Addressed =
  | Pick<DownlinksRecord, "kind" | "details">
  | Pick<Exclude<JournalInput, DownlinksRecord>, "kind" | "device">;

/** Devices whose sessions a record changes: its own, or those that one message of ours goes to. */
export function listRecordDevices(record: Addressed): number[] {
  if (record.kind !== recordKinds.downlinks) return [record.device];
  return decodeDownlinksDetails(record.details).to.map(({ device }) => device);
}
