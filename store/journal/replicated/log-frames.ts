/** What the log of a replicated journal holds: frames, from which every machine makes the same segments. */
import { toDataView } from "../../lib/data-view.js";
import { StoreError } from "../../lib/errors.js";
import {
  decodeHead,
  encodeHead,
  type SegmentHead,
  type SegmentName,
  segmentHeadBytes,
} from "../segment-head.js";
import { type StampRuns, stampClasses } from "../stamps.js";

/** A process that claims the log. */
export interface Claimant {
  /** The deployment whose journal it is. */
  readonly deployment: string;
  readonly shard: number;
  /** The process, by a name that no other one has. */
  readonly owner: string;
}

/** A segment of the log. */
export interface LoggedSegment extends SegmentName {
  /** The offset of the frame that begins it. */
  readonly offset: number;
  readonly bytes: number;
}

export type LogFrame = { readonly epoch: number } & (
  | /** From here on the log is the claimant's, if the epoch is above all before it. */
  ({ readonly kind: "claim" } & Claimant)
  /** A segment begins. `given`: the stamps given before it; `before`: the newest segments before it, oldest first. */
  | {
      readonly kind: "begin";
      readonly head: SegmentHead;
      readonly given: StampRuns;
      readonly before: readonly LoggedSegment[];
    }
  /**
   * Whole records of a segment, as they stand in its file from `position` on; `begunAt` is the offset of the frame that
   * begins it.
   */
  | {
      readonly kind: "records";
      readonly segment: Pick<SegmentName, "firstID" | "salt">;
      readonly begunAt: number;
      readonly position: number;
      readonly bytes: Buffer;
    }
);

/*
 * Layout, little endian: magic, version u8, kind u8, zeros u16, epoch f64, body. Of a claim: JSON. Of a beginning: the
 * segment's head, then JSON. Of records: firstID f64, begunAt f64, salt u32, position u32, the records. The log checks
 * the bytes (Kafka's CRC-32C), and so do the records.
 */
const magic = "TIDELOGF";
const version = 1;
const headBytes = 20;
const recordsAt = headBytes + 24;
const kinds = { claim: 1, begin: 2, records: 3 } as const;

/** Bytes of a frame beside the records in it. */
export const recordsFrameHeadBytes = recordsAt;

export function encodeClaim(epoch: number, { deployment, shard, owner }: Claimant): Buffer {
  return Buffer.concat([createFrameHead("claim", epoch), encodeJSON({ deployment, shard, owner })]);
}

export function encodeBegin(
  epoch: number,
  of: { readonly head: SegmentHead; readonly given: StampRuns; readonly before: readonly LoggedSegment[] },
): Buffer {
  const before = of.before.map(({ firstID, createdAt, salt, offset, bytes }) => [
    firstID,
    createdAt,
    salt,
    offset,
    bytes,
  ]);
  return Buffer.concat([
    createFrameHead("begin", epoch),
    encodeHead(of.head),
    encodeJSON({ given: of.given, before }),
  ]);
}

export function encodeRecords(
  epoch: number,
  of: {
    readonly segment: Pick<SegmentName, "firstID" | "salt">;
    readonly begunAt: number;
    readonly position: number;
  },
  views: readonly Buffer[],
): Buffer {
  const bytes = views.reduce((sum, view) => sum + view.length, 0);
  const frame = Buffer.allocUnsafe(recordsAt + bytes);
  createFrameHead("records", epoch).copy(frame);
  frame.writeDoubleLE(of.segment.firstID, headBytes);
  frame.writeDoubleLE(of.begunAt, headBytes + 8);
  frame.writeUInt32LE(of.segment.salt, headBytes + 16);
  frame.writeUInt32LE(of.position, headBytes + 20);
  let at = recordsAt;
  for (const view of views) at += view.copy(frame, at);
  return frame;
}

/** The frame; its records are a view of `frame`. @throws StoreError CORRUPT for what Tidemark has not written */
export function decodeLogFrame(frame: Buffer): LogFrame {
  if (frame.length < headBytes || frame.toString("latin1", 0, magic.length) !== magic)
    throw foreign("it is none of Tidemark's");
  if (frame[8] !== version) throw foreign(`it has version ${frame[8]}`);
  const epoch = toDataView(frame).getFloat64(12, true);
  if (!Number.isSafeInteger(epoch) || epoch < 1) throw foreign(`it has epoch ${epoch}`);
  switch (frame[9]) {
    case kinds.claim:
      return { kind: "claim", epoch, ...claimantIn(frame.subarray(headBytes)) };
    case kinds.begin:
      return { kind: "begin", epoch, ...beginningIn(frame) };
    case kinds.records:
      return { kind: "records", epoch, ...recordsIn(frame) };
    default:
      throw foreign(`it is of kind ${frame[9]}`);
  }
}

function createFrameHead(kind: keyof typeof kinds, epoch: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.write(magic, 0, "latin1");
  head[8] = version;
  head[9] = kinds[kind];
  head.writeDoubleLE(epoch, 12);
  return head;
}

const encodeJSON = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function parsed(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error is thrown below.
  }
  throw foreign("its text cannot be read");
}

function claimantIn(body: Buffer): Claimant {
  const { deployment, shard, owner } = parsed(body);
  if (typeof deployment !== "string" || typeof shard !== "number" || typeof owner !== "string")
    throw foreign("it does not say who claims");
  return { deployment, shard, owner };
}

function beginningIn(frame: Buffer) {
  const jsonAt = headBytes + segmentHeadBytes;
  const head = decodeHead(frame.subarray(headBytes, jsonAt), "the log's segment");
  if (head === null) throw foreign("the segment that it begins has no head");
  const { given, before } = parsed(frame.subarray(jsonAt));
  if (!isStampRuns(given) || !isTable(before)) throw foreign("it does not say what was before");
  const segments = before.map(([firstID, createdAt, salt, offset, bytes]) => ({
    firstID,
    createdAt,
    salt,
    offset,
    bytes,
  }));
  return { head, given, before: segments };
}

const isNumbers = (value: unknown, count: number): boolean =>
  Array.isArray(value) && value.length === count && value.every((one) => Number.isFinite(one));

function isStampRuns(value: unknown): value is StampRuns {
  return (
    Array.isArray(value) &&
    value.length === stampClasses &&
    value.every((runs) => Array.isArray(runs) && runs.every((run) => isNumbers(run, 2)))
  );
}

function isTable(value: unknown): value is [number, number, number, number, number][] {
  return Array.isArray(value) && value.every((row) => isNumbers(row, 5));
}

function recordsIn(frame: Buffer) {
  if (frame.length < recordsAt) throw foreign("it is cut off");
  const segment = { firstID: frame.readDoubleLE(headBytes), salt: frame.readUInt32LE(headBytes + 16) };
  const begunAt = frame.readDoubleLE(headBytes + 8);
  const position = frame.readUInt32LE(headBytes + 20);
  if (!Number.isSafeInteger(segment.firstID) || !Number.isSafeInteger(begunAt) || position < segmentHeadBytes)
    throw foreign("it does not say where its records belong");
  return { segment, begunAt, position, bytes: frame.subarray(recordsAt) };
}

function foreign(cause: string): StoreError {
  return new StoreError("CORRUPT", `cannot read a frame of the journal's log: ${cause}`);
}
