import fc from "fast-check";
import { earliestTime, latestTime } from "../../../../store/lib/time-range.js";
import { createCheckpointTracker } from "../../../../store/series/influx/checkpoint.js";
import { createColumns, parseRecords, parseRows, parseTime } from "../../../../store/series/influx/csv.js";
import { encodeBody, encodeLines, explode, type InfluxLine } from "../../../../store/series/influx/lines.js";
import { writeAroundBadLines } from "../../../../store/series/influx/write-around-bad-lines.js";
import type { Kind, Point, SeriesRef } from "../../../../store/series/series.js";
import { assert, rejects, suite } from "../../../suite.js";

function ref(field: string, kind: Kind = "number", deviceID = "d"): SeriesRef {
  return { tenant: 1, productID: "p", deviceID, field, kind };
}

function at(series: SeriesRef, time: number, value: Point["value"], serverStamped = false): Point {
  return { series, time, value, serverStamped };
}

function texts(points: readonly Point[], nodeNumber = 0): string[] {
  return encodeLines(points, nodeNumber).lines.map((line) => line.text);
}

/** Half a surrogate pair becomes U+FFFD, as wherever text becomes bytes. */
const asBytesOf = (text: string): string => Buffer.from(text).toString();

/** The lines as the protocol's description says them, without a thought for speed. */
function linesOf(points: readonly Point[], nodeNumber: number): string[] {
  const stored = (name: string) => name.replace(/[%\\\n\r]/g, encodeURIComponent);
  const key = (name: string) => stored(name).replace(/[,= ]/g, (one) => `\\${one}`);
  const lines: { at: string; head: string; fields: Map<string, string>; end: string }[] = [];
  for (const { series, time, value, serverStamped } of points) {
    const head = `${stored(series.productID).replace(/[, ]/g, (one) => `\\${one}`)},device=${key(series.deviceID)}`;
    const end = `${BigInt(time) * 1000n + BigInt(serverStamped ? nodeNumber : 0)}`;
    const at = `${head} ${time} ${serverStamped}`;
    const text = typeof value === "string" ? `"${value.replace(/["\\]/g, (one) => `\\${one}`)}"` : `${value}`;
    const last = lines.at(-1);
    const fields =
      last?.at === at && !last.fields.has(series.field) ? last.fields : new Map<string, string>();
    fields.set(series.field, Object.is(value, -0) ? "-0" : text);
    if (fields !== last?.fields) lines.push({ at, head, fields, end });
  }
  return lines.map(({ head, fields, end }) => {
    return asBytesOf(
      `${head} ${[...fields].map(([field, text]) => `${key(field)}=${text}`).join(",")} ${end}`,
    );
  });
}

suite("line protocol", (test) => {
  test("points of one device and time share a line, a repeated field begins the next", () => {
    const [a, b, other] = [ref("a"), ref("b", "boolean"), ref("a", "number", "e")];
    const points = [at(a, 1, 1.5), at(b, 1, true), at(a, 1, 2.5), at(other, 1, 3), at(a, 2, 4)];
    assert.equal(texts(points), [
      "p,device=d a=1.5,b=true 1000",
      "p,device=d a=2.5 1000",
      "p,device=e a=3 1000",
      "p,device=d a=4 2000",
    ]);
  });

  test("a field is known by its name: references of one series may be two", () => {
    assert.equal(texts([at(ref("a"), 1, 1), at(ref("b"), 1, 2), at(ref("a"), 1, 3)]), [
      "p,device=d a=1,b=2 1000",
      "p,device=d a=3 1000",
    ]);
  });

  test("names and text are escaped", () => {
    const series = { ...ref("f,= ~2", "text", 'x=y"z\\%'), productID: "p q,r" };
    assert.equal(texts([at(series, 1, 'say "\\" \n')]), [
      'p\\ q\\,r,device=x\\=y"z%5C%25 f\\,\\=\\ ~2="say \\"\\\\\\" \n" 1000',
    ]);
  });

  test("the node number is the last three digits of server stamps only, before 1970 too", () => {
    const a = ref("a");
    assert.equal(
      texts([at(a, 12, 1, true), at(a, 12, 2), at(a, -3, 3, true), at(a, 0, 4, true), at(a, 0, 5)], 7),
      [
        "p,device=d a=1 12007",
        "p,device=d a=2 12000",
        "p,device=d a=3 -2993",
        "p,device=d a=4 7",
        "p,device=d a=5 0000",
      ].map((line) => line.replace(" 0000", " 0")),
    );
  });

  test("bodies of any points, made as bytes, are the texts of their lines", async () => {
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
    const devices = fc.tuple(name, name, fc.uniqueArray(name, { minLength: 1, maxLength: 8 }));
    const kinds: Kind[] = ["number", "boolean", "text"];
    const rows = fc.array(
      fc.record({
        field: fc.nat(7),
        time: fc.oneof(fc.integer({ min: earliestTime, max: latestTime }), fc.integer({ min: -2, max: 2 })),
        isNext: fc.boolean(),
        number: fc.double({ noDefaultInfinity: true, noNaN: true }),
        text: fc.string({ unit: "binary", maxLength: 200 }),
        serverStamped: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(devices, rows, fc.nat(999), async ([productID, deviceID, fields], some, node) => {
        const refs = fields.map((field, i): SeriesRef => {
          return { tenant: 1, productID, deviceID, field, kind: kinds[i % 3] as Kind };
        });
        let last = 0;
        const points = some.map(({ field, time, isNext, number, text, serverStamped }) => {
          const series = refs[field % refs.length] as SeriesRef;
          last = isNext ? time : last;
          const value = { number, boolean: number > 0, text }[series.kind];
          return { series, time: last, value, serverStamped };
        });
        const body = await encodeBody(points, node);
        assert.is(body?.toString(), linesOf(points, node).join("\n"));
        assert.equal(texts(points, node), linesOf(points, node));
      }),
      { numRuns: 500 },
    );
  });

  test("what InfluxDB cannot hold is refused before it is sent", () => {
    const [a, b, c] = [ref("a"), ref("b", "boolean"), ref("c", "text")];
    const bad = [
      at(a, 1, Number.NaN),
      at(a, 1.5, 1),
      at(a, 2 ** 53, 1),
      at(b, 1, "x"),
      at(c, 1, 3),
      at(a, 1, "1"),
    ];
    const { lines, refused } = encodeLines(bad, 0);
    assert.equal(lines, []);
    assert.equal(
      refused.map(({ point }) => point),
      bad,
    );
  });
});

/** A server that takes every value but 13 and answers as InfluxDB does: with 400 by line, with 422 by halves. */
function server(status: 400 | 422) {
  const stored = new Set<string>();
  let requests = 0;
  const send = async (body: string) => {
    requests += 1;
    const lines = body.split("\n");
    const bad = lines.filter((line) => /=13\b/.test(line));
    if (status === 422 || bad.length === 0)
      for (const line of lines) if (!bad.includes(line)) stored.add(line);
    if (bad.length === 0) return undefined;
    const message =
      status === 400
        ? bad.map((line) => `unable to parse '${line}': bad number`).join("\n")
        : `partial write: dropped=${bad.length}`;
    return { status, message };
  };
  return { send, stored, requests: () => requests };
}

suite("settling a batch", (test) => {
  for (const status of [400, 422] as const) {
    test(`a ${status} costs only the bad points, good fields of their lines are stored`, async () => {
      const fields = ["a", "b", "c"].map((field) => ref(field));
      const points = Array.from({ length: 400 }, (_, time) =>
        fields.map((series, i) =>
          at(series, time, (time === 57 || time === 350) && i === 1 ? 13 : time + 1000),
        ),
      ).flat();
      const { lines } = encodeLines(points, 0);
      const target = server(status);
      const refused = await writeAroundBadLines(target.send, lines, 0);
      assert.equal(
        refused.map(({ point }) => point).sort((x, y) => x.time - y.time),
        points.filter(({ value }) => value === 13),
      );
      const values = [...target.stored].flatMap((line) => line.match(/[abc]=\d+ ?\d*/g) ?? []);
      for (const field of ["a=1057", "c=1057", "a=1350", "b=1399"]) {
        assert.ok(
          values.some((value) => value.startsWith(field)),
          field,
        );
      }
      assert.ok(target.requests() < 60, `${target.requests()} requests`);
    });
  }

  test("a batch of nothing but bad points is refused in a few requests", async () => {
    const points = Array.from({ length: 5000 }, (_, time) => at(ref("a"), time, 13));
    const target = server(422);
    assert.is((await writeAroundBadLines(target.send, encodeLines(points, 0).lines, 0)).length, 5000);
    assert.is(target.requests(), 1);
  });

  test("exploding keeps every point", () => {
    const lines: InfluxLine[] = encodeLines([at(ref("a"), 1, 1), at(ref("b"), 1, 2)], 0).lines;
    assert.equal(
      explode(lines, 0).map((line) => line.text),
      ["p,device=d a=1 1000", "p,device=d b=2 1000"],
    );
  });
});

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

suite("CSV answers", (test) => {
  const head = ",result,table,_time,_value\r\n";

  test("rows survive any cut into chunks", async () => {
    const numbers = [0.1, -12.5, 1e300, 5e-324, 123456789012345, 1234567890.1234567, -0];
    const rows = numbers.map((value, i) => `,_result,0,2024-02-29T23:59:5${i}.1234567Z,${decimal(value)}`);
    const csv = `${head + rows.join("\r\n")}\r\n\r\n`;
    for (const size of [1, 2, 7, 64, 10_000]) {
      const read: number[] = [];
      const times: number[] = [];
      await parseRows(pieces(csv, size), "number", (time, value) => {
        times.push(time);
        read.push(Number(value));
      });
      assert.ok(
        read.length === numbers.length && read.every((value, i) => Object.is(value, numbers[i])),
        String(read),
      );
      assert.equal(
        times,
        numbers.map((_, i) => Date.UTC(2024, 1, 29, 23, 59, 50 + i) * 1000 + 123_456),
      );
    }
  });

  test("an error in the middle of an answer is an error", async () => {
    const csv = `${head},_result,0,2024-01-01T00:00:00Z,1\r\n\r\nerror,reference\r\nout of memory,\r\n`;
    await rejects(() => parseRows(pieces(csv, 9), "number", () => {}), /out of memory/);
    await rejects(async () => parseRecords(csv), /out of memory/);
  });

  test("the later row of equal microseconds stays; times before 1970 are floored", () => {
    const { add, columns } = createColumns("number");
    for (const [time, value] of [
      [1, 1],
      [1, 2],
      [3, 3],
    ] as const)
      add(time, value);
    assert.equal([...columns().times], [1, 3]);
    assert.equal([...columns().values], [2, 3]);
    assert.is(parseTime("1969-12-31T23:59:59.999999001Z"), -1);
  });

  test("quoted cells of small answers", () => {
    const records = parseRecords(
      ',result,table,_value,device\r\n,_result,0,"say ""a,b""",d\r\n,_result,1,,e\r\n',
    );
    assert.equal(
      records.map((row) => [row._value, row.device]),
      [
        ['say "a,b"', "d"],
        ["", "e"],
      ],
    );
  });
});

/** As Go prints doubles: no exponent, the fewest digits that read back. */
function decimal(value: number): string {
  if (Object.is(value, -0)) return "-0";
  const [digits = "", exponent] = String(value).split("e");
  if (exponent === undefined) return digits;
  const shift = Number(exponent);
  return shift > 0 ? digits.replace(".", "").padEnd(shift + 1, "0") : `0.${"0".repeat(-shift - 1)}${digits}`;
}

suite("checkpoint of overlapping batches", (test) => {
  const open = (start = 0) => {
    const written: number[] = [];
    const tracker = createCheckpointTracker({
      read: async () => start,
      write: async (id) => void written.push(id),
    });
    return { tracker, written };
  };

  test("it never passes a batch that is under way or has failed", async () => {
    const { tracker, written } = open();
    for (const id of [1, 2, 3, 4]) tracker.begin(id);
    tracker.end(3, true);
    tracker.end(1, true);
    assert.is(await tracker.settled(), 1);
    tracker.end(2, false);
    tracker.end(4, true);
    assert.is(await tracker.settled(), 1);
    tracker.begin(2);
    assert.is(await tracker.settled(), 1);
    tracker.end(2, true);
    assert.is(await tracker.settled(), 4);
    await tracker.persist();
    await tracker.persist();
    assert.equal(written, [4]);
    tracker.close();
  });

  test("two batches that complete one id both count, and it never falls back", async () => {
    const { tracker, written } = open(10);
    tracker.begin(12);
    tracker.begin(12);
    tracker.end(12, true);
    assert.is(await tracker.settled(), 10);
    tracker.end(12, true);
    assert.is(await tracker.settled(), 12);
    tracker.begin(5);
    tracker.end(5, true);
    assert.is(await tracker.settled(), 12);
    await tracker.persist();
    assert.equal(written, [12]);
    tracker.close();
  });

  test("a port that fails leaves the checkpoint to the next try", async () => {
    let broken = true;
    const written: number[] = [];
    const write = async (id: number) => {
      if (broken) throw new Error("disk full");
      written.push(id);
    };
    const tracker = createCheckpointTracker({ read: async () => 0, write });
    tracker.begin(1);
    tracker.end(1, true);
    await rejects(() => tracker.persist(), /disk full/);
    broken = false;
    await tracker.persist();
    assert.equal(written, [1]);
    tracker.close();
  });
});
