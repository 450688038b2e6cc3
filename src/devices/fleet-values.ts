import { type Newest, readNewestPoints } from "../../query/newest.js";
import type { SeriesRefs } from "../../query/series-refs.js";
import { orAborted, withDeadline } from "../../store/lib/abortable.js";
import { isUnavailable } from "../../store/lib/errors.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { createShares } from "../../store/lib/shares.js";
import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import type { FleetRow } from "../../store/metadata/fleet/rows.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { ProductCatalog } from "./catalog.js";

/** The newest value of a data point, as a row of the fleet shows it; time in microseconds. */
export interface FleetValue {
  readonly point: DataPoint;
  readonly time: number;
  readonly value: number | string | boolean | readonly number[];
}

/** Newest values of the rows of a page, by record id; `lack`: some are left out, or all. */
interface FleetValues {
  readonly of: ReadonlyMap<number, readonly FleetValue[]>;
  readonly lack: "unavailable" | "partial" | null;
}

interface FleetValueReader {
  /** Ends at `valuesWaitMs` with what it has by then. @param signal fires when the caller cancels */
  read(tenant: number, rows: readonly FleetRow[], signal: AbortSignal): Promise<FleetValues>;
}

const fleetPointsMax = 5;
/** Characters of a text; the rest is cut off. */
const fleetTextMax = 256;
/** How long a page waits for its values. */
const valuesWaitMs = 500;
/** Pages that wait for values at once; of more, tenants sharing them, the values are left out. */
const pagesAtOnce = 8;
const devicesAtOnce = 20;
const issueOnly = 2;

interface ReaderDeps {
  readonly catalog: Pick<ProductCatalog, "model">;
  readonly series: Pick<SeriesStore, "under">;
  readonly refs: SeriesRefs;
}

export function createFleetValues(deps: ReaderDeps, waitMs = valuesWaitMs): FleetValueReader {
  const places = createShares<number>(pagesAtOnce);
  return {
    read: async (tenant, rows, signal) => {
      if (!places.take(tenant, 1)) return { of: new Map(), lack: "unavailable" };
      try {
        return await withDeadline(waitMs, signal, (ended) => readAll(deps, rows, ended));
      } finally {
        places.give(tenant, 1);
      }
    },
  };
}

async function readAll(
  deps: ReaderDeps,
  rows: readonly FleetRow[],
  signal: AbortSignal,
): Promise<FleetValues> {
  const of = new Map<number, readonly FleetValue[]>();
  for (let at = 0; at < rows.length; at += devicesAtOnce) {
    const some = await readSome(deps, rows.slice(at, at + devicesAtOnce), signal).catch((error: unknown) => {
      if (isUnavailable(error)) return undefined;
      throw error;
    });
    if (some === undefined) return { of, lack: at === 0 ? "unavailable" : "partial" };
    for (const [id, values] of some) of.set(id, values);
    await nextTurn();
  }
  return { of, lack: null };
}

/** Undefined if the signal is aborted first. */
async function readSome(
  { catalog, series, refs }: ReaderDeps,
  rows: readonly FleetRow[],
  signal: AbortSignal,
): Promise<Map<number, FleetValue[]> | undefined> {
  const wanted: { readonly device: FleetRow; readonly point: DataPoint }[] = [];
  for (const device of rows) {
    const { points } = await catalog.model(device.productIntID);
    const reported = points.filter(({ dataTransType }) => dataTransType !== issueOnly);
    for (const point of reported.slice(0, fleetPointsMax)) wanted.push({ device, point });
  }
  const newest = await orAborted(
    readNewestPoints(series.under(signal), refs, wanted, wanted.length, pageBytesMax),
    signal,
  );
  if (newest === undefined) return undefined;
  const found = new Map<number, FleetValue[]>(rows.map(({ id }) => [id, []]));
  for (const [i, { device, point }] of wanted.entries()) {
    const value = toFleetValue(point, newest[i] ?? null);
    if (value !== null) found.get(device.id)?.push(value);
  }
  return found;
}

function toFleetValue(point: DataPoint, newest: Newest): FleetValue | null {
  if (newest === null || "error" in newest) return null;
  const { time, value } = newest;
  return {
    point,
    time,
    value: typeof value === "string" ? value.slice(0, fleetTextMax).toWellFormed() : value,
  };
}
