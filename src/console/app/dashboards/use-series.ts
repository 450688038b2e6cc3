/** What a panel's series are over the range of its dashboard, and over the earlier one that it is compared with. */

import type { Mark } from "../charts/decorations.js";
import { type Query as Answering, useQuery } from "../query.js";
import { type Earlier, findEarlier } from "../range/comparison.js";
import type { Board } from "./context.js";
import type { SeriesPanel } from "./document.js";
import type { Asked, SeriesAnswer } from "./source.js";

interface Answered {
  readonly now: SeriesAnswer;
  readonly earlier: { readonly place: Earlier; readonly answer: SeriesAnswer } | null;
  /** Alerts of its devices. */
  readonly marks: readonly Mark[];
}

export function useSeries(
  panel: SeriesPanel,
  board: Board,
  { size, isVisible }: { readonly size: Asked["size"]; readonly isVisible: boolean },
): Answering<Answered> {
  const { source, from, to, zone, round } = board;
  const { series, unit, fill, compare } = panel;
  const question = JSON.stringify([panel.id, series, unit, fill, compare, source.key, zone, size]);
  // A panel that is not visible sends no query.
  const key = isVisible ? `${question} ${from} ${to} ${round}` : null;
  return useQuery(key, async (signal) => {
    const asked = { from, to, zone, size };
    const earlier = compare === undefined ? null : findEarlier({ from, to }, compare, zone);
    const [now, before, marks] = await Promise.all([
      source.series(panel, asked, signal),
      earlier === null
        ? null
        : source.series(panel, { ...asked, from: earlier.from, to: earlier.to }, signal),
      panel.type === "chart" ? source.marks(panel, { from, to }, signal) : [],
    ]);
    return {
      now,
      earlier: earlier === null || before === null ? null : { place: earlier, answer: before },
      marks,
    };
  });
}
