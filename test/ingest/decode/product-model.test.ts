/** What a product's record says of its values: enumerations, steps, discarding faults, in every format. */
import { type DecodedPoint, type DecodeRules, decodePoints } from "../../../ingest/decode/points.js";
import { toPointEntry, toStreamEntry } from "../../../ingest/decode/product-model.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import type { DataPoint } from "../../../store/metadata/products/data-points.js";
import type { DataStream } from "../../../store/metadata/products/data-streams.js";
import { assert, suite } from "../../suite.js";
import { testDevice } from "./device.js";

const rules: DecodeRules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };
const now = 1_700_000_000_000_000;
const values = (...all: readonly unknown[]) => all.map((value) => ({ value, label: String(value) }));

const records: readonly Partial<DataPoint>[] = [
  { dataPointID: "level", pointDataType: 16, binarySize: 1, enum: values(1, "2", 3) },
  { dataPointID: "mode", pointDataType: 12, enum: values("on", "off") },
  { dataPointID: "free", pointDataType: 16, binarySize: 1, enum: values("text", null) },
  { dataPointID: "temp", pointDataType: 1, binarySize: 4, dataStep: 0.5, lowerLimit: -10 },
  { dataPointID: "any", pointDataType: 1, binarySize: 4, dataStep: 0 },
  { dataPointID: "state", pointDataType: 4, binarySize: 1, faultValue: "7", isDiscard: 1 },
  { dataPointID: "alarm", pointDataType: 4, binarySize: 1, faultValue: "7", isDiscard: 0 },
  { dataPointID: "sent", pointDataType: 1, dataTransType: 2 },
];

/** A device whose topic `raw-<name>` is a binary stream of that data point alone. */
function device(): DeviceEntry {
  const entries = records.map((record, i) =>
    toPointEntry({
      id: i + 1,
      field: record.dataPointID,
      createAt: 0,
      dataTransType: 1,
      binarySize: null,
      faultValue: null,
      isDiscard: null,
      dataStep: null,
      lowerLimit: null,
      unitName: null,
      unitSymbol: null,
      enum: null,
      ...record,
    } as DataPoint),
  );
  const byID = new Map(entries.map((entry) => [entry.id, entry]));
  const streams = entries.map((entry) => {
    const stream = { streamDataType: 2, dataPoints: [entry.id] } as Partial<DataStream> as DataStream;
    return [`raw-${entry.dataPointID}`, toStreamEntry(stream, byID)] as const;
  });
  const made = testDevice(new Map(streams));
  return {
    ...made,
    product: { ...made.product, points: new Map(entries.map((entry) => [entry.dataPointID, entry])) },
  };
}

function decode(topic: string, payload: Buffer) {
  const points: DecodedPoint[] = [];
  const refused: Record<string, number> = {};
  const message = { topic, payload, receivedAt: now, stamp: now };
  const outcome = decodePoints(device(), message, rules, points, (reason, by) => {
    refused[reason] = (refused[reason] ?? 0) + by;
  });
  const stored = points.map(({ series, value }) => [series.field, value]);
  return { stored, refused, discarded: outcome?.discarded?.map(({ value }) => value) ?? null };
}

const float = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);

/** Name, value in JSON, the same in a binary stream, and what becomes of it. */
const cases: readonly (readonly [string, unknown, Buffer, unknown, string | null])[] = [
  ["level", 1, Buffer.from([1]), 1, null],
  ["level", "2", Buffer.from([2]), 2, null],
  ["level", 4, Buffer.from([4]), undefined, "enum"],
  ["mode", "off", text("off"), "off", null],
  ["mode", "Off", text("Off"), undefined, "enum"],
  ["free", 9, Buffer.from([9]), 9, null],
  ["temp", 20.5, float(20.5), 20.5, null],
  ["temp", -10, float(-10), -10, null],
  ["temp", 20.25, float(20.25), 20.25, "step"],
  ["any", 20.25, float(20.25), 20.25, null],
  ["alarm", "7", Buffer.from("7"), "7", null],
  ["sent", 1, float(1), undefined, "direction"],
];

suite("values as the product defines them", (test) => {
  for (const [name, value, bytes, stored, reason] of cases) {
    const expected = {
      stored: stored === undefined ? [] : [[name, stored]],
      refused: reason === null ? {} : { [reason]: 1 },
      discarded: null,
    };
    test(`${name} = ${value}: ${reason ?? "taken"}`, () => {
      assert.equal(decode("data", Buffer.from(JSON.stringify({ [name]: value }))), expected);
      const pack = [{ n: name, ...(typeof value === "number" ? { v: value } : { vs: value }) }];
      const senml = decode("data", Buffer.from(JSON.stringify(pack)));
      if (name !== "level" || typeof value === "number") assert.equal(senml, expected);
      if (name !== "sent") assert.equal(decode(`raw-${name}`, bytes), expected);
    });
  }

  test("a fault with isDiscard keeps the whole message out, whatever its place in it", () => {
    for (const body of [{ any: 1, state: 7 }, { state: "7", any: 1 }, [{ any: 1 }, { state: "7" }]]) {
      const { stored, refused, discarded } = decode("data", Buffer.from(JSON.stringify(body)));
      assert.equal([stored, refused, discarded?.length], [[], { discarded: 2 }, 2]);
    }
    assert.equal(decode("raw-state", Buffer.from("7")).refused, { discarded: 1 });
    assert.equal(decode("raw-state", Buffer.from("6")).stored, [["state", "6"]]);
  });
});
