import { decodeFrame, encodeFrame, type FrameInput, frameBytesMax, type JournalFrame } from "./frame.js";
import type {
  BatchEnd,
  Connect,
  Delivered,
  Denial,
  Disconnect,
  Downlink,
  DownlinksRecord,
  EntryRecord,
  Expanded,
  Inbox,
  JournalInput,
  JournalRecord,
  Platform,
  ReceivedRecord,
  Release,
  SessionEnd,
  SnapshotPart,
  Subscribe,
  Unsubscribe,
  UplinkRecord,
} from "./record.js";
import { type RecordKind, recordKinds } from "./record-kinds.js";

/**
 * How one kind of record is encoded in a frame. Frames are literals, field by field, because one is made for each
 * message.
 */
interface Codec<Input extends JournalInput> {
  toFrame(record: Input): FrameInput;
  fromFrame(frame: JournalFrame): JournalRecord<Input>;
}

const nothing = new Uint8Array(0);

/** Values of the fields that a kind does not use. */
const unused = {
  number: 0,
  qos: 0,
  dup: false,
  retain: false,
  flag: false,
  text: "",
  extra: null,
  payload: nothing,
} as const;

const uplink: Codec<UplinkRecord> = {
  toFrame: (record) => ({
    kind: record.kind,
    tenant: record.tenant,
    device: record.device,
    connection: record.connection,
    session: record.session,
    number: record.messageID,
    qos: record.qos,
    dup: record.dup,
    retain: record.retain,
    flag: record.refused,
    ip: record.ip,
    text: record.topic,
    extra: record.details,
    payload: record.payload,
  }),
  fromFrame: (frame) => ({
    kind: recordKinds.uplink,
    id: frame.id,
    receivedAt: frame.receivedAt,
    stamp: frame.stamp,
    tenant: frame.tenant,
    device: frame.device,
    connection: frame.connection,
    session: frame.session,
    messageID: frame.number,
    qos: frame.qos,
    dup: frame.dup,
    retain: frame.retain,
    refused: frame.flag,
    ip: frame.ip,
    topic: frame.text,
    details: frame.extra,
    payload: frame.payload,
  }),
};

const entry: Codec<EntryRecord> = {
  toFrame: (record) => ({
    ...unused,
    kind: record.kind,
    tenant: record.tenant,
    device: record.device,
    connection: record.envelope,
    session: 0,
    number: record.ordinal,
    ip: record.ip,
    text: record.topic,
    extra: record.details,
    payload: record.payload,
    receivedAt: record.receivedAt,
    stamp: record.stamp,
  }),
  fromFrame: (frame) => ({
    kind: recordKinds.entry,
    id: frame.id,
    receivedAt: frame.receivedAt,
    stamp: frame.stamp,
    tenant: frame.tenant,
    device: frame.device,
    envelope: frame.connection,
    ordinal: frame.number,
    details: frame.extra,
    ip: frame.ip,
    topic: frame.text,
    payload: frame.payload,
  }),
};

const expanded: Codec<Expanded> = {
  toFrame: ({ envelope, refusedEntries, topic, ...record }) => ({
    ...unused,
    ...record,
    connection: envelope,
    session: 0,
    number: refusedEntries,
    text: topic,
  }),
  fromFrame: (frame) => ({
    ...toStoredFields(frame),
    kind: recordKinds.expanded,
    envelope: frame.connection,
    refusedEntries: frame.number,
    topic: frame.text,
  }),
};

const connect: Codec<Connect> = {
  toFrame: ({ clientID, keepAlive, cleanStart, details, payload, ...record }) => ({
    ...unused,
    ...record,
    connection: 0,
    number: keepAlive,
    flag: cleanStart,
    text: clientID,
    extra: details,
    payload,
  }),
  fromFrame: (frame) => ({
    ...toStoredFields(frame),
    kind: recordKinds.connect,
    session: frame.session,
    clientID: frame.text,
    keepAlive: frame.number,
    cleanStart: frame.flag,
    details: frame.extra,
    payload: frame.payload,
  }),
};

const disconnect: Codec<Disconnect> = {
  toFrame: ({ keepAlive, orderly, reason, details, ...record }) => ({
    ...unused,
    ...record,
    number: keepAlive,
    flag: orderly,
    text: reason,
    extra: details,
  }),
  fromFrame: (frame) => ({
    ...inSession(frame),
    kind: recordKinds.disconnect,
    keepAlive: frame.number,
    orderly: frame.flag,
    reason: frame.text,
    details: frame.extra,
  }),
};

const denial: Codec<Denial> = {
  toFrame: ({ clientID, keepAlive, ...record }) => ({
    ...unused,
    ...record,
    connection: 0,
    number: keepAlive,
    text: clientID,
  }),
  fromFrame: (frame) => ({
    ...toStoredFields(frame),
    kind: recordKinds.denial,
    session: frame.session,
    clientID: frame.text,
    keepAlive: frame.number,
  }),
};

const subscribe: Codec<Subscribe> = {
  toFrame: ({ filter, noLocal, retainAsPublished, details, ...record }) => ({
    ...unused,
    ...record,
    flag: noLocal,
    retain: retainAsPublished,
    text: filter,
    extra: details,
  }),
  fromFrame: (frame) => ({
    ...inSession(frame),
    kind: recordKinds.subscribe,
    filter: frame.text,
    qos: frame.qos as Subscribe["qos"],
    noLocal: frame.flag,
    retainAsPublished: frame.retain,
    details: frame.extra,
  }),
};

const unsubscribe: Codec<Unsubscribe> = {
  toFrame: ({ filter, ...record }) => ({ ...unused, ...record, text: filter }),
  fromFrame: (frame) => ({ ...inSession(frame), kind: recordKinds.unsubscribe, filter: frame.text }),
};

const platform: Codec<Platform> = {
  toFrame: ({ details, ...record }) => ({ ...unused, ...record, extra: details }),
  fromFrame: (frame) => ({ ...inSession(frame), kind: recordKinds.platform, details: frame.extra }),
};

const release: Codec<Release> = {
  toFrame: ({ messageID, ...record }) => ({ ...unused, ...record, number: messageID }),
  fromFrame: (frame) => ({ ...inSession(frame), kind: recordKinds.release, messageID: frame.number }),
};

const received: Codec<ReceivedRecord> = {
  toFrame: ({ messageID, ...record }) => ({ ...unused, ...record, number: messageID }),
  fromFrame: (frame) => ({ ...inSession(frame), kind: recordKinds.received, messageID: frame.number }),
};

const delivered: Codec<Delivered> = {
  toFrame: ({ messageID, acknowledged, ...record }) => ({
    ...unused,
    ...record,
    number: messageID,
    flag: acknowledged,
  }),
  fromFrame: (frame) => ({
    ...inSession(frame),
    kind: recordKinds.delivered,
    messageID: frame.number,
    acknowledged: frame.flag,
  }),
};

const downlink: Codec<Downlink> = {
  toFrame: ofDownlink,
  fromFrame: (frame) => ({ ...toMessageFields(frame), kind: recordKinds.downlink, details: frame.extra }),
};

const downlinks: Codec<DownlinksRecord> = {
  toFrame: ofDownlink,
  fromFrame: (frame) => ({ ...toMessageFields(frame), kind: recordKinds.downlinks, details: frame.extra }),
};

const inbox: Codec<Inbox> = {
  toFrame: ({ clientID, details, ...record }) => ({
    ...unused,
    ...record,
    connection: 0,
    text: clientID,
    extra: details,
  }),
  fromFrame: (frame) => ({
    ...toStoredFields(frame),
    kind: recordKinds.inbox,
    session: frame.session,
    clientID: frame.text,
    details: frame.extra,
  }),
};

const sessionEnd: Codec<SessionEnd> = {
  toFrame: ({ clientID, ...record }) => ({ ...unused, ...record, connection: 0, text: clientID }),
  fromFrame: (frame) => ({
    ...toStoredFields(frame),
    kind: recordKinds.sessionEnd,
    session: frame.session,
    clientID: frame.text,
  }),
};

const batch: Codec<BatchEnd> = {
  toFrame: ({ batchID, refusedLines, ...record }) => ({
    ...unused,
    ...record,
    number: refusedLines,
    text: batchID,
  }),
  fromFrame: (frame) => ({
    ...inSession(frame),
    kind: recordKinds.batch,
    batchID: frame.text,
    refusedLines: frame.number,
  }),
};

const snapshotPart: Codec<SnapshotPart> = {
  toFrame: ({ savedID, part, isLast, ...record }) => ({
    ...unused,
    ...record,
    connection: savedID,
    session: 0,
    number: part,
    flag: isLast,
    ip: "",
  }),
  fromFrame: (frame) => {
    const { ip: _, ...stored } = toStoredFields(frame);
    return {
      ...stored,
      kind: recordKinds.snapshotPart,
      savedID: frame.connection,
      part: frame.number,
      isLast: frame.flag,
      payload: frame.payload,
    };
  },
};

function ofDownlink({ topic, details, ...record }: Downlink | DownlinksRecord): FrameInput {
  return { ...unused, ...record, connection: 0, session: 0, ip: "", text: topic, extra: details };
}

function toMessageFields(frame: JournalFrame) {
  const { ip: _, ...stored } = toStoredFields(frame);
  return { ...stored, qos: frame.qos, topic: frame.text, payload: frame.payload };
}

function toStoredFields({ id, receivedAt, stamp, tenant, device, ip }: JournalFrame) {
  return { id, receivedAt, stamp, tenant, device, ip };
}

function inSession(frame: JournalFrame) {
  return { ...toStoredFields(frame), connection: frame.connection, session: frame.session };
}

const codecs: { readonly [Kind in RecordKind]: Codec<Extract<JournalInput, { kind: Kind }>> } = {
  [recordKinds.uplink]: uplink,
  [recordKinds.connect]: connect,
  [recordKinds.disconnect]: disconnect,
  [recordKinds.release]: release,
  [recordKinds.denial]: denial,
  [recordKinds.subscribe]: subscribe,
  [recordKinds.unsubscribe]: unsubscribe,
  [recordKinds.downlink]: downlink,
  [recordKinds.received]: received,
  [recordKinds.delivered]: delivered,
  [recordKinds.platform]: platform,
  [recordKinds.downlinks]: downlinks,
  [recordKinds.inbox]: inbox,
  [recordKinds.batch]: batch,
  [recordKinds.entry]: entry,
  [recordKinds.expanded]: expanded,
  [recordKinds.sessionEnd]: sessionEnd,
  [recordKinds.snapshotPart]: snapshotPart,
};

const findCodec = (kind: RecordKind): Codec<JournalInput> => codecs[kind] as unknown as Codec<JournalInput>;

export function toFrameInput(record: JournalInput): FrameInput {
  return findCodec(record.kind).toFrame(record);
}

/** The record at `at`; its payload and details are views of `buffer`. For `topics`, see decodeFrame. */
export function decodeRecord(
  buffer: Buffer,
  at: number,
  topics?: ReadonlyMap<number, string>,
): JournalRecord {
  const frame = decodeFrame(buffer, at, topics);
  return findCodec(frame.kind).fromFrame(frame);
}

/** The record alone in a buffer, encoded as in a segment of format 1, without a salt. */
export function encodedRecord(record: JournalRecord): Buffer {
  const frame = toFrameInput(record);
  const buffer = Buffer.alloc(frameBytesMax(frame));
  const end = encodeFrame(buffer, 0, frame, record.id, record.receivedAt, record.stamp, 0);
  return buffer.subarray(0, end);
}

/** The record with bytes of its own: it keeps no larger buffer in memory, and does not change with one. */
export function copyRecord(record: JournalRecord): JournalRecord {
  const details = "details" in record && record.details !== null ? Buffer.from(record.details) : null;
  return {
    ...record,
    ...("details" in record ? { details } : {}),
    ...("payload" in record ? { payload: Buffer.from(record.payload) } : {}),
  } as JournalRecord;
}

/** Bytes of the record's text, details and payload. */
export function contentBytes(record: JournalRecord): number {
  const { text, extra, payload } = toFrameInput(record);
  return text.length + (extra?.length ?? 0) + payload.length;
}
