import { crc32c } from "../lib/crc32c.js";
import { toDataView } from "../lib/data-view.js";
import { type RecordKind, recordKinds } from "./record-kinds.js";

/**
 * A record as its bytes hold it, the same for every kind. The kind decides what `number`, `flag`, `text` and `extra`
 * mean (record-codecs.ts).
 */
interface FrameFields {
  readonly kind: RecordKind;
  readonly tenant: number;
  /** Record id of the device or gateway; 0 if the record concerns several. */
  readonly device: number;
  /** Journal id of the connect record, or of the envelope; 0 if there is neither. */
  readonly connection: number;
  /** Hash of the client id: with the device it names the session. */
  readonly session: number;
  /** 16 bits. */
  readonly number: number;
  readonly qos: number;
  readonly dup: boolean;
  readonly retain: boolean;
  readonly flag: boolean;
  readonly ip: string;
  /** At most 65,535 bytes. */
  readonly text: string;
  readonly extra: Uint8Array | null;
  readonly payload: Uint8Array;
}

/**
 * A record as the writer receives it. Receipt and stamp are set if they are those of an earlier record that it refers
 * to.
 */
export interface FrameInput extends FrameFields, Partial<Pick<Stored, "receivedAt" | "stamp">> {}

export interface JournalFrame extends FrameFields, Stored {}

/** What the journal adds to every record. */
export interface Stored {
  /** node × 2^43 + sequence */
  readonly id: number;
  /** Receipt, microseconds since 1970. */
  readonly receivedAt: number;
  /** The server stamp of its points: the time of receipt, moved on so that no two messages of a node share a stamp. */
  readonly stamp: number;
}

/*
 * Layout, little endian: length u32 (of the body), check u32, then the body: kind u8, flags u8, number u16,
 * session u32, id f64, receivedAt f64, stamp f64, device f64, connection f64, tenant u32, ip length u8, whether there
 * is an extra u8, text length u16, [head check u32], ip, text, (extra length u32, extra), payload. An entry whose
 * topic another one of the same segment holds (format 3) has text length 0 and, in place of the text, u32: so many
 * bytes before this record that one begins.
 *
 * With a salt (since format 2) the head check is the CRC-32C of salt, length and head, and the check that of what follows,
 * begun with the head check: that a head is genuine is known without its payload. Format 1 has no head check; its
 * check is the CRC-32C of the body.
 */
export const prefixBytes = 8;
const bodyHeadBytes = 56;
const headCheckBytes = 4;
/** The shortest record. */
export const recordHeadBytes = prefixBytes + bodyHeadBytes;
const extraLengthBytes = 4;
const topicBackBytes = 4;

const flagBits = {
  qos: 0b11,
  dup: 0b100,
  retain: 0b1000,
  flag: 0b10000,
  headCheck: 0b100000,
  topicBack: 0b1000000,
} as const;

/** An upper bound of a record's encoded size in bytes. */
export function frameBytesMax(input: FrameInput): number {
  const extraBytes = input.extra === null ? 0 : extraLengthBytes + input.extra.length;
  const headBytes = recordHeadBytes + headCheckBytes + topicBackBytes;
  return headBytes + input.ip.length * 3 + input.text.length * 3 + extraBytes + input.payload.length;
}

/**
 * Writes the record at `at`; the caller has reserved frameBytesMax bytes. `salt` is the segment's, which no sender can
 * know, so that no payload passes for a record; it is 0 in format 1. `topicBack` is how many bytes before this record
 * the one that holds its topic begins, or 0 if this record holds it. Returns the offset after the record.
 */
export function encodeFrame(
  buffer: Buffer,
  at: number,
  input: FrameInput,
  id: number,
  receivedAt: number,
  stamp: number,
  salt: number,
  topicBack = 0,
): number {
  const view = toDataView(buffer);
  const body = at + prefixBytes;
  const tail = body + bodyHeadBytes + (salt === 0 ? 0 : headCheckBytes);
  const ipBytes = writeText(buffer, tail, input.ip, "latin1");
  const topicAt = tail + ipBytes;
  const topicBytes = topicBack === 0 ? writeText(buffer, topicAt, input.text, "utf8") : 0;
  const topicEnd = topicBack === 0 ? topicAt + topicBytes : buffer.writeUInt32LE(topicBack, topicAt);
  const payloadAt = writeExtra(buffer, topicEnd, input.extra);
  buffer.set(input.payload, payloadAt);
  const end = payloadAt + input.payload.length;
  buffer[body] = input.kind;
  buffer[body + 1] =
    input.qos |
    (input.dup ? flagBits.dup : 0) |
    (input.retain ? flagBits.retain : 0) |
    (input.flag ? flagBits.flag : 0) |
    (salt === 0 ? 0 : flagBits.headCheck) |
    (topicBack === 0 ? 0 : flagBits.topicBack);
  view.setUint16(body + 2, input.number, true);
  view.setUint32(body + 4, input.session, true);
  view.setFloat64(body + 8, id, true);
  view.setFloat64(body + 16, receivedAt, true);
  view.setFloat64(body + 24, stamp, true);
  view.setFloat64(body + 32, input.device, true);
  view.setFloat64(body + 40, input.connection, true);
  view.setUint32(body + 48, input.tenant, true);
  buffer[body + 52] = ipBytes;
  buffer[body + 53] = input.extra === null ? 0 : 1;
  view.setUint16(body + 54, topicBytes, true);
  view.setUint32(at, end - body, true);
  seal(buffer, at, end, salt);
  return end;
}

function seal(buffer: Buffer, at: number, end: number, salt: number): void {
  const view = toDataView(buffer);
  const body = at + prefixBytes;
  if (salt === 0) {
    view.setUint32(at + 4, crc32c(buffer, body, end), true);
    return;
  }
  const head = computeHeadCheck(buffer, at, salt);
  view.setUint32(body + bodyHeadBytes, head, true);
  view.setUint32(at + 4, crc32c(buffer, body + bodyHeadBytes + headCheckBytes, end, head), true);
}

function computeHeadCheck(buffer: Buffer, at: number, salt: number): number {
  const body = at + prefixBytes;
  return crc32c(buffer, body, body + bodyHeadBytes, crc32c(buffer, at, at + 4, salt));
}

/** Moves the whole records of `buffer`, of format 2 or 3, to a segment with another salt. */
export function resealRecords(buffer: Buffer, salt: number): void {
  for (let at = 0; at < buffer.length; ) {
    const end = at + prefixBytes + buffer.readUInt32LE(at);
    seal(buffer, at, end, salt);
    at = end;
  }
}

/** Longer texts are left to Buffer's own functions. */
const shortText = 64;

/**
 * Returns the bytes written. Short ASCII texts, as topics and addresses are, cost less here than a call of the encoder.
 */
function writeText(buffer: Buffer, at: number, text: string, encoding: "latin1" | "utf8"): number {
  const { length } = text;
  if (length > shortText) return buffer.write(text, at, encoding);
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return buffer.write(text, at, encoding);
    buffer[at + i] = code;
  }
  return length;
}

function writeExtra(buffer: Buffer, at: number, extra: Uint8Array | null): number {
  if (extra === null) return at;
  buffer.writeUInt32LE(extra.length, at);
  buffer.set(extra, at + extraLengthBytes);
  return at + extraLengthBytes + extra.length;
}

/** Offset of the record's topic, or of the number that refers to it. */
function findTopicStart(buffer: Buffer, at: number): number {
  const body = at + prefixBytes;
  const flags = buffer[body + 1] as number;
  const ipAt = body + bodyHeadBytes + ((flags & flagBits.headCheck) === 0 ? 0 : headCheckBytes);
  return ipAt + (buffer[body + 52] as number);
}

/** How many bytes before the record at `at` the one that holds its topic begins; 0 if the record itself holds it. */
export function readTopicDistance(buffer: Buffer, at: number): number {
  const flags = buffer[at + prefixBytes + 1] as number;
  return (flags & flagBits.topicBack) === 0 ? 0 : buffer.readUInt32LE(findTopicStart(buffer, at));
}

/** The topic that the record at `at` holds. */
export function decodeTopic(buffer: Buffer, at: number): string {
  const topicAt = findTopicStart(buffer, at);
  return buffer.toString("utf8", topicAt, topicAt + buffer.readUInt16LE(at + prefixBytes + 54));
}

/** The envelope whose topic other records of the segment may find in the record at `at`, or null. */
export function readSharedTopicStart(buffer: Buffer, at: number): number | null {
  const body = at + prefixBytes;
  const holds = buffer[body] === recordKinds.entry && readTopicDistance(buffer, at) === 0;
  return holds ? buffer.readDoubleLE(body + 40) : null;
}

/**
 * The record at `at`; its payload and extra are views of `buffer`. `topics` holds, by offset, the topics of records
 * that refer to another record; such a topic is empty if absent.
 */
export function decodeFrame(buffer: Buffer, at: number, topics?: ReadonlyMap<number, string>): JournalFrame {
  const view = toDataView(buffer);
  const body = at + prefixBytes;
  const end = body + view.getUint32(at, true);
  const flags = buffer[body + 1] as number;
  const refers = (flags & flagBits.topicBack) !== 0;
  const topicAt = findTopicStart(buffer, at);
  const ipAt = topicAt - (buffer[body + 52] as number);
  const topicEnd = topicAt + (refers ? topicBackBytes : view.getUint16(body + 54, true));
  const hasExtra = buffer[body + 53] === 1;
  const extraAt = topicEnd + extraLengthBytes;
  const payloadAt = hasExtra ? extraAt + view.getUint32(topicEnd, true) : topicEnd;
  return {
    kind: buffer[body] as RecordKind,
    qos: flags & flagBits.qos,
    dup: (flags & flagBits.dup) !== 0,
    retain: (flags & flagBits.retain) !== 0,
    flag: (flags & flagBits.flag) !== 0,
    number: view.getUint16(body + 2, true),
    session: view.getUint32(body + 4, true),
    id: view.getFloat64(body + 8, true),
    receivedAt: view.getFloat64(body + 16, true),
    stamp: view.getFloat64(body + 24, true),
    device: view.getFloat64(body + 32, true),
    connection: view.getFloat64(body + 40, true),
    tenant: view.getUint32(body + 48, true),
    ip: buffer.toString("latin1", ipAt, topicAt),
    text: refers ? (topics?.get(at) ?? "") : buffer.toString("utf8", topicAt, topicEnd),
    extra: hasExtra ? buffer.subarray(extraAt, payloadAt) : null,
    payload: buffer.subarray(payloadAt, end),
  };
}

export type RecordPeek = Readonly<
  Record<"kind" | "id" | "device" | "tenant" | "receivedAt" | "stamp", number>
>;

/** Fields that an index needs, read without decoding the rest. */
export function peekRecord(buffer: Buffer, at: number): RecordPeek {
  const view = toDataView(buffer);
  const body = at + prefixBytes;
  return {
    kind: buffer[body] as number,
    id: view.getFloat64(body + 8, true),
    receivedAt: view.getFloat64(body + 16, true),
    stamp: view.getFloat64(body + 24, true),
    device: view.getFloat64(body + 32, true),
    tenant: view.getUint32(body + 48, true),
  };
}

/** Size in bytes of the record at `at`, or 0 if the bytes up to `end` do not hold all of it. */
export function recordSize(buffer: Buffer, at: number, end: number): number {
  if (at + prefixBytes > end) return 0;
  const size = prefixBytes + buffer.readUInt32LE(at);
  return size < recordHeadBytes || at + size > end ? 0 : size;
}

/** True when the record at `at` is what was written. */
export function isIntact(buffer: Buffer, at: number, size: number, salt: number): boolean {
  const body = at + prefixBytes;
  const check = buffer.readUInt32LE(at + 4);
  if (salt === 0) return crc32c(buffer, body, at + size) === check;
  if (!isGenuineHead(buffer, at, at + size, salt)) return false;
  const head = buffer.readUInt32LE(body + bodyHeadBytes);
  return crc32c(buffer, body + bodyHeadBytes + headCheckBytes, at + size, head) === check;
}

/**
 * From format 2: whether length and head at `at` are as written, whatever the payload is. Only a writer that knows the
 * salt can make such a head. The bytes up to `end` are there.
 */
export function isGenuineHead(buffer: Buffer, at: number, end: number, salt: number): boolean {
  const body = at + prefixBytes;
  if (body + bodyHeadBytes + headCheckBytes > end) return false;
  if (((buffer[body + 1] as number) & flagBits.headCheck) === 0) return false;
  return buffer.readUInt32LE(body + bodyHeadBytes) === computeHeadCheck(buffer, at, salt);
}
