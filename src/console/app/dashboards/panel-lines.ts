/** Answers of a panel as lines of a chart. Pure. */
import { createColors } from "../charts/colors.js";
import type { Limit } from "../charts/decorations.js";
import { drawnValues } from "../charts/drawn-values.js";
import type { Line } from "../charts/lines.js";
import { type Earlier, movedTo } from "../range/comparison.js";
import type { SeriesPanel } from "./document.js";
import type { Item, SeriesAnswer } from "./source.js";

const colors = 8;

export interface PanelLine extends Line {
  /** Index into the series of the panel. */
  readonly series: number;
}

/** Texts and places are no lines. */
export function createPanelLines(panel: SeriesPanel, { series, points }: SeriesAnswer): PanelLine[] {
  const lines: PanelLine[] = [];
  const pickColor = createColors(panel.series.flatMap(({ color }) => color ?? []));
  const isMany = new Set(panel.series.map(({ deviceID }) => deviceID)).size > 1;
  for (const [i, items] of series.entries()) {
    const { label, color, axis = "left", deviceID } = panel.series[i] ?? { deviceID: "" };
    for (const [k, item] of items.entries()) {
      const { time, value } = "originalData" in item ? item.originalData : item.metricData;
      if (value.some((one) => typeof one === "string" || (typeof one === "object" && one !== null))) continue;
      lines.push({
        series: i,
        name: nameLine(item, label, isMany ? deviceID : null),
        unit: points[i]?.unitSymbol ?? null,
        color:
          color === undefined
            ? pickColor("originalData" in item ? item.dataPointIntID : item.id)
            : (color + k) % colors,
        times: time,
        ...drawnValues(value as readonly (number | boolean | null)[]),
        axis,
      });
    }
  }
  return lines;
}

/** @param device whose it is, where a panel shows several that are named one by one */
export function nameLine(item: Item, label: string | undefined, device: string | null): string {
  const measured = "originalData" in item ? item.dataPointName : item.metricName;
  const own = label === undefined || label === "" ? measured : label;
  const owner = item.deviceID ?? (label === undefined || label === "" ? device : null);
  return owner === null || owner.startsWith("$") ? own : `${own} · ${owner}`;
}

/** Lines of an earlier time, moved to where the time stands that they are compared with. */
export function earlierLines(lines: readonly PanelLine[], earlier: Earlier, suffix: string): PanelLine[] {
  return lines.map((line) => {
    const { times, values } = movedTo(earlier, line.times, line.values);
    return { ...line, name: `${line.name} ${suffix}`, times, values, isDashed: true };
  });
}

/** The limits of the data points that are drawn. */
export function createPanelLimits(lines: readonly PanelLine[], { points }: SeriesAnswer): Limit[] {
  const found = new Map<number, Limit[]>();
  for (const { series, color, axis = "left" } of lines) {
    const { lowerLimit = null, upperLimit = null } = points[series] ?? {};
    const values = [lowerLimit, upperLimit].filter((value) => value !== null);
    if (!found.has(series))
      found.set(
        series,
        values.map((value) => ({ value, color, axis })),
      );
  }
  return [...found.values()].flat();
}
