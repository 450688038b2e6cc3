import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { readIsoTime, utcMicros } from "../../../store/lib/iso-time.js";
import { modulesMissing } from "../../programs.js";
import { assert, suite } from "../../suite.js";

const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const hasPandas = process.env.CI === "true" || spawnSync(python, ["-c", "import pandas"]).status === 0;

/** Eight hours east of Greenwich. */
const local = (wallMs: number): number => utcMicros(wallMs - 8 * 3_600_000);
const read = (text: string): number | null => readIsoTime(text, local);

const ten = 1_795_168_800_000_000; // 2026-11-20T10:00:00Z
const hour = 3_600_000_000;

/** What other programs write, and what RFC 3339 and ISO 8601 show. */
const forms: readonly (readonly [text: string, micros: number])[] = [
  ["2026-11-20T10:00:00Z", ten],
  ["2026-11-20T10:00:00z", ten],
  ["2026-11-20t10:00:00z", ten],
  ["2026-11-20T10:00Z", ten],
  ["2026-11-20 10:00:00+00", ten], // PostgreSQL
  ["2026-11-20 10:00:00.123456+00", ten + 123_456],
  ["2026-11-20 15:30:00+05:30", ten],
  ["2026-11-20T10:00:00+00", ten],
  ["2026-11-20T10:00:00+0000", ten],
  ["2026-11-20T10:00:00+00:00", ten],
  ["2026-11-20T10:00:00-00:00", ten],
  ["2026-11-20T02:00:00-08", ten],
  ["2026-11-20 10:00:00+00:00", ten], // pandas
  ["2026-11-20 10:00:00.500000+00:00", ten + 500_000],
  ["2026-11-20 10:00:00 +0000", ten], // git, Ruby
  ["2026-11-20T10:00:00 Z", ten],
  ["20261120T100000Z", ten],
  ["20261120T1000Z", ten],
  ["20261120T100000.25Z", ten + 250_000],
  ["20261120T180000+0800", ten],
  ["20261120T180000+08", ten],
  ["2026-11-20T18:00:00", ten],
  ["2026-11-20 18:00:00", ten],
  ["2026-11-20 18:00", ten],
  ["20261120T180000", ten],
  ["2026-11-20T10:00:00.1Z", ten + 100_000],
  ["2026-11-20T10:00:00,1Z", ten + 100_000],
  ["2026-11-20T10:00:00.123456789Z", ten + 123_457],
  ["2026-11-20T10:00:00.1234565Z", ten + 123_457],
  ["2026-11-20T10:00:00.12345649999999999999999999Z", ten + 123_456],
  ["2026-11-20T10:00:00.999999500000000000000000000Z", ten + 1_000_000],
  [`2026-11-20T10:00:00.${"0".repeat(1000)}1Z`, ten],
  ["2026-11-20T24:00:00Z", ten + 14 * hour],
  ["20261120T240000Z", ten + 14 * hour],
  ["2026-11-20T24:00:00.000Z", ten + 14 * hour],
  ["2026-12-31T24:00Z", ten + (41 * 24 + 14) * hour],
  ["2026-11-20T24:00:00", ten + 6 * hour],
  ["1985-04-12T23:20:50.52Z", 482_196_050_520_000], // RFC 3339 §5.8
  ["1996-12-19T16:39:57-08:00", 851_042_397_000_000],
  ["1937-01-01T12:00:27.87+00:20", -1_041_337_172_130_000],
  ["0000-03-01T00:00:00Z", -62_162_035_200_000_000],
  ["0001-01-01T00:00:00Z", -62_135_596_800_000_000],
  ["0099-12-31T00:00:00Z", -59_011_545_600_000_000],
  ["9999-12-31T23:59:59Z", 253_402_300_799_000_000],
  ["2000-02-29T00:00:00Z", 951_782_400_000_000],
];

const wrong = [
  ..."2026-11-20 20261120 2026-11 2026 2026-324T10:00:00Z 2026-W47-5T10:00:00Z 10:00:00Z".split(" "),
  ..."2026-02-29T10:00:00Z 1900-02-29T10:00:00Z 2026-04-31T10:00:00Z 2026-00-20T10:00:00Z".split(" "),
  ..."2026-13-20T10:00:00Z 2026-11-00T10:00:00Z 2026-11-32T10:00:00Z 20261320T100000Z".split(" "),
  ..."2026-11-20T24:00:01Z 2026-11-20T24:01:00Z 2026-11-20T25:00:00Z 2026-11-20T10:60:00Z".split(" "),
  ..."2026-11-20T24:00:00.000001Z 2026-11-20T10:00:60Z 2016-12-31T23:59:60Z".split(" "),
  ..."2026-11-20T10:00:00.Z 2026-11-20T10:00.5Z 2026-11-20T10Z 2026-11-20T100000Z".split(" "),
  ..."20261120T10:00:00Z 2026-1120T10:00:00Z 202611-20T10:00:00Z 2026/11/20T10:00:00Z".split(" "),
  ..."2026-11-20T10:00:00+24:00 2026-11-20T10:00:00+00:60 2026-11-20T10:00:00+1".split(" "),
  ..."2026-11-20T10:00:00+001 2026-11-20T10:00:00+0 2026-11-20T10:00:00+ 2026-11-20T10:00:00ZZ".split(" "),
  ..."2026-11-20T10:00:00+08:00:00 2026-11-20T10:00:00UTC 2026-11-20T10:00:00+8:00".split(" "),
  ..."2026-11-20X10:00:00Z 2026-11-20T1a:00:00Z +2026-11-20T10:00:00Z -2026-11-20T10:00:00Z".split(" "),
  ...["20261120 100000Z", "2026-11-20  10:00:00Z", "2026-11-20T10:00:00Z ", " 2026-11-20T10:00:00Z"],
  ...["2026-11-20T10:00:00 08:00", "2026-11-20T10:00:00  +08:00", "2026-11-20T10:00:00 ", "", "T"],
  ...[
    "２０２６-11-20T10:00:00Z",
    "2026−11−20T10:00:00Z",
    "2026-11-20T10:00:00\0",
    "2026-11-20\x0010:00:00",
    "2026-11-20T10:00:00\n",
  ],
];

const pad = (value: number, digits = 2): string => String(value).padStart(digits, "0");

suite("times as text of ISO 8601", (test) => {
  for (const [text, micros] of forms)
    test(text.slice(0, 60), () => assert.is(read(text), micros, `${text.slice(0, 60)} of ${text.length}`));

  test("what is no such time is refused", () => {
    for (const text of wrong) assert.is(read(text), null, JSON.stringify(text));
  });

  test("a plus that a URL made a space is read where that may be, and stands before an offset alone", () => {
    const asked = (text: string) => readIsoTime(text, local, true);
    for (const text of ["2026-11-20T18:00:00 08:00", "2026-11-20 18:00:00.0 0800", "20261120T180000 08"])
      assert.is(asked(text), ten, text);
    assert.is(asked("2026-11-20 18:00"), ten);
    assert.is(asked("2026-11-20T10:00:00 Z"), ten);
    assert.is(asked("2026-11-20T10:00:00 "), null);
    assert.is(asked("2026-11-20 18:00:00 8"), null);
  });

  test("a wall clock that is not known is no time", () => {
    assert.is(
      readIsoTime("2026-11-20T18:00:00", () => null),
      null,
    );
  });

  const written = fc
    .record({
      ms: fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_000 }),
      micros: fc.option(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 999_999 }))),
      isBasic: fc.boolean(),
      mark: fc.constantFrom("T", " "),
      point: fc.constantFrom(".", ","),
      offset: fc.option(fc.integer({ min: -1439, max: 1439 })),
      form: fc.constantFrom("hm", "h:m", "h", "Z"),
    })
    .map(({ ms, micros, isBasic, mark, point, offset, form }) => {
      const iso = new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19);
      const wall = isBasic ? iso.replaceAll(/[-:]/g, "") : iso.replace("T", mark);
      const decimals = micros === null ? "" : point + pad(micros[1], 6).slice(0, micros[0]);
      if (offset === null) return wall + decimals;
      if (form === "Z") return `${wall}${decimals}Z`;
      const size = Math.abs(offset);
      const minutes = form === "h" ? "" : `${form === "hm" ? "" : ":"}${pad(size % 60)}`;
      return `${wall}${decimals}${offset < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}${minutes}`;
    });

  test("no text throws, and what is read is a whole number", () => {
    const cut = fc.tuple(written, fc.nat(40), fc.string({ maxLength: 3 })).map(
      // A character more, less or another one, somewhere.
      ([text, at, by]) => text.slice(0, at) + by + text.slice(at + 1),
    );
    fc.assert(
      fc.property(fc.oneof(cut, fc.string()), (text) => {
        const time = read(text);
        assert.ok(time === null || Number.isInteger(time), text);
      }),
      { numRuns: 5000 },
    );
  });

  if (!hasPandas) test.skip("Python reads the same times", modulesMissing("pandas"));
  else {
    test("Python reads the same times", () => {
      const texts = fc.sample(written, 3000);
      const others = [
        ...["2026-11-20 10:00:00+00", "2026-11-20T10:00:00.123456789Z", "2026-11-20 10:00:00+00:00"],
        ...["20261120T100000Z", "2026-11-20T10:00:00+0000", "2026-11-20 10:00:00.5 +0530"],
      ];
      const program = `
import json, sys
from datetime import datetime, timedelta, timezone
import pandas
texts, others = json.load(sys.stdin)
epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
def micros(text):
    time = datetime.fromisoformat(text)
    if time.tzinfo is None: time = time.replace(tzinfo=timezone(timedelta(hours=8)))
    return (time - epoch) // timedelta(microseconds=1)
def nanos(text): return int((pandas.Timestamp(text) - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(1, "ns"))
print(json.dumps([[micros(text) for text in texts], [nanos(text) for text in others]]))
`;
      const { status, stdout, stderr } = spawnSync(python, ["-c", program], {
        encoding: "utf8",
        input: JSON.stringify([texts, others]),
      });
      assert.is(status, 0, stderr);
      const [byDatetime, byPandas] = JSON.parse(stdout) as [number[], number[]];
      for (const [i, text] of texts.entries()) assert.is(read(text), byDatetime[i], text);
      for (const [i, text] of others.entries())
        assert.is(read(text), Math.round((byPandas[i] as number) / 1000), text);
    });
  }
});
