import { valuesOfEnum } from "../../../ingest/decode/enumeration.js";
import { converters } from "../../../ingest/decode/values.js";
import type { SeriesRefs } from "../../../query/series-refs.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { findDevicesByName, type NamedDevice } from "../../../store/metadata/devices/history-devices.js";
import {
  type DataPoint,
  listProductDataPoints,
  toSeriesKind,
} from "../../../store/metadata/products/data-points.js";
import type { SeriesRef } from "../../../store/series/series.js";
import type { HistoryGate } from "./gate.js";
import { noDevice, noPoint, type TargetAnswer, type TargetName } from "./row-taker.js";
import type { PointAnswer } from "./values.js";

/** The series that an import writes to, by index in the order in which it asked for them. */
export interface Targets {
  /** Appends the names and returns their targets. */
  resolve(names: readonly TargetName[]): Promise<TargetAnswer[]>;
  /** Looks up again the targets found before the last change; called within `HistoryGate.run`. */
  renew(indexes: readonly number[]): Promise<void>;
  /** The series at an index; null if there is none, or not the one that was reported. */
  series(index: number): SeriesRef | null;
  /** Forgets them all: indexes are counted from 0 again. */
  reset(): void;
}

interface Found {
  readonly name: TargetName;
  readonly told: TargetAnswer;
  series: SeriesRef | null;
  generation: number;
}

type Lookup = { readonly answer: TargetAnswer; readonly series: SeriesRef | null };

interface KnownPoint {
  readonly point: DataPoint;
  /** One object for all devices, so that it crosses to the reading thread once. */
  readonly answer: PointAnswer;
}

/** The targets that were looked up during one generation. */
interface Known {
  readonly generation: number;
  readonly devices: Map<string, NamedDevice | null>;
  readonly products: Map<number, ReadonlyMap<string, KnownPoint>>;
}

const nothing = (generation: number): Known => ({ generation, devices: new Map(), products: new Map() });

interface TargetsDeps {
  readonly db: Db;
  readonly refs: SeriesRefs;
  readonly gate: HistoryGate;
  readonly tenant: number;
}

const issueOnly = { column: "dataPointID", problem: "the data point is only issued, never reported" };

function toKnown(point: DataPoint): KnownPoint {
  const { pointDataType: type } = point;
  const convert = converters.get(type);
  const allowed = convert === undefined ? null : valuesOfEnum(convert, point.enum ?? []);
  return { point, answer: { type, allowed } };
}

export function createImportTargets({ db, refs, gate, tenant }: TargetsDeps): Targets {
  let found: Found[] = [];
  let known = nothing(gate.generation(tenant));

  async function load({ devices, products }: Known, names: readonly TargetName[]): Promise<void> {
    const missing = [...new Set(names.map(({ deviceID }) => deviceID))].filter((id) => !devices.has(id));
    const rows = await findDevicesByName(db, tenant, missing);
    for (const deviceID of missing) devices.set(deviceID, rows.get(deviceID) ?? null);
    for (const { productIntID } of rows.values()) {
      if (products.has(productIntID)) continue;
      const points = await listProductDataPoints(db, productIntID);
      products.set(productIntID, new Map(points.map((point) => [point.dataPointID, toKnown(point)])));
    }
  }

  function look({ devices, products }: Known, { deviceID, dataPointID }: TargetName): Lookup {
    const device = devices.get(deviceID);
    if (device === undefined || device === null) return { answer: noDevice, series: null };
    const reported = products.get(device.productIntID)?.get(dataPointID);
    if (reported === undefined) return { answer: noPoint, series: null };
    const { point, answer } = reported;
    if (point.dataTransType === 2) return { answer: issueOnly, series: null };
    const { productID } = device;
    const series = refs.of(
      { tenant, productID, deviceID },
      { field: point.field, kind: toSeriesKind(point.pointDataType) },
    );
    return { answer, series };
  }

  /** Changes during the look-up are left to the next `renew`. */
  async function lookUp(names: readonly TargetName[]): Promise<{ lookups: Lookup[]; generation: number }> {
    if (known.generation !== gate.generation(tenant)) known = nothing(gate.generation(tenant));
    // Another look-up may start a new generation meanwhile: the results of this one must not go there.
    const mine = known;
    await load(mine, names);
    return { lookups: names.map((name) => look(mine, name)), generation: mine.generation };
  }

  return {
    resolve: async (names) => {
      const { lookups, generation } = await lookUp(names);
      for (const [i, name] of names.entries()) {
        const { answer, series } = lookups[i] as Lookup;
        found.push({ name, told: answer, series, generation });
      }
      return lookups.map(({ answer }) => answer);
    },
    renew: async (indexes) => {
      const stale = indexes.flatMap((index) => {
        const one = found[index];
        return one === undefined || one.generation === gate.generation(tenant) ? [] : [one];
      });
      if (stale.length === 0) return;
      const { lookups, generation } = await lookUp(stale.map(({ name }) => name));
      for (const [i, one] of stale.entries()) {
        const { series } = lookups[i] as Lookup;
        // The values were read as the reported type: a successor of the name may have another.
        if (series !== one.series) one.series = null;
        one.generation = generation;
      }
    },
    series: (index) => found[index]?.series ?? null,
    reset: () => {
      found = [];
      known = nothing(gate.generation(tenant));
    },
  };
}
