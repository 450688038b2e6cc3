/** Line protocol against InfluxDB's own client, which writes it, and against the forms of its reference. */
import { Point } from "@influxdata/influxdb-client";
import fc from "fast-check";
import { readTime } from "../../../../../ingest/decode/time.js";
import {
  createLineReader,
  type ProtocolLine,
  readHead,
} from "../../../../../ingest/transports/http/influx/line-protocol.js";
import { jsonOfTimestamp, type Precision } from "../../../../../ingest/transports/http/influx/timestamps.js";
import { assert, suite } from "../../../../suite.js";

interface Read {
  readonly number: number;
  readonly measurement: string | undefined;
  readonly tags: readonly (readonly [string, string])[] | undefined;
  readonly fields: readonly (readonly [string, unknown])[];
  readonly time: string;
  readonly fault: string | null;
}

/** In pieces of so many characters. */
async function read(text: string, piece = text.length): Promise<Read[]> {
  const all: Read[] = [];
  const reader = createLineReader(() => undefined);
  const take = (line: ProtocolLine): undefined => {
    const head = line.fault === null ? readHead(line.head) : null;
    all.push({
      number: line.number,
      measurement: head?.measurement,
      tags: head?.tags,
      fields: line.keys.map((key, i) => [key, JSON.parse(String(line.values[i]))] as const),
      time: line.time,
      fault: line.fault,
    });
    return undefined;
  };
  for (let at = 0; at < text.length; at += piece)
    await reader.read(text.slice(at, at + piece), at + piece >= text.length, take);
  return all;
}

/** Without backslashes, which no line protocol can hold before a separator; objects of the client are plain ones. */
const name = fc
  .string({ minLength: 1, unit: "grapheme" })
  .filter(
    (text) =>
      !/[\\\n\r\t]/.test(text) && text.trim() === text && !text.startsWith("#") && text !== "__proto__",
  );

suite("line protocol", (test) => {
  test("what InfluxDB's client writes is read as it was meant", async () => {
    await fc.assert(
      fc.asyncProperty(
        name,
        fc.dictionary(name, name, { maxKeys: 3 }),
        fc.dictionary(
          name,
          fc.oneof(
            fc.record({
              kind: fc.constant("float" as const),
              value: fc.double({ noNaN: true, noDefaultInfinity: true }),
            }),
            fc.record({ kind: fc.constant("int" as const), value: fc.maxSafeInteger() }),
            fc.record({ kind: fc.constant("uint" as const), value: fc.maxSafeNat() }),
            fc.record({ kind: fc.constant("bool" as const), value: fc.boolean() }),
            fc.record({ kind: fc.constant("text" as const), value: fc.string({ unit: "grapheme" }) }),
          ),
          { minKeys: 1, maxKeys: 5 },
        ),
        fc.option(fc.bigInt(-(2n ** 62n), 2n ** 62n)),
        async (measurement, tags, fields, time) => {
          const point = new Point(measurement);
          for (const [key, value] of Object.entries(tags)) point.tag(key, value);
          for (const [key, { kind, value }] of Object.entries(fields)) {
            if (kind === "float") point.floatField(key, value);
            else if (kind === "int") point.intField(key, value);
            else if (kind === "uint") point.uintField(key, value);
            else if (kind === "bool") point.booleanField(key, value);
            else point.stringField(key, value);
          }
          if (time !== null) point.timestamp(String(time));
          const text = point.toLineProtocol() ?? "";
          const [line, ...more] = await read(`${text}\n# a comment\n\n`);
          assert.equal(more, []);
          assert.is(line?.fault, null, text);
          assert.is(line?.measurement, measurement);
          const byName = (a: readonly [string, unknown], b: readonly [string, unknown]) =>
            a[0] < b[0] ? -1 : 1;
          assert.equal([...(line?.tags ?? [])].sort(byName), Object.entries(tags).sort(byName));
          const wanted = Object.entries(fields).map(
            ([key, { value }]) => [key, Object.is(value, -0) ? 0 : value] as const,
          );
          const got = (line?.fields ?? []).map(
            ([key, value]) => [key, Object.is(value, -0) ? 0 : value] as const,
          );
          assert.equal([...got].sort(byName), [...wanted].sort(byName));
          if (time !== null) assert.is(line?.time, String(time));
        },
      ),
      { numRuns: 500 },
    );
  });

  const forms: readonly (readonly [line: string, fields: Readonly<Record<string, unknown>>])[] = [
    [
      'm,t=1 a=1,b=1i,c=1u,d="x",e=t,f=F,g=True,h=FALSE 1',
      { a: 1, b: 1, c: 1, d: "x", e: true, f: false, g: true, h: false },
    ],
    ["m a=-.5,b=+3,c=1.,d=1e3,e=1.5E-2,f=007i,g=-0i", { a: -0.5, b: 3, c: 1, d: 1000, e: 0.015, f: 7, g: 0 }],
    ['my\\ m,ta\\ g=va\\,l a\\=b="say \\"hi\\" \\\\ c:\\dir, x=1" 5', { "a=b": 'say "hi" \\ c:\\dir, x=1' }],
    ['m a="two\nlines" 7', { a: "two\nlines" }],
    ["m  a=1   9 \r", { a: 1 }],
    ["m a=9223372036854775807i,b=18446744073709551615u", { a: 2 ** 63, b: 2 ** 64 }],
  ];
  for (const [line, fields] of forms) {
    test(`${JSON.stringify(line)} is read`, async () => {
      const [one, ...more] = await read(line);
      assert.equal(more, []);
      assert.is(one?.fault, null);
      assert.equal(Object.fromEntries(one?.fields ?? []), fields);
    });
  }

  const bad = [
    "m",
    "m ",
    "m,t=1",
    "m 5",
    "m a",
    "m a=",
    "m =1",
    "m a=1,",
    "m a=1,b",
    "m a=1x",
    "m a=nan",
    "m a=inf",
    'm a="open',
    'm a="x"y 1',
    "m a=1 soon",
    "m a=1 1 2",
    "m a=1.5i",
    "m a=9223372036854775808i",
    "m a=-1u",
    "m a=18446744073709551616u",
    "m a=1e999",
    "m a=0x10",
  ];
  for (const line of bad) {
    test(`${JSON.stringify(line)} is refused, and the next line is read`, async () => {
      const all = await read(`${line}\nm ok=1`);
      // A text without an end takes what follows with it.
      if (line.endsWith("open")) assert.ok(all[0]?.fault);
      else {
        assert.is(all.length, 2, JSON.stringify(all));
        assert.ok(all[0]?.fault, JSON.stringify(all[0]));
        assert.equal(all[1], {
          number: 2,
          measurement: "m",
          tags: [],
          fields: [["ok", 1]],
          time: "",
          fault: null,
        });
      }
    });
  }

  test("heads without a measurement or with half a tag are none", () => {
    for (const head of [",t=1", "m,t", "m,t=", "m,=1", "m,a=b=c"]) assert.is(readHead(head), null, head);
  });

  test("a line has at most 2,000 fields", async () => {
    const fields = (count: number) =>
      `m ${Array.from({ length: count }, (_, n) => `f${n}=1`).join(",")}\nm b=1`;
    assert.equal(
      (await read(fields(2000))).map(({ fault }) => fault),
      [null, null],
    );
    const [long, next] = await read(fields(2001));
    assert.match(long?.fault ?? "", /2000 fields/);
    assert.is(next?.fault, null);
  });

  test("numbers of lines count comments, empty lines and breaks within texts", async () => {
    const all = await read('# one\n\nm a="x\ny"\nm b=1\n');
    assert.equal(
      all.map(({ number }) => number),
      [3, 5],
    );
  });

  test("a backslash at the end of a line escapes nothing", async () => {
    for (const text of ["m a\\\nm b=1\n", "m\\\nm b=1\n", "m a=1,b\\\nm b=1\n"]) {
      const [broken, whole, ...more] = await read(text);
      assert.ok(broken?.fault, text);
      assert.equal([whole?.number, whole?.fields, more.length], [2, [["b", 1]], 0], text);
    }
  });

  test("wherever it is cut, a text is the same lines", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom(...'m,="\\ \n#1ita.') }),
        fc.integer({ min: 1, max: 9 }),
        async (text, piece) => {
          assert.equal(await read(text, piece), await read(text));
        },
      ),
      {
        numRuns: 2000,
        examples: [
          ["m \\\n=", 1],
          ['m m="\n"', 1],
          ['m m="a\n#\n\nb" 1\ni t="\n', 2],
        ],
      },
    );
  });

  test("a line that is too long is reported once, and those after it are read", async () => {
    const long = `m a="${"x\n".repeat(300_000)}"\nm b=1\n`;
    for (const text of [`m ${"a".repeat(600_000)}\nm b=1\n`, `${"m".repeat(2_000_000)}\nm b=1\n`]) {
      for (const piece of [1000, 100_000, text.length]) {
        const all = await read(text, piece);
        assert.equal(
          all.map(({ number, fields }) => [number, fields.length]),
          [
            [1, 0],
            [2, 1],
          ],
        );
        assert.ok(all[0]?.fault);
      }
    }
    assert.ok((await read(long))[0]?.fault);
  });

  test("bytes of any kind never end the reading early, and never throw", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom(...'m,="\\ \n#1ita.') }), async (text) => {
        await read(text);
        const closed = text.replaceAll(/["\\]/g, "");
        const after = await read(`${closed}\nend z=1 5`);
        assert.is(after.at(-1)?.measurement, "end");
      }),
      { numRuns: 2000 },
    );
  });

  const each: Readonly<Record<Precision, bigint>> = {
    ns: 1n,
    us: 1000n,
    ms: 1_000_000n,
    s: 1_000_000_000n,
    m: 60_000_000_000n,
    h: 3_600_000_000_000n,
  };
  for (const precision of Object.keys(each) as Precision[]) {
    test(`timestamps of ${precision} are the nearest microsecond`, () => {
      const bound = 2n ** 62n / each[precision];
      fc.assert(
        fc.property(fc.bigInt(-bound, bound), (value) => {
          const json = jsonOfTimestamp(String(value), precision);
          const nanos = value * each[precision];
          const wanted = (nanos + 500n - ((((nanos + 500n) % 1000n) + 1000n) % 1000n)) / 1000n;
          assert.is(json === null, wanted < 946_684_800_000_000n || wanted >= 2n ** 53n, String(value));
          if (json !== null)
            assert.is(String(readTime(JSON.parse(json), () => null)), String(wanted), `${value} → ${json}`);
        }),
        { numRuns: 1000 },
      );
    });
  }
});
