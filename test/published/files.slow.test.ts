/** Faults published of readers of zip, XML, xlsx, CSV and multipart, each replayed in kind through the imports. */
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { csvType, imported, send } from "../api/history.js";
import { ended, formOf, formType, importFile, type TaskStatus } from "../api/transfer.js";
import { deviceBody } from "../factories.js";
import { bookParts, zipOf } from "../import-export/devices/workbooks.js";
import { assert, cpuTime, until } from "../suite.js";
import type { Rec, Reply } from "../world.js";
import { publishedSuite } from "./support.js";

type Parts = Readonly<Record<string, string | Buffer>>;

const sheet = "book/sheets/first.xml";
const day = "2024-03-01T00:00:00Z";
const boundary = "b";
const multipart = { "Content-Type": `multipart/form-data; boundary=${boundary}` };

/** A row of cells with texts of their own. */
const row = (...cells: readonly string[]) =>
  `<row>${cells.map((cell) => `<c t="inlineStr"><is><t>${cell}</t></is></c>`).join("")}</row>`;

publishedSuite("files", (test, world, scene) => {
  /** Imports the workbook; it must fail with a reason, at once or as a task. */
  async function refusedBook(file: Uint8Array): Promise<string> {
    const reply = await importFile(world, file);
    if (reply.status !== 202) {
      assert.ok([400, 413, 415, 422].includes(reply.status), `${reply.status} ${reply.text}`);
      return reply.text;
    }
    const { state, msg } = await ended(world, reply);
    assert.is(state, "FAILURE", JSON.stringify(msg));
    assert.not.ok(JSON.stringify(msg).includes("root:"));
    return String(msg);
  }
  const refusedParts = async (parts: Parts) => refusedBook(await zipOf(parts));
  const upload = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = multipart) =>
    world.call("POST", "/api/v1/devices_import", body, { headers });
  const notTaken = ({ status, text }: Reply) => assert.ok(status >= 400 && status < 500, `${status} ${text}`);
  const unpolluted = () =>
    assert.equal([({} as Rec).polluted, Object.keys(Object.prototype)], [undefined, []]);

  for (const [title, entity] of [
    ["CVE-2017-5644 (Apache POI): entities within entities", '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">'],
    ["CVE-2017-5992 (openpyxl): an entity that is a file", '<!ENTITY b SYSTEM "file:///etc/passwd">'],
    ["CVE-2019-12415 (Apache POI): an entity from an address", '<!ENTITY b SYSTEM "http://127.0.0.1:1/">'],
    ["CVE-2026-26278 (fast-xml-parser): one entity, many times", `<!ENTITY b "${"x".repeat(60_000)}">`],
    [
      "CVE-2023-34104 (fast-xml-parser): an entity named like an expression",
      '<!ENTITY a.*+b "x"><!ENTITY b "y">',
    ],
  ] as const) {
    test(`${title} is a document type, which no sheet may have`, async () => {
      const cells = row("deviceID", "&b;".repeat(title.includes("many times") ? 10_000 : 1));
      const parts = bookParts(cells);
      const msg = await refusedParts({ ...parts, [sheet]: `<!DOCTYPE x [${entity}]>${parts[sheet]}` });
      assert.match(msg, /document type/);
    });
  }

  for (const [title, name] of [
    ["CVE-2018-1002204 (adm-zip): a part named with double dots", "../../../../tmp/tidemark-slip"],
    ["CVE-2018-1002203 (unzipper): a part named with backslashes", "..\\..\\tidemark-slip"],
  ] as const) {
    test(`${title} is written nowhere`, async () => {
      const before = await readdir("/tmp");
      const file = await zipOf({ ...bookParts(row("deviceID")), [name.replaceAll(/[./\\]/g, "z")]: "x" });
      // The name has the same length as the harmless one, since yazl itself writes no such part.
      const swapped = Buffer.from(
        file.toString("latin1").replaceAll(name.replaceAll(/[./\\]/g, "z"), name),
        "latin1",
      );
      await refusedBook(swapped);
      assert.equal(
        (await readdir("/tmp")).filter((one) => one.includes("slip") && !before.includes(one)),
        [],
      );
    });
  }

  test("CVE-2021-23413 (JSZip): parts named like properties of every object are parts like others", async () => {
    const names = ["__proto__", "toString", "constructor", "hasOwnProperty", "__proto__/polluted"];
    await refusedParts({
      ...bookParts(row("no", "such")),
      ...Object.fromEntries(names.map((one) => [one, "x"])),
    });
    unpolluted();
  });

  test("CVE-2019-13232 (UnZip): a part that unpacks to a thousand times its size ends at its bound", async () => {
    const bomb = `<row><c t="inlineStr"><is><t>${"0".repeat(64 << 20)}</t></is></c></row>`;
    await refusedParts(bookParts(bomb));
  });

  test("CVE-2026-31988 (yauzl): extra fields of an entry that end in the middle are refused, or nobody's matter", async () => {
    const good = await zipOf(bookParts(row("deviceID")));
    // Each directory entry gets an extra field that is too short for its length, or one of NTFS with no bytes after it.
    for (const extra of ["0a00", "0a000000", "0a00040000000000", "0a002000000000000100", "5455ffff"]) {
      await refusedBook(withExtra(good, Buffer.from(extra, "hex")));
    }
  });

  test("CVE-2023-30533 (SheetJS): headers and cells named __proto__ change no object", async () => {
    await refusedParts(bookParts(row("__proto__", "deviceID") + row('{"polluted":1}', "x")));
    await refusedBook(Buffer.from('__proto__,deviceID\r\n"{""polluted"":1}",x\r\n'));
    const body = deviceBody(scene.product, { metaData: '{"__proto__":{"polluted":1}}' });
    await importFile(world, Buffer.from(csv(body)));
    unpolluted();
  });

  test("CVE-2023-26920 (fast-xml-parser): tags and attributes named __proto__ change no object", async () => {
    const parts = bookParts(`<__proto__ polluted="1"><polluted>1</polluted></__proto__>${row("no")}`);
    const rels = String(parts["book/_rels/main.xml.rels"]).replace(
      "<Relationship ",
      '<Relationship __proto__="x" ',
    );
    await refusedParts({ ...parts, "book/_rels/main.xml.rels": rels });
    unpolluted();
  });

  test("CVE-2023-0842 (xml2js): ids named like properties of every object name no part", async () => {
    for (const id of ["__proto__", "constructor", "toString"]) {
      const parts = bookParts(row("deviceID"));
      const book = String(parts["book/main.xml"]).replace('rel:id="s9"', `rel:id="${id}"`);
      assert.match(await refusedParts({ ...parts, "book/main.xml": book }), /no sheet/);
    }
    unpolluted();
  });

  test("CVE-2024-22363 (SheetJS): number formats made to backtrack cost no time", async () => {
    const formats = [
      '"'.repeat(200_000),
      "[".repeat(200_000),
      `${"\\ ".repeat(100_000)}y`,
      `[${"h".repeat(100_000)}`,
    ];
    const codes = formats.map(
      (code, i) => `<numFmt numFmtId="${170 + i}" formatCode="${code.replaceAll('"', "&quot;")}"/>`,
    );
    const xfs = formats.map((_, i) => `<xf numFmtId="${170 + i}"/>`).join("");
    const styles = `<styleSheet><numFmts>${codes.join("")}</numFmts><cellXfs>${xfs}</cellXfs></styleSheet>`;
    const spent = cpuTime();
    await refusedParts({ ...bookParts(row("no")), "book/styles.xml": styles });
    const ms = spent();
    assert.ok(ms < 4000, `${ms} ms`);
  });

  test("CVE-2024-41818 (fast-xml-parser): long texts that are nearly a number cost no time", async () => {
    const spent = cpuTime();
    for (const cell of [`${"1".repeat(60_000)}x`, `¢${"\t".repeat(60_000)}1`, `${"0.".repeat(30_000)}`]) {
      await refusedParts(bookParts(row("deviceID", "longitude") + row("a", cell)));
    }
    const ms = spent();
    assert.ok(ms < 4000, `${ms} ms`);
  });

  for (const [title, dimension] of [
    ["CVE-2021-32012 (SheetJS): a dimension of every cell that there is", '<dimension ref="A1:XFD1048576"/>'],
    [
      "CVE-2021-32013 (SheetJS): a merge of every cell that there is",
      '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
    ],
  ] as const) {
    test(`${title} makes no cells`, async () => {
      const parts = bookParts(row("no", "such", "header"));
      const text = String(parts[sheet]).replace("<sheetData>", `${dimension}<sheetData>`);
      const before = process.memoryUsage().rss;
      await refusedParts({ ...parts, [sheet]: text });
      const far = `<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>deviceID</t></is></c></row>`;
      await refusedParts(bookParts(row("deviceID") + far));
      assert.ok(process.memoryUsage().rss - before < 300e6);
    });
  }

  test("CVE-2020-36649 (Papa Parse): columns of a CSV that are nearly numbers cost no time", async () => {
    const device = await scene.device();
    const near = [`${"1".repeat(50_000)}x`, `-${"0".repeat(50_000)}e`, `${" ".repeat(50_000)}x`];
    const file = [
      "deviceID,dataPointID,time,value",
      ...near.map((one) => `${device.deviceID},temp,${day},${one}`),
    ];
    const spent = cpuTime();
    const { import_failure_num } = await imported(world, file.join("\n"));
    assert.is(import_failure_num, near.length);
    const ms = spent();
    assert.ok(ms < 4000, `${ms} ms`);
  });

  test("CVE-2019-17592 (csv-parse): times and ids that are nearly integers cost no time", async () => {
    const device = await scene.device();
    const near = `${"9".repeat(50_000)}!`;
    const rows = [
      `${device.deviceID},temp,${near},1`,
      `${near},temp,${day},1`,
      `${device.deviceID},${near},${day},1`,
    ];
    const spent = cpuTime();
    const { import_failure_num } = await imported(
      world,
      ["deviceID,dataPointID,time,value", ...rows].join("\n"),
    );
    assert.is(import_failure_num, rows.length);
    const ms = spent();
    assert.ok(ms < 4000, `${ms} ms`);
  });

  test("CVE-2022-24434 (dicer): headers of a part that are malformed end the request, not the process", async () => {
    for (const head of [
      'Content-Disposition: form-data; name="file"; filename="a"\r\n  folded\r\n: x\r\n',
      "\r\r\r\r",
      ": form-data\r\n",
      "Content-Disposition\r\n",
      "Content-Disposition: form-data; name*=x''%ff%; filename*=UTF-8''%%%\r\n",
      `${"X".repeat(100_000)}: y\r\n`,
    ]) {
      notTaken(await upload(`--${boundary}\r\n${head}\r\n\r\nx\r\n--${boundary}--\r\n`));
    }
  });

  test("CVE-2023-25576 (@fastify/multipart): parts are counted, and the first beyond the bound ends the form", async () => {
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n`;
    notTaken(await upload(`${part.repeat(1000)}--${boundary}--\r\n`));
    const file = part.replace('name="x"', 'name="x"; filename="y"');
    notTaken(await upload(`${file.repeat(800)}--${boundary}--\r\n`));
  });

  test("CVE-2020-8136 (fastify-multipart): fields named like properties of every object change none", async () => {
    for (const name of ["__proto__", "constructor", "toString", "__proto__[polluted]"]) {
      notTaken(
        await upload(
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n--${boundary}--\r\n`,
        ),
      );
    }
    unpolluted();
  });

  for (const [title, bytes] of [
    ["CVE-2025-24033 (@fastify/multipart): of an upload that is broken off", 200_000],
    ["CVE-2025-47935 (multer): of uploads that are broken off early", 10],
  ] as const) {
    test(`${title} no file stays, and no open one`, async () => {
      const files = async () => (await readdir(world.dataDir, { recursive: true })).filter(isSpool).length;
      const descriptors = async () => (await readdir("/proc/self/fd")).length;
      const before = [await files(), await descriptors()];
      for (let i = 0; i < 15; i++) await breakOff(bytes);
      await until(async () => (await files()) <= Number(before[0]), { what: "the files to go" });
      await until(async () => (await descriptors()) <= Number(before[1]) + 2, {
        what: "the descriptors to go",
      });
    });
  }

  test("CVE-2025-47944 (multer): a form whose field has no closing quote, or no end, is refused", async () => {
    for (const form of [
      `--${boundary}\r\nContent-Disposition: form-data; name="file\r\n\r\nx\r\n--${boundary}--\r\n`,
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx`,
      `--${boundary}\r\n`,
      `--${boundary}--`,
      boundary,
      "",
    ]) {
      notTaken(await upload(form));
    }
  });

  test("CVE-2025-48997 (multer): a file in a field whose name is empty is not the file", async () => {
    const form = `--${boundary}\r\nContent-Disposition: form-data; name=""; filename="a"\r\n\r\nx\r\n--${boundary}--\r\n`;
    const reply = await upload(form);
    assert.is(reply.status, 400);
    assert.ok(reply.failure.errors.file, reply.text);
  });

  test("CVE-2025-7338 (multer): a file sent in a field that is none, twice, or without its headers, is refused", async () => {
    const head = 'Content-Disposition: form-data; name="file"';
    for (const [parts, type] of [
      [`${head}\r\n\r\nx`, multipart["Content-Type"]],
      ["\r\n\r\nx", multipart["Content-Type"]],
      [`${head}; filename="a"\r\n\r\nx`, "multipart/form-data"],
      [`${head}; filename="a"\r\n\r\nx`, "multipart/form-data; boundary="],
      [`${head}; filename="a"\r\n\r\nx`, `multipart/form-data; boundary=${"b".repeat(70_000 >> 2)}`],
    ] as const) {
      notTaken(await upload(`--${boundary}\r\n${parts}\r\n--${boundary}--\r\n`, { "Content-Type": type }));
    }
  });

  test("what is read well is still taken", async () => {
    const body = deviceBody(scene.product);
    const status: TaskStatus = await ended(world, await importFile(world, csv(body)));
    assert.is(status.state, "SUCCESS", JSON.stringify(status));
    const points = `deviceID,dataPointID,time,value\n${body.deviceID},temp,${day},1`;
    assert.is((await ended(world, await send(world, points, csvType))).state, "SUCCESS");
  });

  /** Declares a megabyte, sends the form's head and so many bytes of the file, and goes. */
  async function breakOff(bytes: number): Promise<void> {
    const { hostname, port } = new URL(world.http);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    await new Promise((resolve) => socket.once("connect", resolve));
    const form = formOf("x".repeat(bytes)).subarray(0, -40);
    socket.write(
      `POST /api/v1/devices_import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.first.apiKey}\r\nContent-Type: ${formType}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    await new Promise((resolve) => socket.write(form, resolve));
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.resetAndDestroy();
  }
});

const isSpool = (path: string): boolean => /upload|spool|import|tasks\/.+/.test(path);

function csv(record: object): string {
  const cells = Object.values(record).map((value) => `"${String(value).replaceAll('"', '""')}"`);
  return `${Object.keys(record).join()}\r\n${cells.join()}\r\n`;
}

/** The same zip file with these bytes as the extra field of each entry of its directory. */
function withExtra(zip: Buffer, extra: Buffer): Buffer {
  const end = zip.length - 22;
  const start = zip.readUInt32LE(end + 16);
  const entries: Buffer[] = [];
  for (let at = start; at < end; ) {
    const [name, old, comment] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const head = Buffer.from(zip.subarray(at, at + 46 + name));
    head.writeUInt16LE(extra.length, 30);
    head.writeUInt16LE(0, 32);
    entries.push(head, extra);
    at += 46 + name + old + comment;
  }
  const directory = Buffer.concat(entries);
  const tail = Buffer.from(zip.subarray(end));
  tail.writeUInt32LE(directory.length, 12);
  return Buffer.concat([zip.subarray(0, start), directory, tail]);
}
