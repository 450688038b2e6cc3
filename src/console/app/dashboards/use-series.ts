/** What a panel's series are over the range of its dashboard, and over the earlier one that it is compared with. */
import { type Asked as Answering, useAsk } from "../ask.js";
import { spanOf } from "../range/range.js";
import type { Board } from "./context.js";
import type { SeriesPanel } from "./document.js";
import type { Asked, SeriesAnswer } from "./source.js";

interface Answered {
  readonly now: SeriesAnswer;
  readonly earlier: SeriesAnswer | null;
  /** How much earlier. */
  readonly byMs: number;
  readonly from: number;
  readonly to: number;
}

export function useSeries(
  panel: SeriesPanel,
  board: Board,
  { size, isVisible }: { readonly size: Asked["size"]; readonly isVisible: boolean },
): Answering<Answered> {
  const { source, from, to, zone, round } = board;
  const { series, unit, fill, compare } = panel;
  const question = JSON.stringify([panel.id, series, unit, fill, compare, source.key, zone, size]);
  // Whoever is not seen keeps his question, and so asks nothing.
  const key = isVisible ? `${question} ${from} ${to} ${round}` : null;
  return useAsk(key, async (signal) => {
    const asked = { from, to, zone, size };
    const span = compare === undefined ? null : spanOf({ start: compare, end: "now" }, from, zone);
    const byMs = span === null ? 0 : from - span.from;
    const [now, earlier] = await Promise.all([
      source.series(panel, asked, signal),
      span === null ? null : source.series(panel, { ...asked, from: from - byMs, to: to - byMs }, signal),
    ]);
    return { now, earlier, byMs, from, to };
  });
}
