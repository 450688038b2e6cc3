/** Files of devices that others have written: openpyxl, Python's codecs, and Excel's XML recorded by hand. */
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deviceNamed, download, ended, exported, importFile } from "../../api/transfer.js";
import { deviceBody, makeDevice, makeProduct, unique } from "../../factories.js";
import { modulesMissing } from "../../programs.js";
import { assert, withTempDir } from "../../suite.js";
import { type Rec, worldSuite } from "../../world.js";
import { bookParts, zipOf } from "./workbooks.js";

const script = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../../../test/import-export/devices/write_files.py",
);
const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const hasPython =
  process.env.CI === "true" || spawnSync(python, ["-c", "import openpyxl, pandas"]).status === 0;

const titles = ["deviceID", "deviceName", "deviceType", "upLinkSystem", "productID", "cloudProtocol"];
const columns = [...titles, "authType", "IMEI", "IMSI", "serialNumber"];
const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
const number = (value: string) => `<c><v>${value}</v></c>`;

worldSuite("files of devices by other programs", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });

  /** A row of XML; `cells` are `<c>` elements by column. */
  const row = (cells: Readonly<Record<string, string>>) => {
    const id = unique("x");
    const plain: Record<string, string> = {
      ...{ deviceID: text(id), deviceName: text(id), deviceType: number("1"), upLinkSystem: number("1") },
      ...{ productID: text(String(product.productID)), cloudProtocol: number("1"), authType: number("1") },
    };
    const all = { ...plain, ...cells };
    return { id, xml: `<row>${columns.map((name) => all[name] ?? "<c/>").join("")}</row>` };
  };
  const head = `<row>${columns.map(text).join("")}</row>`;
  const imported = async (file: string | Uint8Array) => ended(world, await importFile(world, file));
  const book = async (rows: readonly string[], parts: Readonly<Record<string, string>> = {}) =>
    zipOf({ ...bookParts(rows.join("")), ...parts });
  const faultsOf = async (file: Uint8Array) => {
    const status = await imported(file);
    assert.is(status.state, "FAILURE", JSON.stringify(status));
    const list = await (await download(world, String(status.excelPath))).text();
    return list.replace("\uFEFF", "").trim().split("\r\n").slice(1);
  };

  test("digits come as the file has them, in each form that Excel writes", async () => {
    const rows = [
      row({
        IMEI: number("860123000000000"),
        IMSI: number("4.6000123456789E+14"),
        serialNumber: number("12"),
      }),
      row({ IMEI: number("8.60123E+14"), serialNumber: number("1.1000000000000001") }),
      row({ IMEI: number("3569380356438091"), serialNumber: number("12.0") }),
      row({
        IMEI: text("not 15 digits"),
        serialNumber: '<c t="str"><f>A1</f><v>89882806660000547523</v></c>',
      }),
      row({ serialNumber: `<c t="inlineStr"><is><r><t>8988</t></r><r><t>2806</t></r></is></c>` }),
      row({ serialNumber: '<c s="3"><v>42</v></c>' }),
    ];
    const styles = `<styleSheet><numFmts><numFmt numFmtId="171" formatCode="00000"/></numFmts>
      <cellXfs><xf/><xf/><xf/><xf numFmtId="171"/></cellXfs></styleSheet>`;
    const file = await book([head, ...rows.map(({ xml }) => xml)], { "book/styles.xml": styles });
    assert.equal((await imported(file)).msg, { import_success_num: 6 });
    const found = await Promise.all(rows.map(({ id }) => deviceNamed(world, id)));
    assert.equal(
      found.map((one) => [one?.IMEI, one?.IMSI, one?.serialNumber]),
      [
        ["860123000000000", "460001234567890", "12"],
        ["860123000000000", null, "1.1"],
        ["3569380356438091", null, "12"],
        ["not 15 digits", null, "89882806660000547523"],
        [null, null, "89882806"],
        [null, null, "00042"],
      ],
    );
  });

  test("no identity is made of a number without its digits, or of an error", async () => {
    const errors = ["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#SPILL!"];
    const rows = [
      ...errors.map((error) => row({ deviceName: `<c t="e"><v>${error}</v></c>` })),
      row({ deviceID: number("12345678901234567890") }),
      row({ deviceID: number("1.23456789012345E+19") }),
      row({ serialNumber: number("0.30000000000000004") }),
      row({ serialNumber: number("1E-7") }),
      row({ IMEI: text("8.60123E+14") }),
      row({ IMEI: number("8.6012300000000006E+15") }),
      row({ IMEI: number("3569380356438090") }),
      row({ IMEI: number("86012300000000.5") }),
      row({ IMSI: number("46000") }),
      row({ IMSI: '<c t="b"><v>1</v></c>' }),
      row({ deviceID: '<c s="1"><v>45296</v></c>' }),
      row({ serialNumber: '<c><f>A1&amp;"x"</f><v></v></c>' }),
    ];
    const lines = await faultsOf(await book([head, ...rows.map(({ xml }) => xml)]));
    const long =
      "is a number of more than 15 digits, which spreadsheets do not keep: format the column as text";
    assert.equal(lines, [
      ...errors.map((error, i) => `${i + 2},deviceName,holds the spreadsheet's error ${error}`),
      `10,deviceID,"${long}"`,
      `11,deviceID,"${long}"`,
      `12,serialNumber,"${long}"`,
      '13,serialNumber,"is a number in scientific form, 1e-7: format the column as text"',
      "14,IMEI,is a number whose digits are lost: format the column as text",
      `15,IMEI,"${long}"`,
      `16,IMEI,"${long}"`,
      "17,IMEI,must be 14 to 16 whole digits: format the column as text",
      "18,IMSI,must be 14 to 16 whole digits: format the column as text",
      '19,IMSI,"is TRUE or FALSE, no text: format the column as text"',
      '20,deviceID,"is a date, no text: format the column as text"',
      "21,serialNumber,holds a formula without its result: save the file in a spreadsheet program",
    ]);
  });

  test("the first visible sheet is read; a wrong one is named", async () => {
    const { id, xml } = row({});
    const parts = bookParts(head + xml);
    const sheet = (name: string, rel: string, state: string) =>
      `<sheet name="${name}" sheetId="1" state="${state}" rel:id="${rel}"/>`;
    const bookOf = (sheets: string) => ({
      ...parts,
      "book/main.xml": `<workbook xmlns:rel="r"><sheets>${sheets}</sheets></workbook>`,
      "book/_rels/main.xml.rels": `<Relationships><Relationship Id="c" Type="t/chartsheet" Target="sheets/chart.xml"/>
        <Relationship Id="o" Type="t/worksheet" Target="sheets/other.xml"/>
        <Relationship Id="d" Type="t/worksheet" Target="sheets/first.xml"/></Relationships>`,
      "book/sheets/chart.xml": "<chartsheet/>",
      "book/sheets/other.xml": `<worksheet><sheetData><row>${text("Fill in Devices")}</row></sheetData></worksheet>`,
    });
    const bad = await imported(
      await zipOf(bookOf(sheet("README", "o", "visible") + sheet("D", "d", "visible"))),
    );
    assert.match(String(bad.msg), /^sheet "README", row 1: columns are missing: .* first visible sheet$/);
    const none = await importFile(world, await zipOf(bookOf(sheet("D", "d", "hidden"))));
    assert.match(none.text, /no sheet of cells that is visible/);
    const sheets = ["hidden", "veryHidden"].map((state) => sheet(state, "o", state)).join("");
    const good = bookOf(sheets + sheet("Chart", "c", "visible") + sheet("D", "d", "visible"));
    assert.equal((await imported(await zipOf(good))).msg, { import_success_num: 1 });
    assert.is((await deviceNamed(world, id))?.deviceName, id);
  });

  test("columns in any order and case; others are passed over and named", async () => {
    const device = deviceBody(product);
    const names = Object.keys(device).reverse();
    const cells = names.map((name) => String(device[name as keyof typeof device]));
    const csv = (...rows: readonly (readonly string[])[]) => rows.map((one) => one.join(",")).join("\n");
    const title = names.map((name) => ` ${name.toUpperCase()}`);
    const extra = await imported(csv([...title, "Remarks", "empty", ""], [...cells, "roof", "", "note"]));
    assert.equal(extra.msg, {
      import_success_num: 1,
      ignored_columns: ["Remarks", `column ${names.length + 3}`],
    });
    const shifted = await imported(csv(title, [...cells.slice(0, 2), "a stray comma", ...cells.slice(2)]));
    assert.match(String(shifted.msg), /^row 2, column .* errors in all$/);
    const twice = await importFile(world, csv([...title, names[0] ?? ""], cells));
    assert.match(twice.text, /is there twice/);
    const { xml } = row({});
    const noted = await imported(await book([head, xml.replace("</row>", `<c r="M2"><v>3</v></c></row>`)]));
    assert.equal(noted.msg, { import_success_num: 1, ignored_columns: ["column 13"] });
  });

  test("in CSV, the errors of a spreadsheet and numbers without their digits are refused too", async () => {
    const lines = await faultsOf(
      Buffer.from(
        [
          "deviceID;deviceName;deviceType;upLinkSystem;productID;cloudProtocol;authType;IMEI;latitude",
          `${unique("c")};#REF!;1;1;${product.productID};1;1;8,60123E+14;54,5`,
          `${unique("c")};fine, with a comma;1;1;${product.productID};1;1;;1,234,5`,
        ].join("\r\n"),
      ),
    );
    assert.equal(lines, [
      "2,deviceName,holds the spreadsheet's error #REF!",
      "2,IMEI,is a number whose digits are lost: format the column as text",
      "3,latitude,must be a number",
    ]);
  });

  test("an export is imported again unchanged", async () => {
    const own = await makeProduct(world);
    const bodies = Array.from({ length: 3 }, (_, i) =>
      makeDevice(world, own, {
        serialNumber: ["89882806660000547523", "0012", "1,5"][i] ?? "",
        IMEI: ["860123000000000", "001", "x"][i] ?? "",
        deviceName: unique(["=1+1", "12", "TRUE"][i] ?? ""),
        softVersion: "1.10",
        latitude: -12.25,
      }),
    );
    await Promise.all(bodies);
    for (const format of ["xlsx", "csv"]) {
      const file = await exported(world, `format=${format}&productID=${own.productID}`);
      const before = (await world.call("GET", `/api/v1/devices?productID=${own.productID}`)).page.items;
      const ids = before.map((one) => String(one.id)).join();
      assert.is((await world.call("DELETE", `/api/v1/devices?ids=${ids}`)).status, 204);
      assert.equal((await imported(file)).msg, { import_success_num: 3 });
      const after = (await world.call("GET", `/api/v1/devices?productID=${own.productID}`)).page.items;
      const lasting = (all: readonly Rec[]) =>
        all
          .map(({ id: _, createAt: __, updateAt: ___, ...rest }) => rest)
          .sort((a, b) => String(a.deviceID).localeCompare(String(b.deviceID)));
      assert.equal(lasting(after), lasting(before), format);
    }
  });

  const byPython = () =>
    withTempDir(async (dir) => {
      const mark = unique("py");
      const args = [script, dir, String(product.productID), mark];
      const { status, stderr } = spawnSync(python, args, { encoding: "utf8" });
      assert.is(status, 0, stderr);
      const read = (name: string) => readFile(join(dir, name));
      assert.equal((await imported(await read("good.xlsx"))).msg, {
        import_success_num: 2,
        ignored_columns: ["Remarks", "column 16"],
      });
      const good = await deviceNamed(world, `${mark}-good`);
      assert.equal(
        [
          good?.IMEI,
          good?.IMSI,
          good?.serialNumber,
          good?.softVersion,
          good?.hardwareVersion,
          good?.latitude,
        ],
        ["860123000000000", "460001234567890", "89882806660000547523", "1.1", "12", 54.6872],
      );
      assert.is((await deviceNamed(world, `${mark}-padded`))?.serialNumber, "000012");
      const faults = await faultsOf(await read("wrong.xlsx"));
      assert.equal(
        faults.map((line) => line.split(",").slice(0, 2).join(" ")),
        [
          ...["2 deviceID", "3 serialNumber", "4 deviceName", "5 IMEI", "6 IMEI", "7 serialNumber", "8 IMSI"],
          "9 IMEI",
        ],
      );
      // `54,6872` is a number with a decimal comma only beside semicolons.
      for (const name of ["tabs.csv", "bars.csv"]) {
        const columns = (await faultsOf(await read(name))).map((line) => line.split(",")[1]);
        assert.equal(columns, ["latitude"], name);
      }
      for (const name of ["semicolons.csv", "big-endian.csv"]) {
        assert.equal((await imported(await read(name))).msg, { import_success_num: 2 }, name);
        const comma = await deviceNamed(world, `${mark}-${name}-0`);
        assert.equal([comma?.latitude, comma?.softVersion], [54.6872, "1,5"], name);
        const accent = await deviceNamed(world, `${mark}-${name}-1`);
        assert.is(accent?.deviceName, `${mark} Zürich 设备 ${name}`);
      }
    });
  const pythonName = "workbooks by openpyxl and CSV by Python's codecs";
  if (hasPython) test(pythonName, byPython);
  else test.skip(pythonName, modulesMissing("openpyxl", "pandas"));
});
