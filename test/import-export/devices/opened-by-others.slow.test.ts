/** Every workbook that we write, opened by programs of others: openpyxl, pandas, and LibreOffice where it is. */
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parse } from "csv-parse/sync";
import { columnNames } from "../../../src/import-export/devices/device-columns.js";
import { exported } from "../../api/transfer.js";
import { makeDevice, makeProduct, unique } from "../../factories.js";
import { modulesMissing, programMissing } from "../../programs.js";
import { assert, withTempDir } from "../../suite.js";
import { type Rec, worldSuite } from "../../world.js";
import { faultsOf } from "./ecma-376.js";

/** The compiled test stands below dist; the sources beside package.json. */
const script = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../../../test/import-export/devices/read_workbook.py",
);
const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const inCi = process.env.CI === "true";
const hasPython = inCi || spawnSync(python, ["-c", "import openpyxl, pandas"]).status === 0;
const noOffice = programMissing("soffice");

type Cells = readonly (string | number | boolean | null)[];

/** What each reader of Python found. @throws Error with what it said, if it could not */
function readByPython(path: string): Record<string, Cells[]> {
  const { status, stdout, stderr } = spawnSync(python, [script, path], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot read the workbook: ${stderr}`);
  return JSON.parse(stdout) as Record<string, Cells[]>;
}

/** The sheet as LibreOffice writes it to CSV, each cell as the text that it shows. */
async function readByOffice(path: string): Promise<Cells[]> {
  const dir = dirname(path);
  const profile = join(dir, "profile");
  await mkdir(profile);
  // Comma, quote, UTF-8, every text quoted, and values rather than how the cell shows them.
  const filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,false,false";
  const { status, stderr, stdout } = spawnSync(
    "soffice",
    [
      `-env:UserInstallation=${pathToFileURL(profile)}`,
      ...["--headless", "--convert-to", filter, "--outdir", dir, path],
    ],
    { encoding: "utf8", timeout: 110_000 },
  );
  assert.is(status, 0, `${stdout}${stderr}`);
  const csv = await readFile(path.replace(/\.xlsx$/, ".csv"), "utf8");
  return parse(csv, { relax_column_count: true }) as string[][];
}

/** openpyxl leaves the `_xHHHH_` of 22.9.2.19 as they stand. */
function unescaped(rows: readonly Cells[]): Cells[] {
  const undo = (_: string, code: string) => String.fromCharCode(Number.parseInt(code, 16));
  return rows.map((cells) =>
    cells.map((cell) => (typeof cell === "string" ? cell.replaceAll(/_x([0-9A-F]{4})_/g, undo) : cell)),
  );
}

worldSuite("workbooks in other programs", (test, world) => {
  let books: { readonly name: string; readonly bytes: Buffer; readonly rows: readonly Cells[] }[] = [];

  test.before(async () => {
    const product = await makeProduct(world);
    const plain = await makeDevice(world, product);
    const odd = await makeDevice(world, product, {
      deviceName: "=cmd|' /C calc'!A0",
      manufacturer: "+49 'x",
      serialNumber: "00123",
      softVersion: "-1",
      description: 'two\r\nlines, "quoted" _x0041_ 😀 <设备> & co',
      hardwareVersion: " NA ",
      latitude: -12.25,
      longitude: 7.1,
      carrier: 3,
      IMEI: "356938035643809",
      IMSI: "001",
      deviceUsername: unique("user"),
      token: "=secret'\t",
      deviceConsolePort: 2222,
      upLinkSystem: 3,
      parentDevice: plain.id,
      location: { floor: 3, text: "=x" },
      metaData: ["a", 1, null, { b: true }],
      scopes: [{ scopeType: 1, scopeName: "yard", center: [7, -12], radius: 50 }],
    });
    const records = await Promise.all(
      [plain, odd].map(async ({ id }) => (await world.call("GET", `/api/v1/devices/${id}`)).record),
    );
    const template = await fetch(`${world.http}/api/v1/devices_template?format=xlsx`, {
      headers: { Authorization: `Bearer ${world.first.apiKey}` },
    });
    books = [
      {
        name: "export",
        bytes: await exported(world, `format=xlsx&productID=${product.productID}`),
        rows: [columnNames, ...records.map((record) => cellsOf(record, plain))],
      },
      { name: "template", bytes: Buffer.from(await template.arrayBuffer()), rows: [columnNames] },
    ];
  });

  async function eachBook(look: (path: string, rows: readonly Cells[], name: string) => unknown) {
    assert.is(books.length, 2);
    for (const { name, bytes, rows } of books) {
      await withTempDir(async (dir) => {
        const path = join(dir, `${name}.xlsx`);
        await writeFile(path, bytes);
        await look(path, rows, name);
      });
    }
  }

  test("elements stand in the order of ECMA-376, and every reference leads somewhere", () =>
    eachBook(async (path, _, name) => assert.equal(await faultsOf(path), [], name)));

  const byPython = () =>
    eachBook((path, rows, name) => {
      const found = readByPython(path);
      assert.is(Object.keys(found).length, 3);
      for (const [reader, cells] of Object.entries(found)) {
        assert.equal(unescaped(cells), rows, `${name}, ${reader}`);
      }
    });
  const pythonName = "openpyxl and pandas read every cell, without a warning";
  if (hasPython) test(pythonName, byPython);
  else test.skip(pythonName, modulesMissing("openpyxl", "pandas"));

  const byOffice = () =>
    eachBook(async (path, rows, name) => {
      const shown = rows.map((cells) => cells.map((cell) => (cell === null ? "" : String(cell))));
      // A line break within a cell is one character there.
      const expected = shown.map((cells) => cells.map((cell) => cell.replaceAll("\r\n", "\n")));
      assert.equal(await readByOffice(path), expected, name);
    });
  const officeName = "LibreOffice shows every cell";
  if (noOffice === null) test(officeName, byOffice);
  else test.skip(officeName, noOffice);
});

/** A device's row, from the record of the interface. */
function cellsOf(record: Rec, parent: Rec): Cells {
  return columnNames.map((name) => {
    const value = name === "parentDevice" && record.parentDevice !== null ? parent.deviceID : record[name];
    if (value === undefined || value === null) return null;
    return typeof value === "object" ? JSON.stringify(value) : (value as string | number);
  });
}
