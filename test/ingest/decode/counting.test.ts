/**
 * Every value of a message becomes a point or is counted. How many there are is counted on what was generated, by
 * walkers of their own; nothing of the decoder is asked.
 */
import fc from "fast-check";
import { createLayout } from "../../../ingest/decode/binary.js";
import { type DecodedPoint, type DecodeRules, decodePoints } from "../../../ingest/decode/points.js";
import type { PointEntry } from "../../../ingest/decode/product-model.js";
import { type Reason, reasons } from "../../../ingest/decode/reasons.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { parseEntries, payloadOfEntry } from "../../../ingest/envelopes/entries.js";
import { findReplaced } from "../../../ingest/envelopes/replaced.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { assert, suite } from "../../suite.js";
import { pointEntry, testDevice } from "./device.js";
import { encodeBinary } from "./encode-binary.js";
import { encodeCbor } from "./encode-cbor.js";

const receivedAt = 1_700_000_000_000_000;
const rules: DecodeRules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };
/** Counted beside a point that is stored. */
const storedAllTheSame: ReadonlySet<Reason> = new Set(["rounded", "step"]);

/** Points and refusals together. */
function counted(payload: Buffer, { isEntry = false, device = testDevice(), topic = "data" } = {}): number {
  const points: DecodedPoint[] = [];
  let refused = 0;
  decodePoints(
    device,
    { topic, payload, receivedAt, stamp: receivedAt, isEntry },
    rules,
    points,
    (reason, by) => {
      assert.ok(reasons.includes(reason));
      if (!storedAllTheSame.has(reason)) refused += by;
    },
  );
  return points.length + refused;
}

type Members = readonly (readonly [name: string, value: unknown])[];

/** A value in the value form: what stands beside it counts too. */
class Form {
  constructor(
    readonly value: unknown,
    readonly time: Members,
    readonly beside: Members,
  ) {}
}

/** Coordinates that are in order, with members that no place has. */
class Place {
  constructor(readonly beside: Members) {}
}

interface Entry {
  readonly time: Members;
  readonly values: Members;
}

/** If an object has two times, one is its time, and the other counts as an unknown name. */
const timesBeside = (time: Members): number => Math.max(0, time.length - 1);

function countEntry(entry: Entry | null | number): number {
  if (entry === null || typeof entry === "number") return 1;
  let count = timesBeside(entry.time);
  for (const [, value] of entry.values) {
    if (value instanceof Form)
      count += 1 + timesBeside(value.time) + value.beside.length + countPlace(value.value);
    else count += 1 + countPlace(value);
  }
  return count;
}

const countPlace = (value: unknown): number => (value instanceof Place ? value.beside.length : 0);
const countAll = (entries: readonly (Entry | null | number)[]): number =>
  entries.reduce((sum: number, entry) => sum + countEntry(entry), 0);

type Shape = (members: Members) => unknown;
const asObject: Shape = (members) => Object.fromEntries(members);
const asMap: Shape = (members) => new Map(members);

function render(entry: Entry | null | number, shape: Shape): unknown {
  if (entry === null || typeof entry === "number") return entry;
  const shown = (value: unknown): unknown => {
    if (value instanceof Place) return shape([["longitude", 25], ["latitude", 54], ...value.beside]);
    if (!(value instanceof Form)) return value;
    return shape([["value", shown(value.value)], ...value.time, ...value.beside]);
  };
  return shape([...entry.values.map(([name, value]) => [name, shown(value)] as const), ...entry.time]);
}

const names = [
  "temp",
  "label",
  "fault",
  "on",
  "place",
  "blob",
  "whole",
  "bits",
  "at",
  "issued",
  "what",
  "Telemetries",
];
const time = fc.constantFrom<unknown>(
  1.7e9 - 5,
  1.7e12 - 4000,
  "2023-11-14T22:13:00Z",
  "soon",
  1.8e9,
  -1e13,
  true,
  5,
);
const times = fc
  .tuple(fc.constantFrom([], ["time"], ["TimeStamp"], ["TimeStamp", "time"]), time, time)
  .map(([keys, a, b]): Members => keys.map((key, i) => [key, i === 0 ? a : b]));
const beside = fc
  .uniqueArray(fc.constantFrom("timestamp", "unit", "min", "accuracy", "quality"), { maxLength: 2 })
  .map((keys): Members => keys.map((key) => [key, 1]));
const plain = fc.constantFrom<unknown>(
  21.5,
  7,
  0,
  true,
  "x",
  "12",
  "bad",
  null,
  [1, 2],
  [1],
  2 ** 53,
  -1e300,
  "",
);
const place = beside.map((all) => new Place(all));
const form = fc.tuple(plain, times, beside).map(([value, own, more]) => new Form(value, own, more));
const formOfPlace = fc.tuple(place, times, beside).map(([value, own, more]) => new Form(value, own, more));
const value = fc
  .tuple(fc.constantFrom(...names), plain, form, place, formOfPlace, fc.nat(9))
  .map(([name, one, two, three, four, kind]) => {
    if (kind < 5) return [name, one] as const;
    // Beside coordinates something is counted only where a place is read.
    return kind < 8 || name !== "place"
      ? ([name, two] as const)
      : ([name, kind === 8 ? three : four] as const);
  });
const values = fc.uniqueArray(value, { maxLength: 6, selector: ([name]) => name });
const entry = fc.record({ time: times, values });
const entries = fc.array(
  fc.oneof({ weight: 9, arbitrary: entry }, { weight: 1, arbitrary: fc.constantFrom(null, 7) }),
  {
    maxLength: 6,
  },
);

/** With a fault that keeps its message out of the series. */
function discarding(): DeviceEntry {
  const device = testDevice();
  const points = new Map(device.product.points);
  points.set("fault", { ...(points.get("fault") as PointEntry), discards: "bad" });
  return { ...device, product: { ...device.product, points } };
}

const runs = { numRuns: 1500 };

/** A record of SenML: what it holds, and how many values. */
interface PackRecord {
  readonly labels: Readonly<Record<string, unknown>>;
  readonly count: number;
  /** Nothing after it is read. */
  readonly ends: boolean;
}

const label = fc.constantFrom<readonly [string, unknown]>(
  ["v", 21],
  ["vs", "x"],
  ["vb", true],
  ["vd", "aGk"],
  ["s", 3],
  ["v", "no number"],
);
const record: fc.Arbitrary<PackRecord> = fc
  .record({
    kind: fc.constantFrom("value", "value", "value", "base", "unknown", "newer", "must", "malformed"),
    n: fc.constantFrom("temp", "label", "on", "blob", "what"),
    held: fc.uniqueArray(label, { minLength: 1, maxLength: 3, selector: ([name]) => name }),
    t: fc.constantFrom<unknown>(undefined, undefined, -5, 0, 1e9, "now", 900),
    u: fc.constantFrom(undefined, undefined, "Cel", "%RH", "lat", "cubit"),
    others: fc.uniqueArray(fc.constantFrom("hum", "temp", "x"), { minLength: 1, maxLength: 3 }),
  })
  .map(({ kind, n, held, t, u, others }) => {
    const own = { n, ...(t === undefined ? {} : { t }), ...(u === undefined ? {} : { u }) };
    const named = { ...own, ...Object.fromEntries(held) };
    if (kind === "base") return { labels: { bt: 1.7e9 - 100, bv: 1 }, count: 0, ends: false };
    if (kind === "unknown")
      return {
        labels: Object.fromEntries(others.map((name) => [name, 1])),
        count: others.length,
        ends: false,
      };
    if (kind === "newer") return { labels: { ...named, bver: 11 }, count: 1, ends: true };
    if (kind === "must") return { labels: { ...named, must_: 1 }, count: 1, ends: true };
    if (kind === "malformed") return { labels: { ...named, bt: "x" }, count: 1, ends: false };
    return { labels: named, count: held.length, ends: false };
  });

function countPack(pack: readonly PackRecord[]): number {
  const end = pack.findIndex(({ ends }) => ends);
  if (end < 0) return pack.reduce((sum, { count }) => sum + count, 0);
  return countPack(pack.slice(0, end)) + pack.length - end;
}

const numbers: Readonly<Record<string, number>> = {
  n: 0,
  u: 1,
  v: 2,
  vs: 3,
  vb: 4,
  s: 5,
  t: 6,
  vd: 8,
  bver: -1,
  bn: -2,
  bt: -3,
  bv: -5,
};

suite("every value becomes a point or is counted", (test) => {
  test("of one JSON object, of a list, of a list in CBOR, of a map", () => {
    fc.assert(
      fc.property(entries, entry, fc.boolean(), (all, single, isEntry) => {
        const list = countAll(all);
        const as = { isEntry, device: discarding() };
        assert.is(counted(Buffer.from(JSON.stringify(all.map((one) => render(one, asObject)))), as), list);
        assert.is(counted(encodeCbor(all.map((one) => render(one, asMap))), as), list, "CBOR");
        const one = countEntry(single);
        const json = JSON.stringify(render(single, asObject));
        assert.is(counted(Buffer.from(json), as), one, json);
        // The same past the reader of flat objects.
        assert.is(counted(Buffer.from(`\t${json}`), as), one, json);
        assert.is(counted(encodeCbor(render(single, asMap)), as), one, json);
      }),
      runs,
    );
  });

  test("also where one name stands twice in an object: the last one counts", () => {
    const member = fc.tuple(fc.constantFrom(...names), plain);
    const colon = fc.constantFrom(":", " : ", ":\n");
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), colon, fc.boolean(), (members, mark, isList) => {
        const texts = members.map(([name, one]) => `${JSON.stringify(name)}${mark}${JSON.stringify(one)}`);
        const json = `{${texts.join(",")}}`;
        assert.is(
          counted(Buffer.from(isList ? `[${json},${json}]` : json)),
          members.length * (isList ? 2 : 1),
          json,
        );
      }),
      runs,
    );
  });

  test("of SenML, in JSON and in CBOR", () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), (records) => {
        const first: PackRecord = { labels: { bn: "urn:dev:x:" }, count: 0, ends: false };
        const pack = [first, ...records];
        const expected = countPack(pack);
        const json = JSON.stringify(pack.map(({ labels }) => labels));
        assert.is(counted(Buffer.from(json)), expected, json);
        const maps = pack.map(
          ({ labels }) => new Map(Object.entries(labels).map(([key, one]) => [numbers[key] ?? key, one])),
        );
        assert.is(counted(encodeCbor(maps)), expected, json);
      }),
      runs,
    );
  });

  test("of envelopes, in JSON and in CBOR: the sender's own, and each entry's", () => {
    const named = fc.tuple(entry, fc.boolean());
    fc.assert(
      fc.property(
        entry,
        fc.array(named, { maxLength: 5 }),
        fc.boolean(),
        ({ time: common, values: own }, carried, list) => {
          const build = (shape: Shape): unknown => {
            const telemetry = carried.map(([one, isNamed]) => {
              const members: Members = isNamed ? [["DeviceID", "child"], ...one.values] : one.values;
              return render({ time: one.time, values: members }, shape);
            });
            const envelope = render({ time: common, values: [["Telemetry", telemetry], ...own] }, shape);
            return list ? [envelope] : envelope;
          };
          const expected =
            countEntry({ time: common, values: own }) +
            carried.reduce((sum, [one, isNamed]) => sum + (isNamed ? countEntry(one) : 1), 0);
          for (const payload of [Buffer.from(JSON.stringify(build(asObject))), encodeCbor(build(asMap))]) {
            let count = counted(payload);
            for (const one of parseEntries(payload)) {
              const message = one === null ? null : payloadOfEntry(one, null);
              count += message === null ? 1 : counted(message, { isEntry: true });
            }
            assert.is(count, expected, payload.toString("latin1"));
          }
        },
      ),
      runs,
    );
  });

  test("across the entries of an envelope as within a list: the last value of a time is the point, the others duplicates", async () => {
    const stamps = fc.constantFrom<unknown>(
      undefined,
      null,
      1.7e9 - 5,
      1.7e12 - 5000,
      "2023-11-14T22:13:15Z",
      1.7e9 - 6,
    );
    const stamped = fc.record({ stamp: stamps, values }).map(({ stamp, values: all }) => ({
      time: stamp === undefined ? [] : ([["TimeStamp", stamp]] as Members),
      values: all,
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(stamped, { maxLength: 6 }), async (all) => {
        const device = testDevice();
        const rendered = all.map((one) => render(one, asObject));
        const decode = (payload: Buffer, replaced: ReadonlySet<number> | null) => {
          const points: DecodedPoint[] = [];
          let duplicates = 0;
          const message = { topic: "data", payload, receivedAt, stamp: receivedAt, isEntry: true, replaced };
          decodePoints(device, message, rules, points, (reason, by) => {
            if (reason === "duplicate") duplicates += by;
          });
          return { points, duplicates };
        };
        const asList = decode(Buffer.from(JSON.stringify(rendered)), null);
        const messages = rendered.map((one, ordinal) => ({
          ordinal,
          device: 1,
          payload: Buffer.from(JSON.stringify(one)),
        }));
        const envelope = { topic: "data", receivedAt, stamp: receivedAt };
        const replaced = await findReplaced(messages, envelope, async () => device, rules);
        const alone = messages.map(({ ordinal, payload }) => decode(payload, replaced.get(ordinal) ?? null));
        assert.equal(
          [alone.flatMap(({ points }) => points), alone.reduce((sum, one) => sum + one.duplicates, 0)],
          [asList.points, asList.duplicates],
          JSON.stringify(rendered),
        );
      }),
      runs,
    );
  });

  test("of binary streams: each field, or the whole", () => {
    const types = [15, 16, 17, 18, 5, 19, 11, 12, 24];
    const field = fc.constantFrom(...types);
    fc.assert(
      fc.property(
        fc.array(field, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(-1, 0, 1, 2),
        (fields, more) => {
          const points = fields.map((type, i) => ({
            ...pointEntry(i + 1, `p${i}`, type, i % 4 !== 3),
            binarySize: type === 11 ? 3 : type === 19 ? 5 : null,
          }));
          const layout = createLayout(points) ?? undefined;
          const known = new Map(points.map((point) => [point.dataPointID, point]));
          const device = testDevice(new Map([["raw", { layout, points: known }]]));
          const bytes = encodeBinary(
            points.map((point) => ({ point, value: sampleOf(point.pointDataType) })),
          );
          const payload = more < 0 ? bytes.subarray(0, -1) : Buffer.concat([bytes, Buffer.alloc(more)]);
          assert.is(counted(payload, { device, topic: "raw" }), more === 0 ? fields.length : 1);
        },
      ),
      runs,
    );
  });
});

function sampleOf(type: number): unknown {
  if (type === 11 || type === 12) return "abc";
  if (type === 5) return true;
  if (type === 17 || type === 18) return 1.5;
  return type === 24 ? 1_700_000_000n : 7n;
}
