/** The late points of a series of a panel. */
import type { LatePoint } from "../charts/late-points.js";
import type { Board } from "./context.js";
import type { Series } from "./document.js";
import { resolveTarget } from "./targets.js";

/** Finds none for metrics, whose windows include late points, nor for groups, whose members have no live events. */
export function findLatePoints(
  { late, variables, chosen }: Board,
  series: Series | undefined,
): readonly LatePoint[] {
  if (series?.dataPointIntID === undefined) return [];
  const target = resolveTarget(series.deviceID, "device", variables, chosen);
  return target?.type === "device" ? late.of(target.id, series.dataPointIntID) : [];
}
