/** The reading of history files: wherever it stops it goes on, and no bytes make it fail. */
import { appendFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { rfc3339 } from "../../../query/time-text.js";
import { FormatError } from "../../../src/import-export/format-error.js";
import type { BadRow } from "../../../src/import-export/points/batch-builder.js";
import { type HistoryFormat, rowBytesMax } from "../../../src/import-export/points/limits.js";
import { type FilePosition, readHistory } from "../../../src/import-export/points/read-history.js";
import { createTimeReader, createTimeWriter } from "../../../src/import-export/points/times.js";
import { readDecimal } from "../../../src/import-export/points/values.js";
import { earliestTime, latestTime } from "../../../store/lib/time-range.js";
import { assert, openTempDir, rejects, suite } from "../../suite.js";

interface Seen {
  readonly rows: string[];
  readonly bad: BadRow[];
  readonly places: { readonly position: FilePosition; readonly rows: number; readonly bad: number }[];
}

const bounds = { earliest: earliestTime, oldest: earliestTime, newest: Number.MAX_SAFE_INTEGER };

async function read(path: string, format: HistoryFormat, from: FilePosition | null = null): Promise<Seen> {
  const seen: Seen = { rows: [], bad: [], places: [] };
  let names: string[] = [];
  await readHistory(
    { path, format },
    from,
    { local: () => null, bounds },
    {
      resolve: async (asked) =>
        asked.map(({ deviceID, dataPointID }) => {
          names.push(`${deviceID} ${dataPointID}`);
          return deviceID.startsWith("no")
            ? { column: "deviceID", problem: "unknown" }
            : { type: dataPointID === "note" ? 3 : 1, allowed: null };
        }),
      batch: async ({ targetAt, times, values, texts, lines, bad }, position) => {
        for (const [i, target] of targetAt.entries()) {
          const value = names[target]?.endsWith("note") ? texts[values[i] ?? 0] : values[i];
          seen.rows.push(`${lines[i]} ${names[target]} ${times[i]} ${value}`);
        }
        seen.bad.push(...bad);
        seen.places.push({ position, rows: seen.rows.length, bad: seen.bad.length });
      },
      reset: async () => {
        names = [];
      },
    },
  );
  return seen;
}

/** Encoded by Node, which shares nothing with the reader. */
const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  "UTF-8": (text) => Buffer.from(text),
  "UTF-8 with a mark": (text) => Buffer.from(`\uFEFF${text}`),
  "UTF-16LE": (text) => Buffer.from(`\uFEFF${text}`, "utf16le"),
  "UTF-16BE": (text) => Buffer.from(`\uFEFF${text}`, "utf16le").swap16(),
};

suite("history files", (test) => {
  let folder: Awaited<ReturnType<typeof openTempDir>>;
  const path = () => join(folder.path, "rows");
  test.before(async () => {
    folder = await openTempDir();
  });
  test.after(() => folder.close());

  test("semicolons with decimal commas, tabs and sep=, in UTF-8 and UTF-16", async () => {
    const files = {
      semicolons:
        "deviceID;dataPointID;time;value\r\nd1;temp;1700000007;21,5\r\nd1;note;1700000007;1,5\r\nd1;temp;1700000008;-0,25\r\n",
      tabs: "deviceid\tDataPointID\tTIME\tValue\nd1\ttemp\t1700000007\t21.5\nd1\tnote\t1700000007\t1,5\nd1\ttemp\t1700000008\t-0.25",
      "sep=":
        'sep=|\r\ndeviceID|dataPointID|time|value\r\nd1|temp|1700000007|"21.5"\r\nd1|note|1700000007|1,5\r\nd1|temp|1700000008|-2.5e-1',
    };
    for (const [form, text] of Object.entries(files)) {
      const first = form === "sep=" ? 3 : 2;
      for (const [encoding, encode] of Object.entries(encodings)) {
        await writeFile(path(), encode(text));
        const { rows, bad } = await read(path(), "csv");
        assert.equal(bad, [], `${form} ${encoding}`);
        assert.equal(rows, [
          `${first} d1 temp 1700000007000000 21.5`,
          `${first + 1} d1 note 1700000007000000 1,5`,
          `${first + 2} d1 temp 1700000008000000 -0.25`,
        ]);
      }
    }
  });

  test("a comma is no decimal one but beside semicolons", async () => {
    const files = [
      'deviceID,dataPointID,time,value\nd1,temp,1700000007,"1,234"\n',
      "deviceID\tdataPointID\ttime\tvalue\nd1\ttemp\t1700000007\t1,234\n",
    ];
    for (const text of files) {
      await writeFile(path(), text);
      const { rows, bad } = await read(path(), "csv");
      assert.equal([rows.length, bad.map(({ column }) => column)], [0, ["value"]], text);
    }
  });

  test("fixed columns have their names in any case, data points exactly theirs", async () => {
    const files = {
      "DEVICEID,Time,Value,temp\nd1,1700000007,1,2\n": [
        "2 d1 Value 1700000007000000 1",
        "2 d1 temp 1700000007000000 2",
      ],
      "deviceID,time,Value,DATAPOINTID,TIMES\nd1,1700000007,1,2,3\n": [
        "2 d1 Value 1700000007000000 1",
        "2 d1 DATAPOINTID 1700000007000000 2",
        "2 d1 TIMES 1700000007000000 3",
      ],
      "deviceid,time,DATAPOINTID\nd1,1700000007,1\n": ["2 d1 DATAPOINTID 1700000007000000 1"],
      "VALUE,TIME,datapointid,DeviceID\n5,1700000007,temp,d1\n": ["2 d1 temp 1700000007000000 5"],
    };
    for (const [text, expected] of Object.entries(files)) {
      await writeFile(path(), text);
      const { rows, bad } = await read(path(), "csv");
      assert.equal([rows, bad], [expected, []], text);
    }
    for (const header of ["deviceID,DeviceID,time,temp", "deviceID,dataPointID,time,value,temp"]) {
      await writeFile(path(), `${header}\n`);
      await rejects(() => read(path(), "csv"), /the header must name/);
    }
  });

  test("a long file in UTF-16 goes on from every position, and a broken one says where", async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `设备${i % 9};note;${17e8 + i};größer 😀 ${i}`);
    const text = `deviceID;dataPointID;time;value\n${lines.join("\n")}`;
    await writeFile(path(), text);
    const expected = await read(path(), "csv");
    await writeFile(path(), encodings["UTF-16LE"]?.(text) ?? "");
    const whole = await read(path(), "csv");
    assert.equal(whole, expected);
    for (const { position, rows } of whole.places) {
      assert.equal((await read(path(), "csv", position)).rows, whole.rows.slice(rows));
    }
    await appendFile(path(), Buffer.from([0x41]));
    await rejects(() => read(path(), "csv"), /not UTF-16/);
  });

  test("NDJSON in UTF-16, as PowerShell redirects it", async () => {
    await writeFile(
      path(),
      Buffer.from(
        '\uFEFF{"deviceID":"d1","dataPointID":"temp","time":1700000007,"value":1.5}\r\n',
        "utf16le",
      ),
    );
    assert.equal((await read(path(), "ndjson")).rows, ["1 d1 temp 1700000007000000 1.5"]);
  });

  test("reading goes on from every position where it stood, to the same rows and lines", async () => {
    const lines = Array.from({ length: 40_000 }, (_, i) =>
      i % 1000 === 7
        ? `bad line ${i}`
        : i % 13 === 0
          ? `d${i % 9},note,${17e8 + i},"a\r\n""${i}"""`
          : `d${i % 9},temp,${17e8 + i},${i / 8}`,
    );
    await writeFile(path(), `deviceID,dataPointID,time,value\n${lines.join("\r\n")}`);
    const whole = await read(path(), "csv");
    assert.is(whole.rows.length + whole.bad.length, 40_000);
    assert.ok(whole.places.length > 3);
    for (const { position, rows, bad } of whole.places) {
      const rest = await read(path(), "csv", position);
      assert.equal(rest.rows, whole.rows.slice(rows));
      assert.equal(rest.bad, whole.bad.slice(bad));
    }
  });

  test("times are the nearest microsecond in every form, and long numbers keep their digits", async () => {
    const times: readonly (readonly [text: string, micros: number])[] = [
      ["1500000000123456499", 1_500_000_000_123_456],
      ["1500000000123456500", 1_500_000_000_123_457],
      ["1500000000.1234565", 1_500_000_000_123_457],
      ["1500000000.12345649999", 1_500_000_000_123_456],
      ["1500000000123.4564999", 1_500_000_000_123_456],
    ];
    const stamps = [
      ["2017-07-14T02:40:00.123456500Z", 1_500_000_000_123_457],
      ["2017-07-14T02:40:00.1234564Z", 1_500_000_000_123_456],
      ["1969-12-31T23:59:58.9999995Z", -1_000_000],
    ] as const;
    const expected = [...times, ...stamps].map(([, micros]) => micros);
    const found = ({ rows }: Seen) => rows.map((row) => Number(row.split(" ")[3]));
    const csv = [...times, ...stamps].map(([text]) => `d,temp,${text},1`);
    await writeFile(path(), `deviceID,dataPointID,time,value\n${csv.join("\n")}`);
    assert.equal(found(await read(path(), "csv")), expected);
    const row = (time: string) => `{"deviceID":"d","dataPointID":"temp","time":${time},"value":1}`;
    const texts = [...times, ...stamps].map(([text]) => row(JSON.stringify(text)));
    await writeFile(path(), texts.join("\n"));
    assert.equal(found(await read(path(), "ndjson")), expected);
    // As numbers too, where a double holds as many digits or the number is whole.
    const numbers = times.filter(([text]) => !text.includes(".") || String(Number(text)) === text);
    await writeFile(path(), numbers.map(([text]) => row(text)).join("\n"));
    assert.equal(
      found(await read(path(), "ndjson")),
      numbers.map(([, micros]) => micros),
    );
    await writeFile(
      path(),
      '{"deviceID":"d","time":1700000000,"note":9007199254740993,"temp":9007199254740993}',
    );
    const { rows } = await read(path(), "ndjson");
    assert.equal(rows.map((one) => one.split(" ").slice(2)).sort(), [
      ["note", "1700000000000000", "9007199254740993"],
      ["temp", "1700000000000000", "9007199254740992"],
    ]);
  });

  test("more series than are remembered at once are all read", async () => {
    const count = 210_000;
    await writeFile(
      path(),
      Array.from({ length: count }, (_, i) => `{"deviceID":"d${i}","time":${17e8 + i},"temp":${i}}`).join(
        "\n",
      ),
    );
    const { rows, bad } = await read(path(), "ndjson");
    assert.equal(bad, []);
    assert.is(rows.length, count);
    assert.is(rows.at(-1), `${count} d${count - 1} temp ${17e14 + (count - 1) * 1e6} ${count - 1}`);
  });

  test("the same bytes name two devices, by whether their quotation marks are doubled", async () => {
    const rows = [
      '"a""b",temp,1700000001,1',
      'a""b,temp,1700000002,2',
      'a"b,temp,1700000003,3',
      '"a""b",temp,1700000004,4',
      "'=a,temp,1700000005,5",
    ];
    await writeFile(path(), `deviceID,dataPointID,time,value\n${rows.join("\n")}`);
    const names = (await read(path(), "csv")).rows.map((row) => row.split(" ")[1]);
    assert.equal(names, ['a"b', 'a""b', 'a"b', 'a"b', "=a"]);
    await writeFile(
      path(),
      'deviceID,time,temp\n"a""b",1700000001,1\na""b,1700000002,2\n"a""b",1700000003,3',
    );
    const wide = (await read(path(), "csv")).rows.map((row) => row.split(" ")[1]);
    assert.equal(wide, ['a"b', 'a""b', 'a"b']);
  });

  test("a line is bounded wherever it lies, and what follows it is read", async () => {
    for (const size of [rowBytesMax - 40, rowBytesMax, rowBytesMax * 2, rowBytesMax * 9]) {
      const long = `d,note,1700000001,${"x".repeat(size)}`;
      await writeFile(
        path(),
        `deviceID,dataPointID,time,value\nd,temp,1700000001,1\n${long}\nd,temp,1700000002,2\n${long}`,
      );
      const { rows, bad } = await read(path(), "csv");
      assert.equal([rows.length, bad.map(({ line }) => line)], [2, [3, 5]]);
      const what = long.length < rowBytesMax ? /longer than a series can hold/ : /longer than \d+ bytes/;
      assert.ok(
        bad.every(({ error }) => what.test(error)),
        JSON.stringify(bad),
      );
    }
  });

  test("a line of half a gigabyte costs no memory", async () => {
    const megabyte = 1 << 20;
    await writeFile(path(), "deviceID,dataPointID,time,value\nd,temp,1700000001,1\n");
    await truncate(path(), 512 * megabyte); // a hole: no bytes on the disk
    await appendFile(path(), "\nd,temp,1700000002,2");
    const before = process.memoryUsage().rss;
    let most = before;
    const watching = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 5);
    const { rows, bad } = await read(path(), "csv");
    clearInterval(watching);
    assert.equal(
      [rows, bad.map(({ line }) => line)],
      [["2 d temp 1700000001000000 1", "4 d temp 1700000002000000 2"], [3]],
    );
    assert.ok(most - before < 100 * megabyte, `${Math.round((most - before) / megabyte)} MB`);
  });

  test("any bytes give rows or reasons, never an exception", async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '"',
        ",",
        "\n",
        "\r\n",
        "d,temp,1700000001,1",
        "\n{",
        '{"deviceID":"d","time":1700000001,"temp":2}',
        "\ufeff",
        "\0",
        "\\",
        "[",
        "e9",
      ),
      fc.string({ unit: "binary", maxLength: 12 }),
    );
    const file = fc.array(
      fc.oneof(
        piece.map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 8 }),
      ),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(file, fc.constantFrom("csv" as const, "ndjson" as const), async (pieces, format) => {
        const head = format === "csv" ? "deviceID,dataPointID,time,value\n" : "";
        await writeFile(path(), Buffer.concat([Buffer.from(head), ...pieces]));
        const { rows, bad } = await read(path(), format);
        for (const { line } of bad) assert.ok(line >= 1);
        assert.ok(rows.length >= 0);
      }),
      { numRuns: 400 },
    );
    await writeFile(path(), "\n");
    const error = await rejects(() => read(path(), "csv"));
    assert.ok(error instanceof FormatError);
  });

  test("times and decimals read as the slow ways do", () => {
    const write = createTimeWriter("utc");
    const readTime = createTimeReader();
    fc.assert(
      fc.property(fc.integer({ min: -9e15, max: 9e15 }), (micros) => {
        const text = write(micros);
        const [seconds, decimals = ""] = rfc3339(micros).slice(0, -1).split(".");
        assert.is(text, `${seconds}.${decimals.padEnd(6, "0")}Z`);
        assert.is(readTime(Buffer.from(text), 0, text.length), micros);
      }),
    );
    const millis = createTimeWriter("ms");
    fc.assert(
      fc.property(fc.integer({ min: earliestTime, max: latestTime }), (micros) => {
        const [whole = "", decimals = ""] = millis(micros).split(".");
        const read = BigInt(whole.replace("-", "") + decimals.padEnd(3, "0")) * (micros < 0 ? -1n : 1n);
        assert.is(Number(read), micros, "no digit is lost");
      }),
    );
    for (const wrong of [
      "2024-02-30T00:00:00Z",
      "2024-01-01T24:00:00Z",
      "2024-01-01T00:00:00.Z",
      "2024-1-01T00:00:000Z",
    ]) {
      assert.ok(Number.isNaN(readTime(Buffer.from(wrong), 0, wrong.length)), wrong);
    }
    fc.assert(
      fc.property(fc.oneof(fc.double().map(String), fc.stringMatching(/^-?\d{0,16}\.?\d{0,16}$/)), (text) => {
        const value = readDecimal(Buffer.from(text), 0, text.length);
        if (!Number.isNaN(value)) assert.ok(Object.is(value, Number(text)), text);
      }),
      { numRuns: 2000 },
    );
  });
});
