/** The beginning of a file of points against what is there: what would be refused, and what would change. */
import { call, type Page } from "../api.js";
import type { OriginalData } from "../charts/data.js";
import { bytesMax, createPreview, readBeginning } from "../system/preview.js";
import { type DeviceRow, findDevice } from "./catalog.js";

export interface DryLook {
  /** Rows that were looked at. */
  readonly rows: number;
  readonly unknownDevices: readonly string[];
  readonly unknownPoints: readonly string[];
  /** Values of another type than their data point's. */
  readonly wrongValues: number;
  /** Points of the devices that are known: not there yet, there with another value, there already. */
  readonly added: number;
  readonly changed: number;
  readonly same: number;
}

interface FilePoint {
  readonly deviceID: string;
  readonly dataPointID: string;
  /** Null: only the service can parse it. */
  readonly time: number | null;
  readonly value: string;
}

interface PointType {
  readonly id: number;
  readonly dataPointID: string;
  readonly pointDataType: number;
}

interface Known {
  readonly device: DeviceRow;
  readonly points: ReadonlyMap<string, PointType>;
}

const rowsMax = 1000;
/** Limits of the sample: of a file with very many devices only a part is checked. */
const devicesMax = 20;
const storedMax = 100_000;
const recordsMax = 1000;
const numbers: ReadonlySet<number> = new Set([1, 15, 16, 17, 18, 21, 22, 25]);
const booleans: ReadonlySet<number> = new Set([5, 23]);

/** @throws ApiFailure, or the abort */
export async function dryLook(file: File, signal: AbortSignal): Promise<DryLook> {
  const preview = createPreview(await readBeginning(file), rowsMax);
  // The last row may be cut where the beginning ends.
  const isCut = preview !== null && preview.rows.length < rowsMax && file.size > bytesMax;
  const rows = preview === null ? [] : isCut ? preview.rows.slice(0, -1) : preview.rows;
  const all = preview === null ? [] : readFilePoints(preview.columns, rows);
  const ids = [...new Set(all.map(({ deviceID }) => deviceID))]
    .filter((id) => id !== "")
    .slice(0, devicesMax);
  const points = all.filter(({ deviceID }) => ids.includes(deviceID));
  const known = await fetchKnown(ids, signal);
  const [unknownPoints, compared] = [new Set<string>(), [] as FilePoint[]];
  let wrongValues = 0;
  for (const point of points) {
    const device = known.get(point.deviceID);
    if (device === undefined) continue;
    const type = device.points.get(point.dataPointID);
    if (type === undefined) unknownPoints.add(point.dataPointID);
    else if (!isOfType(type.pointDataType, point.value)) wrongValues++;
    else if (point.time !== null) compared.push(point);
  }
  return {
    rows: rows.length,
    unknownDevices: ids.filter((id) => !known.has(id)),
    unknownPoints: [...unknownPoints],
    wrongValues,
    ...(await comparedWith(compared, known, signal)),
  };
}

function readFilePoints(columns: readonly string[], rows: readonly (readonly string[])[]): FilePoint[] {
  const at = (name: string): number => columns.indexOf(name);
  const isLong = at("dataPointID") >= 0 && at("value") >= 0;
  return rows.flatMap((row) => {
    const deviceID = row[at("deviceID")] ?? "";
    const time = parseFileTime(row[at("time")] ?? "");
    if (isLong) {
      return [{ deviceID, time, dataPointID: row[at("dataPointID")] ?? "", value: row[at("value")] ?? "" }];
    }
    return columns.flatMap((dataPointID, i) => {
      const value = row[i] ?? "";
      return dataPointID === "deviceID" || dataPointID === "time" || value === ""
        ? []
        : [{ deviceID, time, dataPointID, value }];
    });
  });
}

/** Wall times without an offset are the service's to read. */
function parseFileTime(text: string): number | null {
  if (/^\d{13}$/.test(text)) return Number(text);
  const time = /(Z|[+-]\d\d:?\d\d)$/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(time) ? time : null;
}

function isOfType(type: number, value: string): boolean {
  if (numbers.has(type)) return value.trim() !== "" && Number.isFinite(Number(value));
  return !booleans.has(type) || /^(true|false|0|1)$/i.test(value.trim());
}

async function fetchKnown(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Known>> {
  const found = (await Promise.all(ids.map((id) => findDevice(id, signal)))).filter((one) => one !== null);
  const products = [...new Set(found.map(({ productID }) => productID))];
  const points = await Promise.all(
    products.map((productID) =>
      call<Page<PointType>>("GET", "/data_points", { query: { productID, _limit: recordsMax }, signal }),
    ),
  );
  return new Map(
    found.map((device) => {
      const { items } = points[products.indexOf(device.productID)] as Page<PointType>;
      return [device.deviceID, { device, points: new Map(items.map((one) => [one.dataPointID, one])) }];
    }),
  );
}

async function comparedWith(
  points: readonly FilePoint[],
  known: ReadonlyMap<string, Known>,
  signal: AbortSignal,
): Promise<Pick<DryLook, "added" | "changed" | "same">> {
  const counts = { added: 0, changed: 0, same: 0 };
  for (const [deviceID, { points: types }] of known) {
    const own = points.filter((point) => point.deviceID === deviceID);
    if (own.length === 0) continue;
    const stored = await fetchStored(deviceID, own, types, signal);
    for (const { dataPointID, time, value } of own) {
      const there = stored.get(`${types.get(dataPointID)?.id} ${time}`);
      counts[there === undefined ? "added" : isSame(there, value) ? "same" : "changed"]++;
    }
  }
  return counts;
}

async function fetchStored(
  deviceID: string,
  own: readonly FilePoint[],
  types: Known["points"],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> {
  const times = own.map(({ time }) => time as number);
  const ids = [...new Set(own.map(({ dataPointID }) => types.get(dataPointID)?.id))];
  const query = {
    deviceID,
    ...(ids.length > 100 ? {} : { dataPointIntID: ids.join() }),
    startTime: Math.min(...times),
    endTime: Math.max(...times) + 1,
    timeFormat: "ms",
    limit: storedMax,
  };
  const items = await call<readonly OriginalData[]>("GET", "/original_data", { query, signal });
  return new Map(
    items.flatMap(({ dataPointIntID, originalData: { time, value } }) =>
      time.map((at, i) => [`${dataPointIntID} ${at}`, value[i]] as const),
    ),
  );
}

function isSame(stored: unknown, text: string): boolean {
  if (typeof stored === "number") return stored === Number(text);
  if (typeof stored === "boolean") return stored === /^(true|1)$/i.test(text.trim());
  return (typeof stored === "string" ? stored : JSON.stringify(stored)) === text;
}
