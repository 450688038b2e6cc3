import fc from "fast-check";
import {
  decodeFrame,
  encodeFrame,
  type FrameInput,
  frameBytesMax,
  isIntact,
  peekRecord,
  recordHeadBytes,
  recordSize,
  resealRecords,
} from "../../../store/journal/frame.js";
import { toFrameInput } from "../../../store/journal/record-codecs.js";
import type { RecordKind } from "../../../store/journal/record-kinds.js";
import { assert, suite } from "../../suite.js";
import { journalInput } from "./support.js";

const inputs: fc.Arbitrary<FrameInput> = fc.record({
  kind: fc.constantFrom<RecordKind>(1, 2, 3, 4),
  tenant: fc.nat({ max: 2 ** 31 - 1 }),
  device: fc.maxSafeNat(),
  connection: fc.maxSafeNat(),
  session: fc.nat({ max: 0xffffffff }),
  number: fc.nat({ max: 65_535 }),
  qos: fc.constantFrom(0, 1, 2),
  dup: fc.boolean(),
  retain: fc.boolean(),
  flag: fc.boolean(),
  ip: fc.oneof(fc.ipV4(), fc.ipV6()),
  text: fc.string({ unit: "grapheme", maxLength: 100 }).map((text) => text.toWellFormed()),
  extra: fc.option(fc.uint8Array({ maxLength: 300 })),
  payload: fc.uint8Array({ maxLength: 2000 }),
});

const seal = { id: 42, receivedAt: 1_000_000, stamp: 1_000_001, salt: 0xdeadbeef };

function encoded(input: FrameInput, at = 0): { buffer: Buffer; end: number } {
  const buffer = Buffer.alloc(at + frameBytesMax(input));
  return { buffer, end: encodeFrame(buffer, at, input, seal.id, seal.receivedAt, seal.stamp, seal.salt) };
}

suite("frame of a journal record", (test) => {
  test("reads back what was written, at any offset", () => {
    fc.assert(
      fc.property(inputs, fc.nat({ max: 300 }), (input, at) => {
        const { buffer, end } = encoded(input, at);
        assert.is(recordSize(buffer, at, end), end - at);
        assert.ok(isIntact(buffer, at, end - at, seal.salt));
        const record = decodeFrame(buffer, at);
        const expected = { ...input, id: 42, receivedAt: 1_000_000, stamp: 1_000_001 };
        assert.equal(
          { ...record, extra: record.extra && [...record.extra], payload: [...record.payload] },
          { ...expected, extra: input.extra && [...input.extra], payload: [...input.payload] },
        );
        const { kind, device, tenant } = input;
        assert.equal(peekRecord(buffer, at), {
          kind,
          id: 42,
          device,
          tenant,
          receivedAt: 1_000_000,
          stamp: 1_000_001,
        });
      }),
    );
  });

  test("never says that a record cut short is whole", () => {
    const { buffer, end } = encoded(toFrameInput(journalInput()));
    for (let cut = 0; cut < end; cut++) assert.is(recordSize(buffer, 0, cut), 0);
  });

  test("knows any flipped byte after the length", () => {
    const { buffer, end } = encoded(toFrameInput(journalInput()));
    for (let at = 4; at < end; at++) {
      const damaged = Buffer.from(buffer);
      damaged[at] = (damaged[at] as number) ^ 0x10;
      assert.not.ok(isIntact(damaged, 0, end, seal.salt), `byte ${at}`);
    }
  });

  test("is no record of a segment of another salt, until it is sealed for that", () => {
    const { buffer, end } = encoded(toFrameInput(journalInput()));
    assert.not.ok(isIntact(buffer, 0, end, 0));
    assert.not.ok(isIntact(buffer, 0, end, seal.salt ^ 1));
    resealRecords(buffer.subarray(0, end), 7);
    assert.ok(isIntact(buffer, 0, end, 7));
  });

  test("takes zeroes, and a length below the head, for no record", () => {
    assert.is(recordSize(Buffer.alloc(1000), 0, 1000), 0);
    const { buffer, end } = encoded(toFrameInput(journalInput()));
    buffer.writeUInt32LE(recordHeadBytes - 9, 0);
    assert.is(recordSize(buffer, 0, end), 0);
  });

  test("holds the largest topic and payload that a transport lets through", () => {
    const input = toFrameInput(
      journalInput({ topic: "é".repeat(32_767), payload: Buffer.alloc(256 * 1024, 1) }),
    );
    const { buffer, end } = encoded(input);
    const record = decodeFrame(buffer, 0);
    assert.is(recordSize(buffer, 0, end), end);
    assert.is(record.text, input.text);
    assert.is(record.payload.length, 256 * 1024);
  });
});
