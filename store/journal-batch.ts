import {
  encodeRecord,
  type JournalInput,
  peekRecord,
  type RecordPeek,
  recordBytesMax,
  resealRecords,
} from "./journal-record.js";
import { nextTurn } from "./turns.js";

const bufferBytes = 1024 * 1024;
const pooledMax = 8;

type Done = (id: number) => void;

/** Records that become durable together, laid out as they go to the file. */
export interface Batch {
  readonly firstID: number;
  readonly lastID: number;
  readonly bytes: number;
  readonly salt: number;
  /** Adds a record, whose id is the one behind `lastID`. Returns its bytes. */
  add(input: JournalInput, receivedAt: number, stamp: number, done: Done | undefined): number;
  /** The bytes, in buffers. */
  views(): Buffer[];
  /** For a segment of another salt. */
  reseal(salt: number): Promise<void>;
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
  const buffers: Buffer[] = [];
  const dones: (Done | undefined)[] = [];
  /** Of the newest buffer; the others are cut to what they hold. */
  let used = bufferBytes;
  let bytes = 0;
  let salt = firstSalt;

  /** The buffer that the next record goes to. */
  function room(wanted: number): Buffer {
    const newest = buffers.at(-1);
    if (newest !== undefined && used + wanted <= bufferBytes) return newest;
    if (newest !== undefined) buffers[buffers.length - 1] = newest.subarray(0, used);
    const next = pool.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    buffers.push(next);
    used = 0;
    return next;
  }

  const views = (): Buffer[] =>
    buffers.map((buffer, i) => (i === buffers.length - 1 ? buffer.subarray(0, used) : buffer));

  return {
    firstID,
    get lastID() {
      return firstID + dones.length - 1;
    },
    get bytes() {
      return bytes;
    },
    get salt() {
      return salt;
    },
    add: (input, receivedAt, stamp, done) => {
      const buffer = room(recordBytesMax(input));
      const begin = used;
      used = encodeRecord(buffer, begin, input, firstID + dones.length, receivedAt, stamp, salt);
      dones.push(done);
      bytes += used - begin;
      return used - begin;
    },
    views,
    reseal: async (other) => {
      for (const view of views()) {
        resealRecords(view, other);
        await nextTurn();
      }
      salt = other;
    },
    visit: (record) => {
      let base = 0;
      for (const view of views()) {
        for (let at = 0; at < view.length; at += 8 + view.readUInt32LE(at)) {
          record(base + at, peekRecord(view, at));
        }
        base += view.length;
      }
    },
    settle: (onFault) => {
      dones.forEach((done, i) => {
        try {
          done?.(firstID + i);
        } catch (error) {
          onFault(firstID + i, error);
        }
      });
      for (const { buffer } of buffers) {
        if (pool.length < pooledMax) pool.push(Buffer.from(buffer, 0, bufferBytes));
      }
    },
  };
}
