import { nextTurn } from "../lib/scheduling.js";
import {
  decodeFrame,
  encodeFrame,
  type FrameInput,
  frameBytesMax,
  peekRecord,
  type RecordPeek,
  readTopicDistance,
  resealRecords,
} from "./frame.js";
import { createRecordBuffers } from "./record-buffers.js";
import { recordKinds } from "./record-kinds.js";
import type { SharedTopics } from "./shared-topics.js";

/** Records rewritten in one turn of the loop: a millisecond or two. */
const rebuiltPerTurn = 500;
/** A shorter topic is repeated: a reference to it takes as many bytes. */
const sharedLengthMin = 8;

type Done = (id: number) => void;

/** The place in a segment that a batch is written to. */
interface Place {
  readonly salt: number;
  /** Offset in the file. */
  readonly position: number;
  /** Topics of envelopes that the segment already holds. */
  readonly topics: Pick<SharedTopics, "at">;
}

/**
 * Records that become durable together, laid out as they go to the file. Of an envelope's entries the first holds its
 * topic, and the others refer to it.
 */
export interface Batch {
  readonly firstID: number;
  readonly lastID: number;
  readonly bytes: number;
  /** Adds a record, whose id is the one after `lastID`. Returns its size in bytes. */
  add(frame: FrameInput, receivedAt: number, stamp: number, done: Done | undefined): number;
  /** The bytes of the batch, in buffers. */
  views(): Buffer[];
  /**
   * Recomputes the checksums for another salt, and makes entries refer to topics that the segment holds, which may
   * reduce `bytes`.
   */
  fit(place: Place): Promise<void>;
  /** By envelope, the record that holds its topic: offsets from the beginning of the batch. */
  readonly holders: ReadonlyMap<number, number>;
  /** Visits the records with their offsets from the beginning of the batch. */
  visit(record: (offset: number, peek: RecordPeek) => void): void;
  /** Calls every record's `done`, in order, and gives the buffers back. What one of them throws goes to `onFault`. */
  settle(onFault: (id: number, error: unknown) => void): void;
}

/** Makes batches whose buffers are reused. */
export function createBatches(): (firstID: number, salt: number) => Batch {
  const pool: Buffer[] = [];
  return (firstID, salt) => createBatch(firstID, salt, pool);
}

function createBatch(firstID: number, firstSalt: number, pool: Buffer[]): Batch {
  let buffers = createRecordBuffers(pool);
  const dones: (Done | undefined)[] = [];
  let bytes = 0;
  let salt = firstSalt;
  let holders = new Map<number, number>();
  /** Topics by envelope; an entry with another topic than its envelope's holds its own. */
  const topics = new Map<number, string>();
  /** The place that the batch was written for, if it refers to records before it. */
  let fitted: Place | null = null;

  /** Returns the record's size in bytes. */
  function write(frame: FrameInput, id: number, receivedAt: number, stamp: number): number {
    const buffer = buffers.room(frameBytesMax(frame));
    const begin = buffers.used;
    const back = isShared(frame) ? distanceToTopic(frame, buffers.bytesBefore + begin) : 0;
    const end = encodeFrame(buffer, begin, frame, id, receivedAt, stamp, salt, back);
    buffers.used = end;
    bytes += end - begin;
    return end - begin;
  }

  /**
   * How far before `at`, in the batch, the record with the envelope's topic begins; 0 if this is the first, which then
   * holds it.
   */
  function distanceToTopic({ connection: envelope, text: topic }: FrameInput, at: number): number {
    const known = topics.get(envelope);
    if (known !== undefined && known !== topic) return 0;
    topics.set(envelope, topic);
    const outside = fitted?.topics.at(envelope);
    if (fitted !== null && outside !== undefined) return fitted.position + at - outside;
    const holder = holders.get(envelope);
    if (holder !== undefined) return at - holder;
    holders.set(envelope, at);
    return 0;
  }

  /** Rewrites every record for the place. */
  async function rebuild(place: Place): Promise<void> {
    const before = buffers;
    ({ salt } = place);
    fitted = place;
    buffers = createRecordBuffers(pool);
    holders = new Map();
    bytes = 0;
    let records = 0;
    for (const view of before.views()) {
      for (let at = 0; at < view.length; at += 8 + view.readUInt32LE(at)) {
        // Does not queue behind other sliced work: everybody's acknowledgements wait for this.
        if (++records % rebuiltPerTurn === 0) await nextTurn();
        const frame = decodeFrame(view, at);
        const refers = readTopicDistance(view, at) > 0;
        const text = refers ? (topics.get(frame.connection) ?? "") : frame.text;
        write({ ...frame, text }, frame.id, frame.receivedAt, frame.stamp);
      }
      await nextTurn();
    }
    before.giveBack();
  }

  async function reseal(place: Place): Promise<void> {
    for (const view of buffers.views()) {
      resealRecords(view, place.salt);
      await nextTurn();
    }
    ({ salt } = place);
  }

  /** Whether the batch repeats a topic that the segment holds, or its references are for another place. */
  function misfits(place: Place): boolean {
    if (fitted !== null) return fitted.salt !== place.salt || fitted.position !== place.position;
    for (const envelope of holders.keys()) if (place.topics.at(envelope) !== undefined) return true;
    return false;
  }

  return {
    firstID,
    get lastID() {
      return firstID + dones.length - 1;
    },
    get bytes() {
      return bytes;
    },
    add: (frame, receivedAt, stamp, done) => {
      const written = write(frame, firstID + dones.length, receivedAt, stamp);
      dones.push(done);
      return written;
    },
    views: () => buffers.views(),
    fit: async (place) => {
      if (misfits(place)) await rebuild(place);
      else if (salt !== place.salt) await reseal(place);
    },
    get holders() {
      return holders;
    },
    visit: (record) => {
      let base = 0;
      for (const view of buffers.views()) {
        for (let at = 0; at < view.length; at += 8 + view.readUInt32LE(at)) {
          record(base + at, peekRecord(view, at));
        }
        base += view.length;
      }
    },
    settle: (onFault) => {
      dones.forEach((done, i) => {
        // The collector keeps what an old array refers to, even if the array is dead: a batch that has become old would
        // make its messages' memory old as well, and each collection long.
        dones[i] = undefined;
        try {
          done?.(firstID + i);
        } catch (error) {
          onFault(firstID + i, error);
        }
      });
      buffers.giveBack();
    },
  };
}

function isShared({ kind, text }: FrameInput): boolean {
  return kind === recordKinds.entry && text.length >= sharedLengthMin;
}
