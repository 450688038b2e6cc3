import { crc32c, createRecordsBatch } from "@platformatic/kafka";
import fc from "fast-check";
import { decodeFrames } from "../../../../store/journal/kafka/record-batches.js";
import { StoreError } from "../../../../store/lib/errors.js";
import { assert, suite } from "../../../suite.js";

type Compression = "none" | "gzip";

const appendedAt = 1_700_000_000_123;

/** As the client library writes a batch, at the offset that a broker would give it. */
function batchOf(values: readonly Buffer[], first: number, compression: Compression = "none"): Buffer {
  const messages = values.map((value) => ({ topic: "t", value, timestamp: BigInt(appendedAt) }));
  const bytes = Buffer.from(createRecordsBatch(messages, { compression }).buffer);
  bytes.writeBigInt64BE(BigInt(first));
  return bytes;
}

const values = fc.array(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  {
    minLength: 1,
    maxLength: 5,
  },
);
const batches = fc.array(values, { minLength: 1, maxLength: 5 });
const offsets = fc.integer({ min: 0, max: 2 ** 52 });

function joined(all: readonly (readonly Buffer[])[], first: number): Buffer {
  let next = first;
  return Buffer.concat(
    all.map((some) => {
      const batch = batchOf(some, next);
      next += some.length;
      return batch;
    }),
  );
}

suite("record batches", (test) => {
  test("frames are what the client library has written, from any offset on", () => {
    fc.assert(
      fc.property(batches, offsets, fc.nat(30), (all, first, later) => {
        const expected = all.flat().map((frame, i) => ({ offset: first + i, appendedAt, frame }));
        const read = [...decodeFrames(joined(all, first), first + later)];
        assert.equal(read, expected.slice(later));
      }),
    );
  });

  test("a batch that is cut off at the end is left out, and no more", () => {
    fc.assert(
      fc.property(batches, fc.nat(), (all, cut) => {
        const bytes = joined(all, 0);
        const kept = bytes.subarray(0, cut % bytes.length);
        const read = [...decodeFrames(kept, 0)];
        let whole = 0;
        let at = 0;
        for (const some of all) {
          at += batchOf(some, 0).length;
          if (at <= kept.length) whole += some.length;
        }
        assert.is(read.length, whole);
      }),
    );
  });

  test("a changed byte gives an error or fewer frames, never another frame", () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, at, flip) => {
        const bytes = joined(all, 0);
        const place = at % bytes.length;
        bytes[place] = (bytes[place] ?? 0) ^ flip;
        const expected = all.flat();
        const read: Buffer[] = [];
        let failure: unknown;
        try {
          // The offset and the leader's epoch stand outside the checksum; who reads knows which offset comes first.
          for (const { offset, frame } of decodeFrames(bytes, 0)) {
            if (offset !== read.length) return;
            read.push(frame);
          }
        } catch (error) {
          failure = error;
        }
        assert.ok(read.every((frame, i) => expected[i]?.equals(frame)));
        assert.ok(failure === undefined || (failure instanceof StoreError && failure.code === "CORRUPT"));
      }),
      { numRuns: 1000 },
    );
  });

  test("random bytes with a right checksum give an error, and take no more than there is", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 40, maxLength: 200 }), fc.nat(3), (tail, count) => {
        const bytes = Buffer.concat([batchOf([Buffer.from("x")], 0).subarray(0, 61), tail]);
        bytes.writeInt32BE(bytes.length - 12, 8);
        bytes.writeInt32BE(count - 1, 23);
        bytes.writeInt32BE(count, 57);
        bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17);
        try {
          const total = [...decodeFrames(bytes, 0)].reduce((sum, { frame }) => sum + frame.length, 0);
          assert.ok(total <= tail.length);
        } catch (error) {
          assert.ok(error instanceof StoreError && error.code === "CORRUPT", String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("what is not ours is named: compressed, deleted, of an older format, with a gap", () => {
    const read = (bytes: Buffer) => () => [...decodeFrames(bytes, 0)];
    const one = batchOf([Buffer.from("x")], 0);
    const zipped = batchOf([Buffer.alloc(99)], 0, "gzip");
    assert.throws(read(zipped), /offset 0: compressed, or part of a transaction/);
    const old = Buffer.from(one);
    old[16] = 1;
    assert.throws(read(old), /offset 0: the format is not 2/);
    assert.throws(read(Buffer.concat([one, batchOf([Buffer.from("y")], 2)])), /offset 1: offset 2 follows/);
    const deleted = batchOf([null as unknown as Buffer], 0);
    assert.throws(read(deleted), /offset 0: it holds no frame/);
  });
});
