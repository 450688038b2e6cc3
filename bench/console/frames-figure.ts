import type { Figure } from "../report.js";
import { empty } from "./stage.js";
import type { Frames } from "./tab.js";

/** The slowest of twenty frames, beside that of an empty page. */
export function framesFigure(
  name: string,
  { p95, perSecond, longestTaskMs, longTasks }: Frames,
  detail: Readonly<Record<string, number | string>> = {},
): Figure {
  return {
    name,
    value: p95,
    unit: "ms p95",
    ...(name === empty.frames ? {} : { baseline: empty.frames }),
    detail: {
      "frames/s": perSecond,
      ...(longTasks === 0 ? {} : { "long tasks": longTasks, "longest ms": longestTaskMs }),
      ...detail,
    },
  };
}
