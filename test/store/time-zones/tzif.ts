/** Files of compiled time zones. */

interface Tzif {
  readonly version?: string;
  readonly times?: readonly number[];
  readonly indices?: readonly number[];
  readonly offsets?: readonly number[];
  readonly leaps?: number;
  readonly footer?: string;
}

/** A file as RFC 9636 lays it out, with an empty block of 32 bits. */
export function tzif({
  version = "2",
  times = [],
  indices = [],
  offsets = [0],
  leaps = 0,
  footer = "UTC0",
}: Tzif): Buffer {
  const header = (counts: readonly number[]) => {
    const bytes = Buffer.alloc(44);
    bytes.write(`TZif${version}`, "latin1");
    for (const [i, count] of counts.entries()) bytes.writeUInt32BE(count, 20 + i * 4);
    return bytes;
  };
  const data = Buffer.alloc(times.length * 9 + offsets.length * 6 + 4 + leaps * 12);
  for (const [i, time] of times.entries()) data.writeBigInt64BE(BigInt(time), i * 8);
  for (const [i, index] of indices.entries()) data.writeUInt8(index, times.length * 8 + i);
  for (const [i, offset] of offsets.entries()) data.writeInt32BE(offset, times.length * 9 + i * 6);
  const first = Buffer.concat([header([0, 0, 0, 0, 1, 1]), Buffer.alloc(7)]);
  return Buffer.concat([
    first,
    header([0, 0, leaps, times.length, offsets.length, 4]),
    data,
    Buffer.from(`\n${footer}\n`),
  ]);
}
