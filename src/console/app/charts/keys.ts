/** A chart by the keyboard: along its points, and closer. */
import type uPlot from "uplot";
import type { Gestures } from "./gestures.js";

const zooms: Readonly<Record<string, number>> = { "+": 0.5, "=": 0.5, "-": 2 };
const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -20,
  PageDown: 20,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Whether the key means anything on the chart. */
export function actOnKey(plot: uPlot | null, gestures: Gestures | null, event: KeyboardEvent): boolean {
  const [factor, step] = [zooms[event.key], steps[event.key]];
  if (plot === null || event.ctrlKey || event.metaKey || event.altKey) return false;
  const times = plot.data[0];
  const { cursor, series } = plot;
  const [first, last] = series[0]?.idxs ?? [0, 0];
  if (factor !== undefined) {
    const middle = plot.posToVal(plot.over.clientWidth / 2, "x");
    gestures?.zoom(times[cursor.idx ?? -1] ?? middle, factor);
  } else if (step !== undefined) {
    // Without a cursor it begins at the newest that is seen.
    const time = times[Math.min(last, Math.max(first, (cursor.idx ?? last) + step))];
    if (time !== undefined) plot.setCursor({ left: plot.valToPos(time, "x"), top: 0 });
  }
  return factor !== undefined || step !== undefined;
}
