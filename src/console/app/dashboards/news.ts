/** Which panels of a dashboard something new concerns, and how soon each is asked again for it. Pure. */
import { type DashboardDocument, isSeriesPanel, type Panel } from "./document.js";
import { type Chosen, resolveTarget } from "./targets.js";

/** Most devices of one stream. */
const devicesMax = 100;

interface Watched {
  /** By deviceID. */
  readonly devices: readonly string[];
  /** Panels by the devices that are watched for them. */
  readonly panelsByKey: ReadonlyMap<string, readonly string[]>;
  /** Panels of which something is not watched: groups, whose members a page does not know, and devices beyond 100. */
  readonly unwatched: readonly string[];
}

export function listWatched({ panels, variables }: DashboardDocument, chosen: Chosen): Watched {
  const panelsByKey = new Map<string, string[]>();
  const unwatched = new Set<string>();
  for (const { id, series } of panels.filter(isSeriesPanel)) {
    for (const { deviceID } of series) {
      const target = resolveTarget(deviceID, "device", variables, chosen);
      if (target === null) continue;
      const known = target.type === "device" ? panelsByKey.get(target.id) : undefined;
      if (known !== undefined) known.push(id);
      else if (target.type === "device" && panelsByKey.size < devicesMax) panelsByKey.set(target.id, [id]);
      else unwatched.add(id);
    }
  }
  return { devices: [...panelsByKey.keys()], panelsByKey, unwatched: [...unwatched] };
}

/** News come in crowds: the first of one waits so long for the rest. */
const crowdMs = 2000;
/** Width of a chart: points that are newer than the last answer by less than one pixel would not be seen. */
const pixels = 1000;
/** Values and tables are read, not looked at: theirs are never older than this. */
const readMs = 10_000;

/**
 * When a panel is queried again for points that arrive now, milliseconds.
 * @param isLate the new points do not lie at the end of the line, where they could not be distinguished from older ones
 */
export function dueAt(
  type: Panel["type"],
  rangeMs: number,
  now: number,
  last: number | undefined,
  isLate = false,
): number {
  const pixelMs = rangeMs / pixels;
  const everyMs = Math.max(crowdMs, type === "chart" && !isLate ? pixelMs : Math.min(pixelMs, readMs));
  return Math.max(now + crowdMs, (last ?? Number.NEGATIVE_INFINITY) + everyMs);
}
