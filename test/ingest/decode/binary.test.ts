import fc from "fast-check";
import { type BinaryPoint, createLayout, readBinary } from "../../../ingest/decode/binary.js";
import { type DecodedPoint, decodePoints } from "../../../ingest/decode/points.js";
import { reasons } from "../../../ingest/decode/reasons.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { assert, cpuTime, suite } from "../../suite.js";
import { pointEntry, testDevice } from "./device.js";
import { type BinaryValue, encodeBinary } from "./encode-binary.js";

type Kind = readonly [type: number, size: number | null, value: fc.Arbitrary<unknown>];

const finite32 = fc.float({ noNaN: true, noDefaultInfinity: true });
const finite64 = fc.double({ noNaN: true, noDefaultInfinity: true });
const trimmed = fc.string({ unit: "binary", maxLength: 5 }).map((text) => text.replace(/\0+$/, ""));
const signed = (bytes: number) =>
  fc.bigInt({ min: -(2n ** BigInt(bytes * 8 - 1)), max: 2n ** BigInt(bytes * 8 - 1) - 1n });
const unsigned = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
const sizes = Array.from({ length: 8 }, (_, i) => i + 1);
const degrees = (float: fc.Arbitrary<number>, most: number) => float.map((value) => value % most);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

/** Every type in every size, with values that it holds. */
const kinds: readonly Kind[] = [
  [1, null, finite64],
  [1, 4, finite32],
  [3, null, trimmed],
  [3, 24, trimmed],
  [4, null, trimmed],
  [5, null, fc.boolean()],
  ...[8, 12, 16, 24].map((size): Kind => {
    const float = size < 16 ? finite32 : finite64;
    const place = [degrees(float, 180), degrees(float, 90)];
    return [6, size, fc.tuple(...place, ...(size % 12 === 0 ? [float] : []))];
  }),
  [11, 20, trimmed],
  [12, null, fc.string({ unit: "binary", maxLength: 300 })],
  [13, 7, bytes(7)],
  [14, null, fc.uint8Array({ maxLength: 300 })],
  ...sizes.flatMap((size): Kind[] => [
    [15, size, signed(size)],
    [16, size, unsigned(size * 8)],
    [21, size, signed(size)],
    [22, size, unsigned(size * 8)],
  ]),
  [15, null, signed(4)],
  [16, null, unsigned(32)],
  [17, null, finite32],
  [18, null, finite64],
  [19, null, unsigned(1)],
  ...[1, 3, 7, 8, 12, 31, 33, 53, 54, 64].map((size): Kind => [19, size, unsigned(size)]),
  [23, 0, fc.boolean()],
  [23, 15, fc.boolean()],
  [24, null, fc.integer({ min: 1e12, max: 2e12 })],
  [25, null, finite32],
];

const anyValue: fc.Arbitrary<Omit<BinaryValue, "key">> = fc
  .constantFrom(...kinds)
  .chain(([pointDataType, binarySize, value]) =>
    value.map((one) => ({ point: { dataPointID: "", pointDataType, binarySize }, value: one })),
  );
const anyPayload = fc
  .array(anyValue, { minLength: 1, maxLength: 12 })
  .map((values) =>
    values.map(({ point, value }, i) => ({ point: { ...point, dataPointID: `p${i}` }, value })),
  );

/** The value as the reader gives it. */
function expected({ point, value }: BinaryValue): unknown {
  if (typeof value === "bigint") return BigInt(Number(value)) === value ? Number(value) : value;
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (point.pointDataType === 6 && (point.binarySize ?? 16) < 16) return (value as number[]).map(Math.fround);
  return value;
}

function read(points: readonly BinaryPoint[], payload: Buffer) {
  const layout = createLayout(points);
  if (layout === null) return { reason: "layout", values: [] };
  const values: [string, unknown][] = [];
  const reason = readBinary(layout, payload, (key, value) => values.push([key, value]));
  return { reason, values };
}

const point = (pointDataType: number, binarySize: number | null = null): BinaryPoint => ({
  dataPointID: "p",
  pointDataType,
  binarySize,
});

suite("binary payloads", (test) => {
  test("what was written comes back, of every type and size and in any order", () => {
    fc.assert(
      fc.property(anyPayload, (payload) => {
        const { reason, values } = read(
          payload.map((one) => one.point),
          encodeBinary(payload),
        );
        assert.is(reason, null);
        assert.equal(
          values,
          payload.map((one) => [one.point.dataPointID, expected(one)]),
        );
      }),
      { numRuns: 2000 },
    );
  });

  test("a payload cut or extended by any number of bytes gives nothing", () => {
    fc.assert(
      fc.property(
        anyPayload,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 9 }),
        (payload, at, more) => {
          const points = payload.map((one) => one.point);
          const whole = encodeBinary(payload);
          const cut = whole.subarray(0, at % Math.max(1, whole.length));
          for (const wrong of [cut, Buffer.concat([whole, more])]) {
            if (wrong.length === whole.length) continue;
            assert.equal(read(points, wrong), { reason: "length", values: [] });
          }
        },
      ),
    );
  });

  test("bits go on from the high bit; bytes begin at the next whole byte", () => {
    const points = [point(19, 3), point(19, 5), point(19, 4), point(16, 2), point(19, 1)];
    const payload = Buffer.from([0b101_00011, 0b1110_0000, 0x12, 0x34, 0b1000_0000]);
    assert.equal(
      read(points, payload).values.map(([, value]) => value),
      [5, 3, 14, 0x1234, 1],
    );
  });

  test("sizes that a type has not leave the stream without a layout", () => {
    const wrong = [
      point(15, 0),
      point(16, 9),
      point(17, 0),
      point(11),
      point(11, 0),
      point(13),
      point(19, 65),
    ];
    for (const one of [...wrong, point(6, 10), point(1, 2), point(23, 16), point(25, 2), point(99)]) {
      const takesAny = one.pointDataType === 17;
      assert.is(createLayout([one]) === null, !takesAny, JSON.stringify(one));
    }
  });

  test("any bytes give points or a reason, in time that follows their length", () => {
    const layouts = fc.array(anyValue, { maxLength: 8 });
    const spent = cpuTime();
    fc.assert(
      fc.property(layouts, fc.uint8Array({ maxLength: 400 }), (values, payload) => {
        const { device, points } = deviceOf(values.map((one) => one.point));
        const found: DecodedPoint[] = [];
        const message = { topic: "raw", payload: Buffer.from(payload), receivedAt: 1.7e15, stamp: 1.7e15 };
        const rules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };
        let lost = 0;
        decodePoints(device, message, rules, found, (reason, by) => {
          assert.ok(reasons.includes(reason));
          if (reason === "length") lost += points.size;
          else if (reason !== "rounded") lost += by;
        });
        assert.is(found.length + lost, points.size);
      }),
      { numRuns: 2000 },
    );
    assert.ok(spent() < 20_000);
  });

  test("NaN, infinities and bytes that are no text cost their point only", () => {
    const { device } = deviceOf([point(17), point(18), point(12), point(15, 1)]);
    const payload = Buffer.from([0x7f, 0xc0, 0, 0, 0xff, 0xf0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xfe]);
    const found: DecodedPoint[] = [];
    const refused: Record<string, number> = {};
    const message = { topic: "raw", payload, receivedAt: 1.7e15, stamp: 1.7e15 };
    decodePoints(
      device,
      message,
      { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false },
      found,
      (reason, by) => {
        refused[reason] = (refused[reason] ?? 0) + by;
      },
    );
    assert.equal(
      found.map(({ value }) => value),
      [-2],
    );
    assert.equal(refused, { number: 2, type: 1 });
  });
});

function deviceOf(binary: readonly BinaryPoint[]) {
  const points = new Map(
    binary.map(({ pointDataType, binarySize }, i) => {
      const entry = { ...pointEntry(i + 1, `p${i}`, pointDataType), binarySize };
      return [entry.dataPointID, entry] as const;
    }),
  );
  return {
    points,
    device: testDevice(new Map([["raw", { layout: createLayout([...points.values()]), points }]])),
  };
}
