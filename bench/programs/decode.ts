import { type BinaryPoint, createLayout } from "../../ingest/decode/binary.js";
import { type DecodedPoint, decodePoints } from "../../ingest/decode/points.js";
import type { PointEntry, PointSeries, StreamEntry } from "../../ingest/decode/product-model.js";
import { utcMicros } from "../../ingest/decode/time.js";
import { converters, takesNumbers } from "../../ingest/decode/values.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { earliestTime } from "../../store/lib/time-range.js";
import { toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";

/** Payloads turned into points: bytes of a binary stream, and JSON against its bare parsing. */
export async function benchDecode(options: BenchOptions): Promise<Figure[]> {
  const rounds = Array.from({ length: options.rounds }, () => [
    binaryFigure("binary, 8 integers and floats", numbers, options),
    binaryFigure("binary, all kinds of fields", everything, options),
    ...jsonFigures(
      "3 values",
      (i) => ({ temp: 20 + (i % 100) / 10, hum: 40 + (i % 50), volt: 3.3 }),
      options,
    ),
    ...jsonFigures(
      "3 values and a time",
      (i) => ({ time: 1.7e12 + i, temp: 20 + i / 7, hum: i, volt: 3.3 }),
      options,
    ),
    ...jsonFigures(
      "3 values and a time as text",
      (i) => ({ time: new Date(1.7e12 + i).toISOString(), temp: 20 + i / 7, hum: i, volt: 3.3 }),
      options,
    ),
    ...jsonFigures(
      "3 values in the value form",
      (i) => ({ temp: { value: 20 + i / 7, time: 1.7e12 + i }, hum: { value: i }, volt: { value: 3.3 } }),
      options,
    ),
  ]);
  const [first = []] = rounds;
  return first.map((figure, at) => ({
    ...figure,
    value: median(rounds.map((round) => round[at]?.value ?? 0)),
  }));
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

const numbers: readonly (readonly [number, number | null])[] = [
  ...([
    [16, 2],
    [15, 2],
    [16, 4],
    [15, 4],
  ] as const),
  ...([
    [17, null],
    [17, null],
    [18, null],
    [16, 1],
  ] as const),
];
const everything: typeof numbers = [
  ...([
    [19, 3],
    [19, 5],
    [16, 2],
    [15, 6],
    [17, null],
  ] as const),
  ...([
    [18, null],
    [5, null],
    [12, null],
    [14, null],
    [11, 8],
  ] as const),
];

const receivedAt = 1_700_000_000_000_000;
const rules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };
const batchPoints = 5000;

function binaryFigure(name: string, fields: typeof numbers, { seconds }: BenchOptions): Figure {
  const types = fields.map(([type, size], i) => point(i + 1, `p${i}`, type, size));
  const device = deviceOf(types, createLayout(types) ?? undefined);
  const payload = payloadOf(types);
  const [points = 0] = rates(seconds, [decoder(device, "raw", [payload])]);
  return {
    name,
    value: points,
    unit: "points/s",
    detail: { "bytes/message": payload.length, fields: fields.length },
  };
}

/** Small values in every field: a text or byte string of variable length has five bytes. */
function payloadOf(types: readonly BinaryPoint[]): Buffer {
  const bits = types.reduce((sum, { pointDataType: type, binarySize: size }) => {
    const from = type === 19 ? sum : Math.ceil(sum / 8) * 8;
    if (type === 19) return from + (size ?? 1);
    const fixed: Readonly<Record<number, number>> = { 5: 1, 12: 7, 14: 7, 17: 4, 18: 8 };
    return from + (fixed[type] ?? size ?? 4) * 8;
  }, 0);
  const payload = Buffer.alloc(Math.ceil(bits / 8), 1);
  const at = types.findIndex(({ pointDataType }) => pointDataType === 12);
  // The lengths of the two variable fields, at their places.
  if (at >= 0) for (const offset of [22, 29]) payload.writeUInt16BE(5, offset);
  return payload;
}

function jsonFigures(name: string, body: (i: number) => object, { seconds }: BenchOptions): Figure[] {
  const device = deviceOf(
    ["temp", "hum", "volt"].map((id, i) => point(i + 1, id, 1, null)),
    undefined,
  );
  const payloads = Array.from({ length: 1000 }, (_, i) => Buffer.from(JSON.stringify(body(i))));
  const parse = (): number => {
    for (const payload of payloads) JSON.parse(payload.toString("utf8"));
    return payloads.length;
  };
  const [bare = 0, points = 0] = rates(seconds * 2, [parse, decoder(device, "data", payloads)]);
  const baseline = `JSON.parse, ${name}`;
  return [
    { name: baseline, value: bare, unit: "messages/s" },
    { name: `JSON decode, ${name}`, value: points / 3, unit: "messages/s", baseline },
  ];
}

/** Decodes a thousand messages; answers how many points they gave. */
function decoder(device: DeviceEntry, topic: string, payloads: readonly Buffer[]): () => number {
  let points: DecodedPoint[] = [];
  const refuse = (reason: string): never => {
    throw new Error(`cannot decode the bench's own payload: ${reason}`);
  };
  return () => {
    let count = 0;
    for (let round = 0; round < 1000 / payloads.length; round++) {
      for (const payload of payloads) {
        const before = points.length;
        decodePoints(device, { topic, payload, receivedAt, stamp: receivedAt }, rules, points, refuse);
        count += points.length - before;
        if (points.length >= batchPoints) points = [];
      }
    }
    return count;
  };
}

/** What each of the works does a second; they take turns, so that a busy moment falls on all. */
function rates(seconds: number, works: readonly (() => number)[]): number[] {
  for (const work of works) for (let i = 0; i < 50; i++) work();
  const done = works.map(() => 0);
  const spentMs = works.map(() => 0);
  const endAt = performance.now() + seconds * 1000;
  while (performance.now() < endAt) {
    for (const [i, work] of works.entries()) {
      const startedAt = performance.now();
      done[i] = (done[i] ?? 0) + work();
      spentMs[i] = (spentMs[i] ?? 0) + performance.now() - startedAt;
    }
  }
  return done.map((count, i) => (count * 1000) / (spentMs[i] ?? 1));
}

function point(
  id: number,
  dataPointID: string,
  pointDataType: number,
  binarySize: number | null,
): PointEntry {
  const convert = converters.get(pointDataType);
  if (convert === undefined) throw new Error(`cannot decode: no converter of type ${pointDataType}`);
  return {
    id,
    dataPointID,
    pointDataType,
    binarySize,
    convert,
    field: dataPointID,
    kind: toSeriesKind(pointDataType),
    reportable: true,
    createdAt: 0,
    discards: null,
    step: null,
    units: null,
    takesNumbers: takesNumbers(pointDataType),
  };
}

function deviceOf(types: readonly PointEntry[], layout: StreamEntry["layout"]): DeviceEntry {
  const points = new Map(types.map((one) => [one.dataPointID, one]));
  const series = new Map<number, PointSeries>();
  const product = {
    id: 1,
    members: new Set<number>(),
    points,
    streams: new Map([["raw", { layout, points }]]),
    subscriptions: [],
  };
  return {
    id: 1,
    device: {} as DeviceEntry["device"],
    product,
    rules: [],
    access: null,
    subscriptions: [],
    certificates: new Map(),
    series: (entry) => {
      let found = series.get(entry.id);
      if (found === undefined) {
        const { field, kind, id } = entry;
        found = {
          tenant: 1,
          productID: "p",
          deviceID: "d",
          field,
          kind,
          dataPointIntID: id,
          isLocation: false,
        };
        series.set(id, found);
      }
      return found;
    },
  };
}
