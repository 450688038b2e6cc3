import { type DecodedPoint, decodePoints } from "../../../ingest/decode/points.js";
import type { PointEntry } from "../../../ingest/decode/product-model.js";
import { isAlike, isSenmlUnit, listSenmlUnits } from "../../../ingest/decode/senml-units.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { assert, suite } from "../../suite.js";
import { testDevice } from "./device.js";

/** RFC 8428, section 12.1. */
const rfc8428 = [
  ...[
    "m",
    "kg",
    "g",
    "s",
    "A",
    "K",
    "cd",
    "mol",
    "Hz",
    "rad",
    "sr",
    "N",
    "Pa",
    "J",
    "W",
    "C",
    "V",
    "F",
    "Ohm",
    "S",
  ],
  ...[
    "Wb",
    "T",
    "H",
    "Cel",
    "lm",
    "lx",
    "Bq",
    "Gy",
    "Sv",
    "kat",
    "m2",
    "m3",
    "l",
    "m/s",
    "m/s2",
    "m3/s",
    "l/s",
  ],
  ...[
    "W/m2",
    "cd/m2",
    "bit",
    "bit/s",
    "lat",
    "lon",
    "pH",
    "dB",
    "dBW",
    "Bspl",
    "count",
    "/",
    "%",
    "%RH",
    "%EL",
    "EL",
  ],
  ...["1/s", "1/min", "beat/min", "beats", "S/m"],
];
/** RFC 8798, section 2: further primary units. */
const rfc8798primary = ["B", "VA", "VAs", "var", "vars", "J/m", "kg/m3", "deg"];
/** RFC 8798, section 3: secondary unit, SenML unit, scale, offset. */
const rfc8798secondary: readonly (readonly [string, string, number, number])[] = [
  ["ms", "s", 1 / 1000, 0],
  ["min", "s", 60, 0],
  ["h", "s", 3600, 0],
  ["MHz", "Hz", 1_000_000, 0],
  ["kW", "W", 1000, 0],
  ["kVA", "VA", 1000, 0],
  ["kvar", "var", 1000, 0],
  ["Ah", "C", 3600, 0],
  ["Wh", "J", 3600, 0],
  ["kWh", "J", 3_600_000, 0],
  ["varh", "vars", 3600, 0],
  ["kvarh", "vars", 3_600_000, 0],
  ["kVAh", "VAs", 3_600_000, 0],
  ["Wh/km", "J/m", 3.6, 0],
  ["KiB", "B", 1024, 0],
  ["GB", "B", 1e9, 0],
  ["Mbit/s", "bit/s", 1_000_000, 0],
  ["B/s", "bit/s", 8, 0],
  ["MB/s", "bit/s", 8_000_000, 0],
  ["mV", "V", 1 / 1000, 0],
  ["mA", "A", 1 / 1000, 0],
  ["dBm", "dBW", 1, -30],
  ["ug/m3", "kg/m3", 1e-9, 0],
  ["mm/h", "m/s", 1 / 3_600_000, 0],
  ["m/h", "m/s", 1 / 3600, 0],
  ["ppm", "/", 1e-6, 0],
  ["/100", "/", 1 / 100, 0],
  ["/1000", "/", 1 / 1000, 0],
  ["hPa", "Pa", 100, 0],
  ["mm", "m", 1 / 1000, 0],
  ["cm", "m", 1 / 100, 0],
  ["km", "m", 1000, 0],
  ["km/h", "m/s", 1 / 3.6, 0],
];

const all = [...rfc8428, ...rfc8798primary, ...rfc8798secondary.map(([name]) => name)];

/** Data points' units as people write them, and the units of SenML that are the same. */
const written: readonly (readonly [string, readonly string[]])[] = [
  ["°C", ["Cel"]],
  ["℃", ["Cel"]],
  ["摄氏度", ["Cel"]],
  ["Celsius", ["Cel"]],
  ["°F", []],
  ["K", ["K"]],
  ["%", ["%", "%RH", "%EL", "/100"]],
  ["％", ["%", "%RH", "%EL", "/100"]],
  ["百分比", ["%", "%RH", "%EL", "/100"]],
  ["hPa", ["hPa"]],
  ["hpa", ["hPa"]],
  ["百帕", ["hPa"]],
  ["mbar", ["hPa"]],
  ["kPa", []],
  ["V", ["V"]],
  ["毫伏", ["mV"]],
  ["kWh", ["kWh"]],
  ["KWH", ["kWh"]],
  ["千瓦时", ["kWh"]],
  ["度", ["deg", "lat", "lon", "Cel", "kWh"]],
  ["m³", ["m3"]],
  ["立方米", ["m3"]],
  ["㎡", ["m2"]],
  ["m/s²", ["m/s2"]],
  ["km / h", ["km/h"]],
  ["µg/m³", ["ug/m3"]],
  ["Ω", ["Ohm"]],
  ["rpm", ["1/min"]],
  ["L", ["l"]],
  ["lux", ["lx"]],
];

suite("units of SenML", (test) => {
  test("those of the registry are known, and no others", () => {
    assert.equal(
      all.filter((unit) => !isSenmlUnit(unit)),
      [],
    );
    for (const other of ["", "degC", "cubit", "cel", "RH"]) assert.not.ok(isSenmlUnit(other), other);
  });

  test("a secondary unit is never taken for its primary one, nor for another of the same", () => {
    for (const [a, base, scale, offset] of rfc8798secondary) {
      assert.not.ok(isAlike(a, base) && !(scale === 1 && offset === 0), `${a}, ${base}`);
      for (const [b, of, size, from] of rfc8798secondary) {
        const isSame = base === of && scale === size && offset === from;
        if (a !== b && !isSame) assert.not.ok(isAlike(a, b), `${a}, ${b}`);
      }
    }
  });

  test("a unit is always its own name, as a data point's unit too", () => {
    for (const unit of all) {
      assert.ok(isAlike(unit, unit));
      if (unit !== "/") assert.ok(listSenmlUnits(unit, null)?.has(unit), unit);
    }
  });

  test("units as people write them", () => {
    for (const [text, units] of written) {
      assert.equal([...(listSenmlUnits(text, null) ?? ["unknown"])].sort(), [...units].sort(), text);
    }
    for (const text of ["smoots", "/", "-", "无", "G", "M"])
      assert.is(listSenmlUnits(text, null), null, text);
    assert.is(listSenmlUnits(null, null), null);
    assert.is(listSenmlUnits("", " "), null);
    assert.equal([...(listSenmlUnits("C", "摄氏度") ?? [])].sort(), ["C", "Cel"], "symbol and name together");
    assert.equal([...(listSenmlUnits("smoots", "volt") ?? [])], ["V"], "of two the one that is known");
  });

  /** What becomes of a pack, where `temp` is in these units. */
  function decode(unit: string | null, pack: readonly object[]): { values: unknown[]; refused: string[] } {
    const device = testDevice();
    const temp = { ...(device.product.points.get("temp") as PointEntry), units: listSenmlUnits(unit, null) };
    const product = { ...device.product, points: new Map(device.product.points).set("temp", temp) };
    const points: DecodedPoint[] = [];
    const refused: string[] = [];
    const receivedAt = 1_700_000_000_000_000;
    decodePoints(
      { ...device, product },
      { topic: "data", payload: Buffer.from(JSON.stringify(pack)), receivedAt, stamp: receivedAt },
      { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false },
      points,
      (reason, count, key) => refused.push(`${reason} ${count} ${key}`),
    );
    return { values: points.map(({ value }) => value), refused };
  }

  const packs: readonly (readonly [string, string | null, readonly object[], unknown[], string[]])[] = [
    ["the data point's own", "℃", [{ n: "temp", u: "Cel", v: 1 }], [1], []],
    ["another one", "℃", [{ n: "temp", u: "%RH", v: 1 }], [], ["unit 1 temp"]],
    ["another scale of it", "s", [{ n: "temp", u: "ms", v: 1 }], [], ["unit 1 temp"]],
    [
      "the base unit",
      "℃",
      [
        { bn: "x:", bu: "K", n: "temp", v: 300 },
        { n: "temp", u: "Cel", v: 2, t: -1 },
      ],
      [2],
      ["unit 1 temp"],
    ],
    [
      "none, and one that is not known",
      "℃",
      [
        { n: "temp", v: 1 },
        { n: "temp", u: "cubit", v: 2, t: -1 },
      ],
      [1, 2],
      [],
    ],
    ["any, where the data point's says nothing", "smoots", [{ n: "temp", u: "lat", v: 1 }], [1], []],
    [
      "a latitude, then a humidity",
      null,
      [
        { n: "temp", u: "lat", v: 54 },
        { n: "temp", u: "%RH", v: 50, t: -1 },
      ],
      [54],
      ["unit 1 temp"],
    ],
    ["of a sum, which is in another", "W", [{ n: "temp", u: "W", s: 5 }], [5], []],
    [
      "percent in three ways",
      "%",
      [
        { n: "temp", u: "%", v: 1 },
        { n: "temp", u: "%RH", v: 2, t: -1 },
        { n: "temp", u: "/100", v: 3, t: -2 },
      ],
      [1, 2, 3],
      [],
    ],
    ["a ratio where percent is meant", "%", [{ n: "temp", u: "/", v: 0.45 }], [], ["unit 1 temp"]],
    [
      "of a name that nothing knows",
      null,
      [
        { n: "no", u: "lat", v: 1 },
        { n: "no", u: "V", v: 2 },
      ],
      [],
      ["unknown 1 no", "unknown 1 no"],
    ],
  ];
  for (const [name, unit, pack, values, refused] of packs) {
    test(`a record in ${name}`, () => assert.equal(decode(unit, pack), { values, refused }));
  }
});
