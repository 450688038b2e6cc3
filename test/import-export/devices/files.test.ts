import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { csvFile } from "../../../src/import-export/devices/csv-file.js";
import type { Cell, FileCell, FileRow, TableFormat } from "../../../src/import-export/devices/table-file.js";
import {
  columnIndex,
  columnName,
  dateText,
  escapeText,
  isDateFormat,
  unescapeText,
} from "../../../src/import-export/devices/xlsx-cells.js";
import { xlsxFile } from "../../../src/import-export/devices/xlsx-file.js";
import { FormatError } from "../../../src/import-export/format-error.js";
import { guardFormula, unguardFormula } from "../../../src/import-export/formula-guard.js";
import { assert, cpuTime, suite, withTempDir } from "../../suite.js";
import { bookParts, writeBook } from "./workbooks.js";

async function* each(rows: readonly (readonly Cell[])[]): AsyncGenerator<readonly Cell[]> {
  yield* rows;
}

async function readAll(format: TableFormat, path: string): Promise<FileRow[]> {
  const rows: FileRow[] = [];
  for await (const row of format.read(path)) rows.push(row);
  return rows;
}

async function refusal(format: TableFormat, path: string): Promise<string> {
  try {
    await readAll(format, path);
  } catch (error) {
    assert.instance(error, FormatError);
    return (error as Error).message;
  }
  throw new Error("the file was read");
}

const texts = [
  "=1+1",
  "'=1+1",
  "''=1",
  "+49",
  "-5",
  "@x",
  "\tx",
  "'plain",
  "a,b",
  'say "hi"',
  "two\r\nlines",
  "\r",
  " edge ",
  "_x0041_",
  "😀 设备",
  "<&>",
  "; DROP",
  "\u0001\u001f",
  "'",
  "\uFEFFx",
];

const number = (text: string) => ({ kind: "number", text });
const date = (text: string) => ({ kind: "date", text });

/** Drops trailing empty cells: they mean the same as no cells. */
const shortened = (cells: readonly FileCell[]) =>
  cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1);

suite("table files", (test) => {
  for (const [name, format] of Object.entries({ csv: csvFile, xlsx: xlsxFile })) {
    test(`${name}: every text comes back as it was`, async () => {
      await withTempDir(async (dir) => {
        const path = join(dir, "file");
        const rows: Cell[][] = texts.map((text) => [text, null, `${text}${text}`]);
        await format.write(path, ["one", "two", "three"], each(rows));
        const found = await readAll(format, path);
        assert.equal(
          found.map((row) => row.cells),
          [["one", "two", "three"], ...rows],
        );
        assert.equal(
          found.map((row) => row.number),
          found.map((_, i) => i + 1),
        );
      });
    });

    test(`${name}: any table comes back as it was`, async () => {
      const cell = fc
        .oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.constant(null), fc.string({ minLength: 1 }))
        .map((one) => (one === null ? null : one.toWellFormed().replaceAll("\0", "x")));
      await withTempDir(async (dir) => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { maxLength: 5 }),
            async (rows) => {
              const path = join(dir, "file");
              await format.write(path, ["a", "b", "c"], each(rows));
              const found = (await readAll(format, path)).slice(1).map((row) => shortened(row.cells));
              assert.equal(found, rows.map(shortened));
            },
          ),
          { numRuns: 60 },
        );
      });
    });
  }

  test("a guarded text is never a formula, and unguarding undoes it", () => {
    for (const text of texts) {
      assert.not.match(guardFormula(text), /^[=+\-@\t\r]/);
      assert.is(unguardFormula(guardFormula(text)), text);
    }
    assert.is(unguardFormula("'plain"), "'plain");
  });

  test("csv: semicolons, no byte order mark, lone newlines, and what is not CSV", async () => {
    await withTempDir(async (dir) => {
      const path = join(dir, "file");
      await writeFile(path, 'a;b\n1;"x;y"\n\n2;z\r\n');
      assert.equal(
        (await readAll(csvFile, path)).map((row) => row.cells),
        [["a", "b"], ["1", "x;y"], [null], ["2", "z"]],
      );
      await writeFile(path, Buffer.from([0x61, 0xff, 0x62]));
      assert.match(await refusal(csvFile, path), /neither/);
      await writeFile(path, Buffer.from("a\0b"));
      assert.match(await refusal(csvFile, path), /neither/);
      await writeFile(path, 'a,b\n1,"never closed');
      assert.match(await refusal(csvFile, path), /row 1/);
    });
  });

  test("xlsx: shared, rich and inline strings, numbers, booleans, dates, gaps, prefixes", async () => {
    await withTempDir(async (dir) => {
      const sheet = `<x:row r="1"><x:c r="A1" t="s"><x:v>0</x:v></x:c><x:c r="C1" t="s"><x:v>1</x:v></x:c></x:row>
        <x:row r="4"><x:c t="inlineStr"><x:is><x:t>in</x:t></x:is></x:c><x:c><x:v>3.56938035643809E+14</x:v></x:c><x:c t="b"><x:v>1</x:v></x:c>
        <x:c s="1"><x:v>45296</x:v></x:c><x:c s="2"><x:v>45296.5</x:v></x:c><x:c t="d"><x:v>2024-01-05</x:v></x:c><x:c t="str"><x:f>A1</x:f><x:v>made</x:v></x:c><x:c s="1"/></x:row>`;
      const strings =
        "<si><t>shared</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh sb='0' eb='1'><t>no</t></rPh></si>";
      const path = await writeBook(join(dir, "file"), bookParts(sheet, strings, "x"));
      assert.equal(await readAll(xlsxFile, path), [
        { number: 1, cells: ["shared", null, "rich"], sheet: "S" },
        {
          number: 4,
          sheet: "S",
          cells: [
            "in",
            number("3.56938035643809E+14"),
            true,
            date("2024-01-05"),
            date("2024-01-05 12:00:00"),
            date("2024-01-05"),
            "made",
          ],
        },
      ]);
    });
  });

  test("xlsx: what is no number in a cell of numbers stays the text that it is", async () => {
    await withTempDir(async (dir) => {
      const texts = ["0x10", "1,5", "1e999", "Infinity"];
      const cells = [...texts, "-1.50E-1"].map((text) => `<c><v>${text}</v></c>`).join("");
      const path = await writeBook(join(dir, "file"), bookParts(`<row>${cells}</row>`));
      assert.equal(
        (await readAll(xlsxFile, path)).map((row) => row.cells),
        [[...texts, number("-1.50E-1")]],
      );
    });
  });

  test("xlsx: entities, endless texts, lying sizes, too many columns, no workbook", async () => {
    await withTempDir(async (dir) => {
      const path = join(dir, "file");
      const parts = bookParts("");
      const sheetOf = (text: string) => ({ ...parts, "book/sheets/first.xml": text });
      await writeBook(path, sheetOf('<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet><sheetData/></worksheet>'));
      assert.match(await refusal(xlsxFile, path), /document type/);
      await writeBook(
        path,
        sheetOf("<worksheet><sheetData><row><c><v>&nosuch;</v></c></row></sheetData></worksheet>"),
      );
      assert.match(await refusal(xlsxFile, path), /broken/);
      await writeBook(
        path,
        sheetOf(
          `<worksheet><sheetData><row><c><v>${"9".repeat(6_000_000)}</v></c></row></sheetData></worksheet>`,
        ),
      );
      assert.match(await refusal(xlsxFile, path), /endless|characters/);
      await writeBook(
        path,
        sheetOf('<worksheet><sheetData><row r="1"><c r="ZZ1"><v>1</v></c></row></sheetData></worksheet>'),
      );
      assert.match(await refusal(xlsxFile, path), /columns/);
      await writeBook(
        path,
        sheetOf('<worksheet><sheetData><row r="3"/><row r="2"/></sheetData></worksheet>'),
      );
      assert.match(await refusal(xlsxFile, path), /order/);
      await writeBook(path, sheetOf("<worksheet><sheetData><row>"));
      assert.match(await refusal(xlsxFile, path), /broken/);
      await writeBook(path, { hello: "world" });
      assert.match(await refusal(xlsxFile, path), /no workbook/);
      await writeFile(
        path,
        Buffer.concat([Buffer.from("PK\u0003\u0004"), deflateRawSync("not a zip at all")]),
      );
      assert.match(await refusal(xlsxFile, path), /zip/);
    });
  });

  test("xlsx: what unpacks to more than memory holds is refused as it comes", async () => {
    await withTempDir(async (dir) => {
      const path = join(dir, "file");
      const refusalOf = async (sheet: string, strings = "") =>
        refusal(xlsxFile, await writeBook(path, bookParts(sheet, strings)));
      assert.match(await refusalOf("", "<si/>".repeat(4_000_001)), /more than 4000000 shared texts/);
      assert.match(await refusalOf("<a>".repeat(100_000)), /nested too deeply/);
      const cells = (count: number) => `<row>${'<c t="s"><v>0</v></c>'.repeat(count)}</row>`;
      const large = `<si><t>${"x".repeat(1_000_000)}</t></si>`;
      assert.match(await refusalOf(cells(3), large), /row 1 holds more than/);
      assert.match(await refusalOf(cells(2).repeat(300), large), /the sheet holds more than/);
    });
  });

  test("xlsx: a long text in each of many cells, read in the memory of a transfer's thread, is one at a time", async () => {
    await withTempDir(async (dir) => {
      const rows = '<row><c t="s"><v>0</v></c></row>'.repeat(3000);
      const module = new URL("../../../src/import-export/devices/xlsx-file.js", import.meta.url);
      for (const [text, end] of [
        ["x".repeat(1_000_000), "the sheet holds more than 536870912 characters"],
        // Took half a minute, to be read anew in each cell.
        ["_x0041_".repeat(140_000), "3000 rows"],
      ] as const) {
        const path = await writeBook(join(dir, "file"), bookParts(rows, `<si><t>${text}</t></si>`));
        const script = `import { parentPort } from "node:worker_threads";
          import { xlsxFile } from "${module}";
          let rows = 0;
          try {
            for await (const _ of xlsxFile.read(${JSON.stringify(path)})) rows++;
            parentPort.postMessage(rows + " rows");
          } catch (error) {
            parentPort.postMessage(error.message);
          }`;
        const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
          resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 },
        });
        assert.equal(await once(thread, "message"), [end]);
      }
    });
  });

  test("xlsx: shared texts are distinguished by number, whatever they are", async () => {
    await withTempDir(async (dir) => {
      const all = ["", "a", "设备 😀", "_x0041_", "", "end"];
      const strings = all.map((text) => `<si><t>${text}</t></si>`).join("");
      const row = ["0", "1", "2", "3", "4", "5", "6", "-1", "1.5", "length"]
        .map((index) => `<c t="s"><v>${index}</v></c>`)
        .join("");
      const path = await writeBook(join(dir, "file"), bookParts(`<row>${row}</row>`, strings));
      assert.equal(await readAll(xlsxFile, path), [
        { number: 1, cells: [null, "a", "设备 😀", "A", null, "end"], sheet: "S" },
      ]);
    });
  });

  test("xlsx: an endless number format costs no time", async () => {
    await withTempDir(async (dir) => {
      const parts = bookParts('<row><c s="0"><v>1</v></c></row>');
      const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="${"[".repeat(3_000_000)}"/></numFmts><cellXfs><xf numFmtId="170"/></cellXfs></styleSheet>`;
      const path = await writeBook(join(dir, "file"), { ...parts, "book/styles.xml": styles });
      const spent = cpuTime();
      assert.equal(await readAll(xlsxFile, path), [{ number: 1, cells: [number("1")], sheet: "S" }]);
      assert.ok(spent() < 20_000);
    });
  });

  test("names of columns, dates and escapes", () => {
    for (const [index, text] of [
      [0, "A"],
      [25, "Z"],
      [26, "AA"],
      [701, "ZZ"],
      [702, "AAA"],
    ] as const) {
      assert.is(columnName(index), text);
      assert.is(columnIndex(`${text}12`), index);
    }
    assert.is(columnIndex("12"), null);
    assert.is(dateText(0, true), "1904-01-01");
    assert.is(dateText(61, false), "1900-03-01");
    assert.is(dateText(-1, false), null);
    assert.ok(isDateFormat(14, undefined));
    assert.not(isDateFormat(2, undefined));
    assert.ok(isDateFormat(170, "[$-407]d/m/yyyy"));
    assert.not(isDateFormat(171, '0.00" days"'));
    assert.not(isDateFormat(172, "[Red]0.00"));
    assert.is(unescapeText(escapeText("_x0041_\u0001")), "_x0041_\u0001");
  });
});
