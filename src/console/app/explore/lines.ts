/** The lines of a chart: names, units, colours, and an earlier time beside the present one. */
import { createColors } from "../charts/colors.js";
import type { Limit } from "../charts/decorations.js";
import type { LatePoint } from "../charts/late-points.js";
import type { Line } from "../charts/lines.js";
import { type Earlier, movedTo } from "../range/comparison.js";
import type { Chosen } from "./chosen.js";
import { chosenKey } from "./chosen.js";
import type { fetchValues } from "./series.js";

type Found = Awaited<ReturnType<typeof fetchValues>>;

/** Lines of one unit share a chart. */
interface Group {
  readonly lines: readonly Line[];
  readonly limits: readonly Limit[];
}

interface Drawn {
  readonly chosen: readonly Chosen[];
  readonly found: Found;
  readonly earlier: { readonly span: Earlier; readonly found: Found; readonly words: string } | null;
  /** The late points of a chosen series. */
  lateOf(one: Chosen): readonly LatePoint[];
  /** Counts and sums have another unit than what they are of. */
  readonly hasUnits: boolean;
}

export function groupLines({ chosen, found, earlier, lateOf, hasUnits }: Drawn): Group[] {
  interface Growing {
    readonly lines: Line[];
    readonly limits: Limit[];
    readonly colorOf: ReturnType<typeof createColors>;
  }
  const groups = new Map<string | null, Growing>();
  const several = new Set(chosen.map(({ device }) => device.deviceID)).size > 1;
  for (const one of chosen) {
    const values = found.get(chosenKey(one));
    const unit = "point" in one.of && hasUnits ? one.of.point.unitSymbol || null : null;
    const name = nameLine(one, several);
    const group = groups.get(unit) ?? { lines: [], limits: [], colorOf: createColors() };
    const color = group.colorOf("point" in one.of ? one.of.point.id : one.of.metric.id);
    if (values !== undefined && values.times.length > 0) {
      const { times, low, high, isStepped = false } = values;
      const band = low !== undefined && high !== undefined ? { band: { low, high } } : {};
      const late = lateOf(one);
      group.lines.push({ name, unit, color, times, values: values.values, isStepped, late, ...band });
    }
    const before = earlier?.found.get(chosenKey(one));
    if (earlier !== null && before !== undefined && before.times.length > 0) {
      const moved = movedTo(earlier.span, before.times, before.values);
      const { isStepped = false } = before;
      const words = `${name}, ${earlier.words}`;
      group.lines.push({ name: words, unit, color, isDashed: true, isStepped, ...moved });
    }
    groups.set(unit, group);
    if (group.lines.length === 0) continue;
    if ("point" in one.of && hasUnits) {
      for (const value of [one.of.point.lowerLimit, one.of.point.upperLimit]) {
        const isNew = value !== null && !group.limits.some((limit) => limit.value === value);
        if (isNew) group.limits.push({ value, color });
      }
    }
  }
  return [...groups.values()].filter(({ lines }) => lines.length > 0);
}

function nameLine({ device, of }: Chosen, several: boolean): string {
  const name = "point" in of ? of.point.dataPointName : of.metric.metricName;
  return several ? `${name} · ${device.deviceName}` : name;
}
