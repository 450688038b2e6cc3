import fc from "fast-check";
import { type DecodedPoint, type DecodeRules, decodePoints } from "../../../ingest/decode/points.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { assert, suite } from "../../suite.js";
import { testDevice } from "./device.js";
import { encodeCbor } from "./encode-cbor.js";

const receivedAt = 1_700_000_000_000_000;
const now = 1_700_000_000;
const rules: DecodeRules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };

function decode(payload: Buffer) {
  const points: DecodedPoint[] = [];
  const refused: Record<string, number> = {};
  const message = { topic: "data", payload, receivedAt, stamp: receivedAt };
  decodePoints(testDevice(), message, rules, points, (reason, by) => {
    refused[reason] = (refused[reason] ?? 0) + by;
  });
  const rows = points.map(({ series, time, value, serverStamped }) => [
    series.field,
    serverStamped ? "now" : (time - receivedAt) / 1e6,
    value,
  ]);
  return { rows, refused };
}

const labels: Readonly<Record<string, number>> = {
  bver: -1,
  bn: -2,
  bt: -3,
  bu: -4,
  bv: -5,
  bs: -6,
  n: 0,
  u: 1,
  v: 2,
  vs: 3,
  vb: 4,
  s: 5,
  t: 6,
  ut: 7,
  vd: 8,
};

type Pack = readonly (Readonly<Record<string, unknown>> | unknown)[];

/** The same pack in CBOR: labels as numbers, data as bytes. */
function toCbor(pack: Pack): Buffer {
  return encodeCbor(
    pack.map((record) => {
      if (typeof record !== "object" || record === null || Array.isArray(record)) return record;
      return new Map(
        Object.entries(record).map(([label, value]) => [
          labels[label] ?? label,
          label === "vd" && typeof value === "string" ? Buffer.from(value, "base64url") : value,
        ]),
      );
    }),
  );
}

const cases: readonly (readonly [string, Pack, unknown[], Record<string, number>])[] = [
  ["one value", [{ n: "temp", u: "Cel", v: 23.1 }], [["temp", "now", 23.1]], {}],
  [
    "base name, time and value (RFC 8428 §5.1.3)",
    [
      { bn: "urn:dev:ow:10e2073a0108006:", bt: now, bu: "A", bver: 5, n: "temp", u: "V", v: 120.1 },
      { n: "whole", t: -5, v: 2 },
      { n: "temp", u: "V", t: -4, bv: 1, v: 1.3 },
    ],
    [
      ["temp", 0, 120.1],
      ["whole", -5, 2],
      ["temp", -4, 2.3],
    ],
    {},
  ],
  ["a base name that is the data point", [{ bn: "urn:dev:x/temp", v: 1 }], [["temp", "now", 1]], {}],
  [
    "text, truth and data",
    [
      { n: "label", vs: "x" },
      { n: "on", vb: true },
      { n: "blob", vd: "aGkgCg" },
    ],
    [
      ["label", "now", "x"],
      ["on", "now", true],
      ["blob", "now", "aGkgCg=="],
    ],
    {},
  ],
  ["a sum without a value", [{ bn: "m/", bs: 10, n: "temp", s: 5 }], [["temp", "now", 15]], {}],
  [
    "relative times count from receipt",
    [
      { n: "temp", v: 1, t: -60 },
      { n: "temp", v: 2, t: 60.5 },
    ],
    [
      ["temp", -60, 1],
      ["temp", 60.5, 2],
    ],
    {},
  ],
  ["a relative time too far ahead", [{ n: "temp", v: 1, t: 601 }], [], { future: 1 }],
  ["a negative base time", [{ bn: "a/", bt: -3600, n: "temp", v: 1, t: -1 }], [["temp", -3601, 1]], {}],
  ["a time that is none", [{ n: "temp", v: 1, t: "now" }], [], { time: 1 }],
  ["a base time that is none", [{ bn: "a/", bt: "x", n: "temp", v: 1 }], [], { shape: 1 }],
  [
    "a base name that is none",
    [
      { n: "temp", v: 1 },
      { bn: 7, n: "temp", v: 2 },
    ],
    [["temp", "now", 1]],
    { shape: 1 },
  ],
  [
    "a name that nobody knows",
    [
      { bn: "urn:\u0000:", n: "what", v: 1 },
      { n: "temp", v: 2 },
    ],
    [["temp", "now", 2]],
    { unknown: 1 },
  ],
  ["no name at all", [{ bn: "", n: "", v: 1 }], [], { shape: 1 }],
  [
    "a record of base values only",
    [
      { bn: "a/", bt: now },
      { n: "temp", v: 1 },
    ],
    [["temp", 0, 1]],
    {},
  ],
  [
    "a value of the wrong type costs that record",
    [
      { n: "temp", v: "1" },
      { n: "on", vb: 1 },
      { n: "label", vs: 1 },
      { n: "whole", v: 1 },
    ],
    [["whole", "now", 1]],
    { type: 3 },
  ],
  ["a newer version", [{ bver: 11, bn: "a/", n: "temp", v: 1 }], [], { shape: 1 }],
  [
    "an extension that must be understood",
    [
      { n: "temp", v: 1 },
      { n: "temp", v: 2, new_: 1 },
    ],
    [["temp", "now", 1]],
    { shape: 1 },
  ],
  ["an extension that need not be", [{ n: "temp", v: 1, other: { a: 1 } }], [["temp", "now", 1]], {}],
  ["an entry that is no record", [{ n: "temp", v: 1 }, 7, [1], null], [["temp", "now", 1]], { shape: 3 }],
];

suite("SenML", (test) => {
  for (const [name, pack, rows, refused] of cases) {
    test(`${name}, in JSON`, () =>
      assert.equal(decode(Buffer.from(JSON.stringify(pack))), { rows, refused }));
    test(`${name}, in CBOR`, () => assert.equal(decode(toCbor(pack)), { rows, refused }));
  }

  test("an array of plain objects stays what it was", () => {
    const plain = Buffer.from(JSON.stringify([{ temp: 1 }, { n: "x", v: 2 }]));
    assert.equal(decode(plain), { rows: [["temp", "now", 1]], refused: { unknown: 2 } });
  });

  test("CBOR that is no pack is refused", () => {
    assert.equal(decode(encodeCbor([1, 2])), { rows: [], refused: { shape: 2 } });
    assert.equal(decode(Buffer.from("d9d9f701", "hex")), { rows: [], refused: { shape: 1 } });
    assert.equal(decode(Buffer.from("8181", "hex")), { rows: [], refused: { format: 1 } });
  });

  test("JSON and CBOR say the same, whatever the pack", () => {
    const value = fc.oneof(
      // The digits that print a larger double are not that double: JSON says what it says.
      fc.record({ v: fc.double({ noNaN: true, min: -(2 ** 52), max: 2 ** 52 }) }),
      fc.record({ v: fc.double({ noNaN: true, min: 1e21, noDefaultInfinity: true }) }),
      fc.record({ vs: fc.string() }),
      fc.record({ vb: fc.boolean() }),
      fc.record({
        vd: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
      }),
      fc.record({ s: fc.integer() }),
    );
    const head = fc.record(
      {
        n: fc.constantFrom("temp", "label", "on", "blob", "what"),
        t: fc.integer({ min: -1e6, max: 500 }),
        bv: fc.integer(),
        u: fc.string(),
      },
      { requiredKeys: ["n"] },
    );
    const record = fc.tuple(head, value).map(([a, b]) => ({ ...a, ...b }));
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 8 }), (pack) => {
        // JSON has no negative zero.
        const clean = JSON.parse(JSON.stringify(pack)) as Pack;
        assert.equal(decode(toCbor(clean)), decode(Buffer.from(JSON.stringify(clean))));
      }),
      { numRuns: 500 },
    );
  });

  test("what no double holds is counted, in JSON and in CBOR", () => {
    const large = fc.oneof(
      fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    );
    fc.assert(
      fc.property(large, fc.integer({ min: -3, max: 3 }), (v, bv) => {
        const sum = v + BigInt(bv);
        const lost = BigInt(Number(sum)) !== sum || sum > 2n ** 53n || sum < -(2n ** 53n);
        const expected = { rows: [["temp", "now", Number(sum)]], refused: lost ? { rounded: 1 } : {} };
        assert.equal(decode(Buffer.from(`[{"n":"temp","bv":${bv},"v":${v}}]`)), expected);
        assert.equal(
          decode(
            encodeCbor([
              new Map<unknown, unknown>([
                [0, "temp"],
                [-5, bv],
                [2, v],
              ]),
            ]),
          ),
          expected,
        );
      }),
      { numRuns: 2000 },
    );
  });

  test("times are the nearest microsecond of base time and time together, of two the later", () => {
    const nanos = fc.bigInt({ min: 0n, max: 7n * 10n ** 18n });
    const offset = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n });
    const text = (n: bigint) =>
      `${n < 0n ? "-" : ""}${String(n < 0n ? -n : n)
        .padStart(10, "0")
        .replace(/(\d{9})$/, ".$1")}`;
    /** What the number stands for that is made of these digits. */
    const meant = (digits: string): bigint => {
      const [whole = "", decimals = ""] = Number(digits).toFixed(20).split(".");
      const printed = String(Number(digits));
      const exact = /e/.test(printed) ? `${whole}.${decimals}` : printed;
      const [a = "0", b = ""] = exact.split(".");
      return BigInt(`${a}${b.padEnd(20, "0").slice(0, 20)}`);
    };
    fc.assert(
      fc.property(nanos, offset, (base, more) => {
        const [bt, t] = [text(base), text(more)];
        const seconds = Number(bt) + Number(t);
        if (Number(bt) + Number(t) === 0) return;
        const unit = 10n ** 14n;
        const twice = 2n * (meant(bt) + meant(t)) + unit;
        const rest = ((twice % (2n * unit)) + 2n * unit) % (2n * unit);
        const micros = Number((twice - rest) / (2n * unit)) + (seconds < 2 ** 28 ? receivedAt : 0);
        const record = `[{"n":"temp","bt":${bt},"t":${t},"v":1}]`;
        const points: DecodedPoint[] = [];
        const late = { topic: "data", payload: Buffer.from(record), receivedAt, stamp: receivedAt };
        const open = { ...late, receivedAt: seconds < 2 ** 28 ? receivedAt : 2 ** 53 };
        decodePoints(testDevice(), open, rules, points, () => {});
        const cbor: DecodedPoint[] = [];
        const packed = new Map<unknown, unknown>([
          [0, "temp"],
          [-3, Number(bt)],
          [6, Number(t)],
          [2, 1],
        ]);
        decodePoints(testDevice(), { ...open, payload: encodeCbor([packed]) }, rules, cbor, () => {});
        if (micros > open.receivedAt + 600e6 || Math.abs(micros) >= 2 ** 53) return;
        if (seconds >= 2 ** 28 && micros < Date.UTC(2000, 0, 1) * 1000) {
          assert.equal([points, cbor], [[], []], record);
          return;
        }
        assert.equal([points[0]?.time, cbor[0]?.time], [micros, micros], record);
      }),
      { numRuns: 2000 },
    );
  });

  test("no bytes throw", () => {
    const start = fc.integer({ min: 0x80, max: 0x9f });
    fc.assert(
      fc.property(
        start,
        fc.uint8Array({ maxLength: 200 }),
        (first, rest) => void decode(Buffer.from([first, ...rest])),
      ),
      { numRuns: 3000 },
    );
  });
});
