/** Files that the console writes: cells that a spreadsheet would run are guarded as the service guards its own. */
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { formatTableCsv as boardCsv, createTable } from "../../src/console/app/dashboards/panel-table.js";
import { formatLinesCsv as exploreCsv } from "../../src/console/app/explore/rows.js";
import { guardFormula, unguardFormula } from "../../src/import-export/formula-guard.js";
import { assert, suite } from "../suite.js";

/** What OWASP lists under "CSV Injection", and what spreadsheets take for it behind apostrophes. */
const hostile = [
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "\t=1",
  "\r=1",
  "'=1",
  "=cmd|' /C calc'!A0",
  '=HYPERLINK("x","y")',
];
const cellsOf = (text: string) => parse(text, { relax_column_count: true, bom: false }) as string[][];

suite("console: CSV", (test) => {
  test("no name of a column and no value begins like a formula, and numbers stay numbers", () => {
    for (const text of hostile) {
      const table = createTable([
        { name: text, unit: null, time: [1, 2, 3], value: [text, -5, 1e-7] },
        { name: "plain", unit: null, time: [1, 2], value: [-0.5, { lat: 1 }] },
      ]);
      const [head, ...rows] = cellsOf(boardCsv(table));
      assert.equal(head, ["time", `'${text}`, "plain"]);
      assert.equal(
        rows.map((row) => row.slice(1)),
        [
          [`'${text}`, "-0.5"],
          ["-5", '{"lat":1}'],
          ["1e-7", ""],
        ],
      );
      const line = { name: text, unit: text, color: 0, times: [1], values: [-5] };
      const [title, [, value] = []] = cellsOf(exploreCsv([line], "UTC"));
      assert.equal([title?.[1], value], [`'${text} (${text})`, "-5"]);
    }
  });

  test("any text is guarded as the service does it, and comes back", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.constantFrom("", ..."=+-@\t\r'"), (text, first) => {
        const value = first + text;
        const table = createTable([{ name: "n", unit: null, time: [1], value: [value] }]);
        // The parser of the test takes a lone carriage return for the end of a row, unless it is quoted.
        const cell = cellsOf(boardCsv(table))[1]?.[1] ?? "";
        assert.is(cell, guardFormula(value));
        assert.is(unguardFormula(cell), value);
      }),
      { numRuns: 500 },
    );
  });
});
