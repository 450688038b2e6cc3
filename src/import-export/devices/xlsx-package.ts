import { posix } from "node:path";
import type { Readable } from "node:stream";
import yauzl from "yauzl";
import { FormatError } from "../format-error.js";
import { isDateFormat, leadingZeros } from "./xlsx-cells.js";
import { readXml } from "./xml-events.js";

/** A workbook's zip file: its parts by name, each with a bound on its unpacked size. */
export interface XlsxPackage {
  has(name: string): boolean;
  /** The most bytes that the part may unpack to. @throws FormatError if there is no such part */
  bytesOf(name: string): number;
  /** @throws FormatError if there is no such part or it is larger than `bytesMax` */
  open(name: string, bytesMax: number): Promise<Readable>;
  close(): void;
}

const entriesMax = 10_000;
const smallPartBytesMax = 4 * 1024 * 1024;
/** Longer than any spreadsheet takes; recognizing dates is slow for much longer formats. */
const formatCharactersMax = 1024;
/** The longest sheet name in messages; spreadsheets allow 31. */
const sheetNameCharactersMax = 100;

/** @throws FormatError */
export async function openPackage(path: string): Promise<XlsxPackage> {
  const broken = (error: unknown) => {
    if (error instanceof FormatError) throw error;
    const cause = error instanceof Error ? error.message : String(error);
    throw new FormatError(`the workbook's zip file is broken: ${cause}`, { cause: error });
  };
  const zip = await yauzl.openPromise(path, { lazyEntries: true, autoClose: false }).catch(broken);
  const entries = new Map<string, yauzl.Entry>();
  try {
    if (zip.entryCount > entriesMax) throw new FormatError("the workbook has too many parts");
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
  } catch (error) {
    zip.close();
    return broken(error);
  }
  const find = (name: string): yauzl.Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw new FormatError(`the workbook has no ${name}`);
    return entry;
  };
  return {
    has: (name) => entries.has(name),
    bytesOf: (name) => find(name).uncompressedSize,
    // The reader ends with an error if a part unpacks to more than it declares.
    open: async (name, bytesMax) => {
      const entry = find(name);
      if (entry.uncompressedSize > bytesMax) throw new FormatError(`the workbook's ${name} is too large`);
      if (!entry.canDecodeFileData()) throw new FormatError("the workbook is encrypted");
      return zip.openReadStreamPromise(entry).catch(broken);
    },
    close: () => zip.close(),
  };
}

export interface Workbook {
  /** Part names. */
  readonly sheet: string;
  readonly sheetName: string;
  readonly sharedStrings: string | null;
  readonly since1904: boolean;
  /** By style number. */
  readonly styles: readonly NumberStyle[];
}

/** How a style shows numbers. */
interface NumberStyle {
  readonly isDate: boolean;
  /** Whole numbers are shown with leading zeros up to so many digits. */
  readonly digitsMin: number;
}

/** Finds the first visible sheet and the parts needed to read it. @throws FormatError */
export async function readWorkbook(zip: XlsxPackage): Promise<Workbook> {
  const book = (await relations(zip, "_rels/.rels", "")).find((one) => one.kind === "officeDocument")?.target;
  if (book === undefined || !zip.has(book)) throw new FormatError("the zip file is no workbook");
  const folder = posix.dirname(book);
  const parts = await relations(zip, `${folder}/_rels/${posix.basename(book)}.rels`, folder);
  const { sheets, since1904 } = await readBook(zip, book);
  const byKind = (kind: string) =>
    parts.find((one) => one.kind === kind && zip.has(one.target))?.target ?? null;
  // A sheet of a chart has no cells.
  const worksheets = new Map(
    parts.flatMap(({ id, kind, target }) => (kind === "worksheet" ? [[id, target]] : [])),
  );
  const first = sheets.find(({ id, isVisible }) => isVisible && worksheets.has(id));
  const sheet = worksheets.get(first?.id ?? "");
  if (first === undefined || sheet === undefined)
    throw new FormatError("the workbook has no sheet of cells that is visible");
  const styles = byKind("styles");
  return {
    sheet,
    sheetName: first.name,
    since1904,
    sharedStrings: byKind("sharedStrings"),
    styles: styles === null ? [] : await readStyles(zip, styles),
  };
}

interface Relation {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
}

async function relations(zip: XlsxPackage, name: string, folder: string): Promise<Relation[]> {
  const found: Relation[] = [];
  if (!zip.has(name)) return found;
  await readXml(await zip.open(name, smallPartBytesMax), {
    open: (tag, { Id = "", Type = "", Target = "" }) => {
      if (tag !== "Relationship") return;
      const target = Target.startsWith("/") ? Target.slice(1) : posix.join(folder, Target);
      found.push({ id: Id, kind: Type.slice(Type.lastIndexOf("/") + 1), target });
    },
  });
  return found;
}

async function readBook(zip: XlsxPackage, name: string) {
  const sheets: { readonly id: string; readonly name: string; readonly isVisible: boolean }[] = [];
  let since1904 = false;
  await readXml(await zip.open(name, smallPartBytesMax), {
    open: (tag, attributes) => {
      if (tag === "workbookPr") since1904 = /^(1|true)$/.test(attributes.date1904 ?? "");
      if (tag !== "sheet") return;
      const id = Object.entries(attributes).find(([key]) => /^(\w+:)?id$/.test(key))?.[1];
      const { name = "", state = "visible" } = attributes;
      sheets.push({
        id: id ?? "",
        name: name.slice(0, sheetNameCharactersMax),
        isVisible: state === "visible",
      });
    },
  });
  return { sheets, since1904 };
}

async function readStyles(zip: XlsxPackage, name: string): Promise<NumberStyle[]> {
  const formats = new Map<number, string>();
  const styles: NumberStyle[] = [];
  let inCellStyles = false;
  await readXml(await zip.open(name, smallPartBytesMax), {
    open: (tag, attributes) => {
      if (tag === "numFmt") {
        const code = (attributes.formatCode ?? "").slice(0, formatCharactersMax);
        formats.set(Number(attributes.numFmtId), code);
      }
      if (tag === "cellXfs") inCellStyles = true;
      if (tag !== "xf" || !inCellStyles) return;
      const id = Number(attributes.numFmtId ?? 0);
      const format = formats.get(id);
      styles.push({ isDate: isDateFormat(id, format), digitsMin: leadingZeros(format) });
    },
    close: (tag) => {
      if (tag === "cellXfs") inCellStyles = false;
    },
  });
  return styles;
}
