import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import type { InfluxClient } from "../../../../store/series/influx/client.js";
import { openConflicts } from "../../../../store/series/influx/conflicts.js";
import { ForeignValue, parseRecords, readFieldRows } from "../../../../store/series/influx/csv.js";
import { createInfluxReader } from "../../../../store/series/influx/queries.js";
import type { SeriesRef } from "../../../../store/series/series.js";
import { memoryLedger } from "../../../influxd/ledger.js";
import { assert, cpuTime, suite } from "../../../suite.js";

suite("small InfluxDB answers", (test) => {
  const quoted = (cell: string) =>
    /[",]/.test(cell) || cell === "" ? `"${cell.replaceAll('"', '""')}"` : cell;

  test("cells come back as they were written, with quotation marks, commas or nothing in them", () => {
    const cell = fc.string({ unit: fc.constantFrom('"', ",", "a", "é", " "), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1 }), (rows) => {
        const text = [",a,b,c", ...rows.map((row) => ["", ...row.map(quoted)].join(","))].join("\r\n");
        const expected = rows.map(([a, b, c]) => ({ "": "", a, b, c }));
        assert.equal(parseRecords(`${text}\r\n`), expected);
      }),
    );
  });

  test("a line without an end to its quotation marks takes no longer than others", () => {
    const spent = cpuTime();
    parseRecords(`a,b\n${',"'.repeat(300_000)}\n`);
    assert.ok(spent() < 2_000);
  });
});

suite("InfluxDB answers with several fields", (test) => {
  test("a foreign value among texts is reported for its field alone, and the others are still read", async () => {
    const header = [
      "#datatype,string,long,string,dateTime:RFC3339,string",
      ",result,table,_field,_time,_value",
    ];
    const rows = [
      ["a", 1, '"""x"""'],
      ["note", 1, '"""was"""'],
      ["note", 2, "5"],
      ["note", 3, '"""again"""'],
      ["z", 1, '"""y"""'],
      ["z", 2, "true"],
    ].map(([field, second, value], i) => `,text0,${i},${field},2025-03-01T00:00:0${second}Z,${value}`);
    async function* answer() {
      yield Buffer.from([...header, ...rows, ""].join("\r\n"));
    }
    const told: unknown[] = [];
    await readFieldRows(answer(), (field) => ({
      kind: "text",
      add: (_, value) => void told.push([field, value]),
      onForeign: ({ heldAs }: ForeignValue) => void told.push([field, "foreign", heldAs]),
    }));
    assert.equal(told, [
      ["a", "x"],
      ["note", "was"],
      ["note", "foreign", "number"],
      ["z", "y"],
      ["z", "foreign", "boolean"],
    ]);
  });
});

suite("newest points of several series that the engine refuses together", (test) => {
  test("each is asked for by itself: the one that is not ours is named", async () => {
    const ref = (field: string): SeriesRef => ({
      tenant: 1,
      productID: "p",
      deviceID: "d",
      field,
      kind: "number",
    });
    async function* answer(flux: string) {
      if (flux.includes("yield(name") || flux.includes('"bad"')) throw new ForeignValue("string");
      yield Buffer.from(",result,table,_time,_value\r\n,_result,0,2025-03-01T00:00:00Z,7\r\n");
    }
    const client = { query: answer } as unknown as InfluxClient;
    const conflicts = await openConflicts({
      bucket: "b",
      ledger: memoryLedger(),
      shardMicros: () => 1,
      onChange: () => undefined,
    });
    const { readNewest } = createInfluxReader({ client, bucket: "b", conflicts }, null);
    const [good, bad] = await readNewest([ref("good"), ref("bad")], {}, 1);
    assert.equal(good && "values" in good && [...good.values], [7]);
    assert.ok(bad instanceof StoreError && bad.code === "MISMATCH");
    assert.equal(Object.keys(bad.fields), ["bad"]);
  });
});
