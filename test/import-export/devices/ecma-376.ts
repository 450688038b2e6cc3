import { text } from "node:stream/consumers";
import { SaxesParser } from "saxes";
import yauzl from "yauzl";

/** What ECMA-376 part 1, annex A.2 says of the elements that a workbook of one sheet is made of. */

interface Content {
  /** Every element that may stand within, in the order of the schema's sequence. */
  readonly order: readonly string[];
  /** Those that must. */
  readonly required?: readonly string[];
  /** At least one of these must. */
  readonly oneOf?: readonly string[];
  /** Attributes that must be there. */
  readonly attributes?: readonly string[];
}

const words = (all: string): readonly string[] => all.split(/\s+/).filter((word) => word !== "");

const contents: Readonly<Record<string, Content>> = {
  workbook: {
    order: words(`fileVersion fileSharing workbookPr workbookProtection bookViews sheets functionGroups
      externalReferences definedNames calcPr oleSize customWorkbookViews pivotCaches smartTagPr smartTagTypes
      webPublishing fileRecoveryPr webPublishObjects extLst`),
    required: ["sheets"],
  },
  bookViews: { order: ["workbookView"], required: ["workbookView"] },
  workbookView: { order: ["extLst"] },
  sheets: { order: ["sheet"], required: ["sheet"] },
  sheet: { order: [], attributes: ["name", "sheetId", "r:id"] },
  worksheet: {
    order: words(`sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection
      protectedRanges scenarios autoFilter sortState dataConsolidate customSheetViews mergeCells phoneticPr
      conditionalFormatting dataValidations hyperlinks printOptions pageMargins pageSetup headerFooter rowBreaks
      colBreaks customProperties cellWatches ignoredErrors smartTags drawing drawingHF picture oleObjects controls
      webPublishItems tableParts extLst`),
    required: ["sheetData"],
  },
  sheetViews: { order: ["sheetView", "extLst"], required: ["sheetView"] },
  sheetView: { order: words("pane selection pivotSelection extLst"), attributes: ["workbookViewId"] },
  pane: { order: [] },
  cols: { order: ["col"], required: ["col"] },
  col: { order: [], attributes: ["min", "max"] },
  sheetData: { order: ["row"] },
  row: { order: ["c", "extLst"] },
  c: { order: words("f v is extLst") },
  v: { order: [] },
  is: { order: words("t r rPh phoneticPr") },
  t: { order: [] },
  styleSheet: {
    order: words(
      "numFmts fonts fills borders cellStyleXfs cellXfs cellStyles dxfs tableStyles colors extLst",
    ),
  },
  fonts: { order: ["font", "extLst"] },
  font: {
    order: words("b i strike condense extend outline shadow u vertAlign sz color name family charset scheme"),
  },
  sz: { order: [], attributes: ["val"] },
  name: { order: [], attributes: ["val"] },
  fills: { order: ["fill", "extLst"] },
  fill: { order: ["patternFill", "gradientFill"], oneOf: ["patternFill", "gradientFill"] },
  patternFill: { order: ["fgColor", "bgColor"] },
  borders: { order: ["border", "extLst"] },
  border: { order: words("start end left right top bottom diagonal vertical horizontal") },
  ...Object.fromEntries(words("left right top bottom diagonal").map((side) => [side, { order: ["color"] }])),
  cellStyleXfs: { order: ["xf", "extLst"], required: ["xf"] },
  cellXfs: { order: ["xf", "extLst"], required: ["xf"] },
  xf: { order: words("alignment protection extLst") },
  cellStyles: { order: ["cellStyle", "extLst"], required: ["cellStyle"] },
  cellStyle: { order: ["extLst"], attributes: ["xfId"] },
};

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
}

/** What is wrong with a workbook by the standard; empty where nothing is. */
export async function faultsOf(path: string): Promise<string[]> {
  const parts = await partsOf(path);
  const roots = ["xl/workbook.xml", "xl/styles.xml", "xl/worksheets/sheet1.xml"].map((name) =>
    parse(parts.get(name) ?? ""),
  );
  const [book, styles, sheet] = roots as [Element, Element, Element];
  return [...roots.flatMap(faultsWithin), ...countFaults(styles), ...referenceFaults(book, styles, sheet)];
}

function faultsWithin(element: Element): string[] {
  const { name, attributes, children } = element;
  const content = contents[name];
  if (content === undefined) return [`${name} is not in the table`];
  const { order, required = [], oneOf, attributes: needed = [] } = content;
  const faults: string[] = [];
  let last = 0;
  for (const child of children) {
    const place = order.indexOf(child.name);
    if (place < 0) faults.push(`${name} may hold no ${child.name}`);
    else if (place < last) faults.push(`${name} holds ${child.name} after ${order[last]}`);
    last = Math.max(last, place);
  }
  const there = new Set(children.map((child) => child.name));
  for (const one of required) if (!there.has(one)) faults.push(`${name} has no ${one}`);
  if (oneOf !== undefined && !oneOf.some((one) => there.has(one)))
    faults.push(`${name} has none of ${oneOf}`);
  for (const one of needed) if (!(one in attributes)) faults.push(`${name} has no attribute ${one}`);
  return [...faults, ...children.flatMap(faultsWithin)];
}

/** `count` is how many there are. */
function countFaults({ children }: Element): string[] {
  return children.flatMap(({ name, attributes: { count }, children: all }) =>
    count === undefined || Number(count) === all.length ? [] : [`${name} counts ${count} of ${all.length}`],
  );
}

/** Numbers of fonts, fills, borders, styles and views lead to what is there. */
function referenceFaults(book: Element, styles: Element, sheet: Element): string[] {
  const faults: string[] = [];
  const size = (root: Element, name: string) => children(root, name).length;
  const expect = (element: Element, attribute: string, bound: number) => {
    const value = element.attributes[attribute];
    if (value !== undefined && Number(value) >= bound) {
      faults.push(`${element.name} ${attribute}=${value}, there are ${bound}`);
    }
  };
  for (const xf of [...children(styles, "cellStyleXfs"), ...children(styles, "cellXfs")]) {
    expect(xf, "fontId", size(styles, "fonts"));
    expect(xf, "fillId", size(styles, "fills"));
    expect(xf, "borderId", size(styles, "borders"));
    expect(xf, "xfId", size(styles, "cellStyleXfs"));
  }
  for (const style of children(styles, "cellStyles")) expect(style, "xfId", size(styles, "cellStyleXfs"));
  for (const view of children(sheet, "sheetViews")) expect(view, "workbookViewId", size(book, "bookViews"));
  for (const col of children(sheet, "cols")) expect(col, "style", size(styles, "cellXfs"));
  for (const row of children(sheet, "sheetData")) {
    for (const cell of row.children) expect(cell, "s", size(styles, "cellXfs"));
  }
  return faults;
}

function children(root: Element, name: string): readonly Element[] {
  return root.children.find((child) => child.name === name)?.children ?? [];
}

function parse(source: string): Element {
  const top: Element = { name: "", attributes: {}, children: [] };
  const open = [top];
  const parser = new SaxesParser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    const element: Element = { name, attributes: attributes as Record<string, string>, children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on("closetag", () => void open.pop());
  parser.write(source).close();
  const [root] = top.children;
  if (root === undefined) throw new Error("the part is empty");
  return root;
}

async function partsOf(path: string): Promise<Map<string, string>> {
  const zip = await yauzl.openPromise(path, { lazyEntries: true, autoClose: false });
  const parts = new Map<string, string>();
  for await (const entry of zip.eachEntry()) {
    parts.set(entry.fileName, await text(await zip.openReadStreamPromise(entry)));
  }
  zip.close();
  return parts;
}
