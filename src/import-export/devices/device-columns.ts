import type { ExportedDevice } from "../../../store/metadata/devices/export.js";
import { FormatError } from "../format-error.js";
import type { Cell } from "./table-file.js";

/** How a column's cells are read: a text as it stands, a number, or JSON text. */
type ColumnKind = "text" | "number" | "json" | "jsonOrText";

interface Column {
  readonly kind: ColumnKind;
  /** Present if the cell is not the field itself. */
  readonly value?: (device: ExportedDevice) => unknown;
}

/** The columns of a device file: the fields that Variant A's create takes, in the interface's order. */
const columns = {
  deviceID: { kind: "text" },
  deviceName: { kind: "text" },
  deviceUsername: { kind: "text" },
  token: { kind: "text" },
  authType: { kind: "number" },
  blocked: { kind: "number" },
  deviceType: { kind: "number" },
  upLinkSystem: { kind: "number" },
  gateway: { kind: "text", value: (device) => device.gatewayDeviceID },
  parentDevice: { kind: "text", value: (device) => device.parentDeviceID },
  productID: { kind: "text" },
  cloudProtocol: { kind: "number" },
  modBusIndex: { kind: "number" },
  carrier: { kind: "number" },
  physicalNetwork: { kind: "number" },
  IMEI: { kind: "text" },
  IMSI: { kind: "text" },
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

export function cellsOf(device: ExportedDevice): Cell[] {
  return entries.map(([name, { kind, value }]) => {
    const found = value === undefined ? device[name as keyof ExportedDevice] : value(device);
    if (found === null || found === undefined) return null;
    return kind === "json" || kind === "jsonOrText" ? JSON.stringify(found) : (found as Cell);
  });
}

/** The columns of a file in its order; null for an empty header cell. @throws FormatError */
export function readHeader(cells: readonly Cell[]): (ColumnName | null)[] {
  const found = cells.map((cell) => {
    const text = cell === null ? "" : String(cell).trim();
    if (text === "") return null;
    const name = text === "modBuxIndex" ? "modBusIndex" : text;
    if (!Object.hasOwn(columns, name))
      throw new FormatError(`row 1: there is no column "${text.slice(0, 100)}"`);
    return name as ColumnName;
  });
  const names = found.filter((name) => name !== null);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new FormatError(`row 1: column ${twice} is there twice`);
  const missing = required.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new FormatError(`row 1: columns are missing: ${missing.join(", ")}`);
  return found;
}

export type FieldErrors = Record<string, string>;

/** One row as the body of a create; faults of its cells are noted in `errors`. */
export function bodyOf(
  header: readonly (ColumnName | null)[],
  cells: readonly Cell[],
  errors: FieldErrors,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [i, cell] of cells.entries()) {
    if (cell === null || cell === "") continue;
    const name = header[i];
    if (name === undefined || name === null) errors[`column ${i + 1}`] = "has a value and no name in row 1";
    else body[name] = readers[columns[name].kind](cell, name, errors);
  }
  return body;
}

type Reader = (cell: string | number | boolean, name: string, errors: FieldErrors) => unknown;

const readers: Readonly<Record<ColumnKind, Reader>> = {
  text: (cell) => String(cell),
  number: (cell) => (typeof cell === "boolean" ? Number(cell) : cell),
  json: (cell, name, errors) => {
    if (typeof cell !== "string") return cell;
    try {
      return JSON.parse(cell) as unknown;
    } catch {
      errors[name] = "must be JSON";
      return undefined;
    }
  },
  jsonOrText: (cell) => {
    if (typeof cell !== "string") return cell;
    try {
      return JSON.parse(cell) as unknown;
    } catch {
      return cell;
    }
  },
};
