import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import yazl from "yazl";
import { type DiskClaim, guardClaim } from "../../http/disk-space.js";
import type { Cell } from "./table-file.js";
import { columnName, escapeText } from "./xlsx-cells.js";

/**
 * A workbook of one sheet, written as its rows arrive. Texts are in their cells, so the writer need not remember any.
 */

const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const packaged = "http://schemas.openxmlformats.org/package/2006";
const types = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

const relation = (id: string, kind: string, target: string) =>
  `<Relationship Id="${id}" Type="${office}/${kind}" Target="${target}"/>`;

const parts: Readonly<Record<string, string>> = {
  "[Content_Types].xml": `<Types xmlns="${packaged}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${types}.worksheet+xml"/>
<Override PartName="/xl/styles.xml" ContentType="${types}.styles+xml"/></Types>`,
  "_rels/.rels": `<Relationships xmlns="${packaged}/relationships">${relation("r1", "officeDocument", "xl/workbook.xml")}</Relationships>`,
  "xl/_rels/workbook.xml.rels": `<Relationships xmlns="${packaged}/relationships">${relation("r1", "worksheet", "worksheets/sheet1.xml")}${relation("r2", "styles", "styles.xml")}</Relationships>`,
  // Style 1 is text: input typed into such a column, 0012 say, stays as typed. Every format that a style refers to is
  // written out, and the first two fills are the two that spreadsheets take for granted.
  "xl/styles.xml": `<styleSheet xmlns="${main}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>
<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
};

function workbook(sheet: string): string {
  return `<workbook xmlns="${main}" xmlns:r="${office}"><bookViews><workbookView/></bookViews><sheets><sheet name="${escapeText(sheet)}" sheetId="1" r:id="r1"/></sheets></workbook>`;
}

interface Sheet {
  readonly name: string;
  readonly header: readonly string[];
  readonly rows: AsyncIterable<readonly Cell[]>;
}

/** @param room as for every format */
export async function writeXlsx(path: string, sheet: Sheet, room?: DiskClaim): Promise<void> {
  const zip = new yazl.ZipFile();
  const failed = new Promise<never>((_, reject) => zip.once("error", reject));
  for (const [name, text] of Object.entries(parts)) zip.addBuffer(Buffer.from(xml + text), name);
  zip.addBuffer(Buffer.from(xml + workbook(sheet.name)), "xl/workbook.xml");
  zip.addReadStream(Readable.from(sheetXml(sheet)), "xl/worksheets/sheet1.xml");
  zip.end();
  const through = room === undefined ? [] : [guardClaim(room)];
  await Promise.race([pipeline([zip.outputStream, ...through, createWriteStream(path)]), failed]);
}

const charactersPerChunk = 65_536;

async function* sheetXml({ header, rows }: Sheet): AsyncGenerator<Buffer> {
  const columns = header.map(
    (_, i) => `<col min="${i + 1}" max="${i + 1}" width="18" style="1" customWidth="1"/>`,
  );
  const frozen = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  let text = `${xml}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0">${frozen}</sheetView></sheetViews><cols>${columns.join("")}</cols><sheetData>`;
  const letters = header.map((_, i) => columnName(i));
  text += rowXml(1, header, letters);
  let number = 1;
  for await (const cells of rows) {
    number++;
    text += rowXml(number, cells, letters);
    if (text.length < charactersPerChunk) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(`${text}</sheetData></worksheet>`);
}

function rowXml(number: number, cells: readonly Cell[], letters: readonly string[]): string {
  let text = `<row r="${number}">`;
  for (const [i, cell] of cells.entries()) {
    if (cell === null) continue;
    const at = `<c r="${letters[i]}${number}"`;
    if (typeof cell === "string") {
      text += `${at} s="1" t="inlineStr"><is><t xml:space="preserve">${escapeText(cell)}</t></is></c>`;
    } else if (typeof cell === "number") text += `${at}><v>${cell}</v></c>`;
    else text += `${at} t="b"><v>${cell ? 1 : 0}</v></c>`;
  }
  return `${text}</row>`;
}
