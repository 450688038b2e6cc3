/** What has come late of a series of a panel. */
import type { LatePoint } from "../charts/late-points.js";
import type { Board } from "./context.js";
import type { Series } from "./document.js";
import { resolveTarget } from "./targets.js";

/** None of metrics, whose windows take what comes late, and none of groups, whose members nobody tells of. */
export function findLatePoints(
  { late, variables, chosen }: Board,
  series: Series | undefined,
): readonly LatePoint[] {
  if (series?.dataPointIntID === undefined) return [];
  const target = resolveTarget(series.deviceID, "device", variables, chosen);
  return target?.type === "device" ? late.of(target.id, series.dataPointIntID) : [];
}
