import type { ExportedDeviceRow } from "../../../store/metadata/devices/export.js";
import { FormatError } from "../format-error.js";
import { type CellKind, type FieldErrors, readCell, readCellText } from "./read-cell.js";
import type { Cell, FileRow } from "./table-file.js";

interface Column {
  readonly kind: CellKind;
  /** Present if the cell is not the field itself. */
  readonly value?: (device: ExportedDeviceRow) => unknown;
}

/** The columns of a device file: the fields that Variant A's create takes, in the interface's order. */
const columns = {
  deviceID: { kind: "identifier" },
  deviceName: { kind: "text" },
  deviceUsername: { kind: "text" },
  token: { kind: "text" },
  authType: { kind: "number" },
  blocked: { kind: "number" },
  deviceType: { kind: "number" },
  upLinkSystem: { kind: "number" },
  gateway: { kind: "identifier", value: (device) => device.gatewayDeviceID },
  parentDevice: { kind: "identifier", value: (device) => device.parentDeviceID },
  productID: { kind: "identifier" },
  cloudProtocol: { kind: "number" },
  modBusIndex: { kind: "number" },
  carrier: { kind: "number" },
  physicalNetwork: { kind: "number" },
  IMEI: { kind: "digits" },
  IMSI: { kind: "digits" },
  autoSub: { kind: "number" },
  manufacturer: { kind: "text" },
  serialNumber: { kind: "text" },
  softVersion: { kind: "text" },
  hardwareVersion: { kind: "text" },
  description: { kind: "text" },
  deviceConsoleIP: { kind: "text" },
  deviceConsolePort: { kind: "number" },
  deviceConsoleUsername: { kind: "text" },
  latitude: { kind: "number" },
  longitude: { kind: "number" },
  location: { kind: "jsonOrText" },
  lora: { kind: "json" },
  metaData: { kind: "json" },
  scopes: { kind: "json" },
} as const satisfies Readonly<Record<string, Column>>;

export type ColumnName = keyof typeof columns;
export const columnNames = Object.keys(columns) as readonly ColumnName[];
const entries = Object.entries(columns) as readonly (readonly [ColumnName, Column])[];

const required = ["deviceID", "deviceName", "deviceType", "productID", "cloudProtocol"] as const;

export function formatCells(device: ExportedDeviceRow): Cell[] {
  return entries.map(([name, { kind, value }]) => {
    const found = value === undefined ? device[name as keyof ExportedDeviceRow] : value(device);
    if (found === null || found === undefined) return null;
    return kind === "json" || kind === "jsonOrText" ? JSON.stringify(found) : (found as Cell);
  });
}

/** The first row of a file, and what its rows have beside it. */
export interface FileHeader {
  /** In the file's order; null for a column that is not imported. */
  readonly columns: readonly (ColumnName | null)[];
  /** As the file names the columns; empty for one without a name. */
  readonly titles: readonly string[];
  /** A workbook's rows may have cells beyond the header, such as notes; in CSV they come from a wrong delimiter. */
  readonly isOpen: boolean;
  /** Columns that hold values and are not imported: by their titles, or as `column 11`. */
  readonly ignored: Set<string>;
}

const titleCharactersMax = 100;
const byLowerCase = new Map(columnNames.map((name) => [name.toLowerCase(), name]));
byLowerCase.set("modbuxindex", "modBusIndex");

/** Takes the names of columns in any order and case. @throws FormatError */
export function readHeader({ cells, sheet }: Pick<FileRow, "cells" | "sheet">): FileHeader {
  const titles = cells.map((cell) => readCellText(cell).trim().slice(0, titleCharactersMax));
  const found = titles.map((title) => byLowerCase.get(title.toLowerCase()) ?? null);
  const names = found.filter((name) => name !== null);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  const missing = required.filter((name) => !names.includes(name));
  const place = sheet === undefined ? "row 1" : `sheet "${sheet}", row 1`;
  if (twice !== undefined) throw new FormatError(`${place}: column ${twice} is there twice`);
  if (missing.length > 0) {
    const hint = sheet === undefined ? "" : "; devices are read from the first visible sheet";
    throw new FormatError(`${place}: columns are missing: ${missing.join(", ")}${hint}`);
  }
  return { columns: found, titles, isOpen: sheet !== undefined, ignored: new Set() };
}

/** One row as the body of a create; faults of its cells are noted in `errors`. */
export function parseDeviceRow(
  { columns: names, titles, isOpen, ignored }: FileHeader,
  cells: FileRow["cells"],
  errors: FieldErrors,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [i, cell] of cells.entries()) {
    if (cell === null || cell === "") continue;
    const name = names[i];
    if (name) body[name] = readCell(cell, columns[name].kind, name, errors);
    else if (i < titles.length || isOpen) ignored.add(titles[i] || `column ${i + 1}`);
    else errors[`column ${i + 1}`] = "has a value and no name in row 1";
  }
  return body;
}
