import { writeFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import yazl from "yazl";

/** Workbooks as other programs make them: shared strings, prefixes, dates, odd part names. */

/** A zip file of these parts. */
export async function zipOf(parts: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, text] of Object.entries(parts)) zip.addBuffer(Buffer.from(text), name);
  zip.end();
  return buffer(zip.outputStream);
}

const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

export const bookParts = (sheet: string, strings = "", prefix = ""): Record<string, string> => {
  const p = prefix === "" ? "" : `${prefix}:`;
  const xmlns = prefix === "" ? "xmlns" : `xmlns:${prefix}`;
  return {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "_rels/.rels": `<Relationships><Relationship Id="x" Type="${office}/officeDocument" Target="/book/main.xml"/></Relationships>`,
    "book/main.xml": `<${p}workbook ${xmlns}="${main}" xmlns:rel="${office}"><${p}sheets><${p}sheet name="S" sheetId="7" rel:id="s9"/></${p}sheets></${p}workbook>`,
    "book/_rels/main.xml.rels": `<Relationships><Relationship Id="t" Type="${office}/sharedStrings" Target="strings.xml"/>
      <Relationship Id="y" Type="${office}/styles" Target="styles.xml"/>
      <Relationship Id="s9" Type="${office}/worksheet" Target="sheets/first.xml"/></Relationships>`,
    "book/styles.xml": `<styleSheet xmlns="${main}"><numFmts><numFmt numFmtId="170" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts>
      <cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>`,
    "book/strings.xml": `<sst xmlns="${main}">${strings}</sst>`,
    "book/sheets/first.xml": `<${p}worksheet ${xmlns}="${main}"><${p}sheetData>${sheet}</${p}sheetData></${p}worksheet>`,
  };
};

export async function writeBook(
  path: string,
  parts: Readonly<Record<string, string | Buffer>>,
): Promise<string> {
  await writeFile(path, await zipOf(parts));
  return path;
}
