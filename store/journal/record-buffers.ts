const bufferBytes = 1024 * 1024;
const pooledMax = 8;

/** Buffers in which records are laid out one after another; each record lies within one buffer. */
interface RecordBuffers {
  /** Where the next record begins in its buffer, once `room` has been called. */
  used: number;
  /** Bytes before the newest buffer. */
  readonly bytesBefore: number;
  /** Returns a buffer with space for this many more bytes, from `used` on. */
  room(bytes: number): Buffer;
  /** The bytes laid out, in order. */
  views(): Buffer[];
  /** Returns the buffers to the pool: buffers of a megabyte are expensive to make. Their bytes are no longer valid. */
  giveBack(): void;
}

/** @param pool buffers to take before new ones are made */
export function createRecordBuffers(pool: Buffer[]): RecordBuffers {
  const buffers: Buffer[] = [];
  const all: RecordBuffers & { bytesBefore: number } = {
    used: bufferBytes,
    bytesBefore: 0,
    room: (bytes) => {
      const newest = buffers.at(-1);
      if (newest !== undefined && all.used + bytes <= bufferBytes) return newest;
      if (newest !== undefined) {
        buffers[buffers.length - 1] = newest.subarray(0, all.used);
        all.bytesBefore += all.used;
      }
      const next = pool.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
      buffers.push(next);
      all.used = 0;
      return next;
    },
    views: () =>
      buffers.map((buffer, i) => (i === buffers.length - 1 ? buffer.subarray(0, all.used) : buffer)),
    giveBack: () => {
      for (const { buffer } of buffers) {
        if (pool.length < pooledMax) pool.push(Buffer.from(buffer, 0, bufferBytes));
      }
    },
  };
  return all;
}
