import { nextTurn } from "../lib/turns.js";
import {
  decodeFrame,
  encodeFrame,
  type FrameInput,
  frameBytesMax,
  peekRecord,
  type RecordPeek,
  resealRecords,
  topicBackOf,
} from "./frame.js";
import { createRecordBuffers, giveBack } from "./record-buffers.js";
import { recordKinds } from "./record-kinds.js";
import type { SharedTopics } from "./shared-topics.js";

/** Records written anew in one turn of the loop: a millisecond or two. */
const rebuiltPerTurn = 500;
/** A shorter topic is repeated: to refer to it takes as much. */
const sharedLengthMin = 8;

type Done = (id: number) => void;

/** Where a batch is about to stand. */
interface Place {
  readonly salt: number;
  /** Offset in the file. */
  readonly position: number;
  /** Topics of envelopes that the segment holds already. */
  readonly topics: Pick<SharedTopics, "at">;
}

/**
 * Records that become durable together, laid out as they go to the file. Of the entries of an envelope the first holds
 * its topic, the others refer to it.
 */
export interface Batch {
  readonly firstID: number;
  readonly lastID: number;
  readonly bytes: number;
  /** Adds a record, whose id is the one behind `lastID`. Returns its bytes. */
  add(frame: FrameInput, receivedAt: number, stamp: number, done: Done | undefined): number;
  /** The bytes, in buffers. */
  views(): Buffer[];
  /** Sums anew for another salt, and lets entries refer to topics that the segment holds; `bytes` may become fewer. */
  fit(place: Place): Promise<void>;
  /** The records that hold an envelope's topic, by envelope: offsets from the beginning of the batch. */
  readonly holders: ReadonlyMap<number, number>;
  /** Its records with their offsets from the beginning of the batch. */
  visit(record: (offset: number, peek: RecordPeek) => void): void;
  /** Tells every record's sender, in order, and gives the buffers back. What one of them throws goes to `onFault`. */
  settle(onFault: (id: number, error: unknown) => void): void;
}

/** Makes batches whose buffers are used again. */
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
  /** By envelope; of those whose topic stands once. */
  const topics = new Map<number, string>();
  /** Where it stands, if it refers to records before it. */
  let fitted: Place | null = null;

  /** Returns its bytes. */
  function write(frame: FrameInput, id: number, receivedAt: number, stamp: number): number {
    const buffer = buffers.room(frameBytesMax(frame));
    const begin = buffers.used;
    const back = isShared(frame) ? backOf(frame, buffers.bytesBefore + begin) : 0;
    const end = encodeFrame(buffer, begin, frame, id, receivedAt, stamp, salt, back);
    buffers.used = end;
    bytes += end - begin;
    return end - begin;
  }

  /** How far before `at`, in the batch, its envelope's topic stands; 0: it is the first, and holds it from now on. */
  function backOf({ connection: envelope, text: topic }: FrameInput, at: number): number {
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

  /** Writes every record anew for the place. */
  async function rebuild(place: Place): Promise<void> {
    const before = buffers.views();
    ({ salt } = place);
    fitted = place;
    buffers = createRecordBuffers(pool);
    holders = new Map();
    bytes = 0;
    let records = 0;
    for (const view of before) {
      for (let at = 0; at < view.length; at += 8 + view.readUInt32LE(at)) {
        // Not behind other work in slices: everybody's acknowledgements wait for this.
        if (++records % rebuiltPerTurn === 0) await nextTurn();
        const frame = decodeFrame(view, at);
        const refers = topicBackOf(view, at) > 0;
        const text = refers ? (topics.get(frame.connection) ?? "") : frame.text;
        write({ ...frame, text }, frame.id, frame.receivedAt, frame.stamp);
      }
      await nextTurn();
    }
    giveBack(pool, before);
  }

  async function reseal(place: Place): Promise<void> {
    for (const view of buffers.views()) {
      resealRecords(view, place.salt);
      await nextTurn();
    }
    ({ salt } = place);
  }

  /** Whether the segment holds what the batch repeats, or the batch refers to what stands elsewhere. */
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
        // The collector keeps what an old array names, however dead that is: a batch that has become old would make all
        // that its messages hold old as well, and each collection long.
        dones[i] = undefined;
        try {
          done?.(firstID + i);
        } catch (error) {
          onFault(firstID + i, error);
        }
      });
      giveBack(pool, buffers.views());
    },
  };
}

function isShared({ kind, text }: FrameInput): boolean {
  return kind === recordKinds.entry && text.length >= sharedLengthMin;
}
