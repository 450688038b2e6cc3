import fc from "fast-check";
import { parseRecords } from "../../store/influx/csv.js";
import { assert, suite } from "../suite.js";

suite("small answers of InfluxDB", (test) => {
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
    const begun = performance.now();
    parseRecords(`a,b\n${',"'.repeat(300_000)}\n`);
    assert.ok(performance.now() - begun < 2_000);
  });
});
