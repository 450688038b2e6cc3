/** An answer of Explore as it is drawn and exported: by what was asked, with what has come since. */
import type { Mark } from "../charts/decorations.js";
import { t } from "../i18n.js";
import type { findEarlier } from "../range/comparison.js";
import type { Chosen } from "./chosen.js";
import { groupLines } from "./lines.js";
import { withExtremes } from "./SeriesTable.js";
import type { Asked, Values } from "./series.js";
import type { ExploreState } from "./state.js";
import { withTail } from "./tails.js";
import type { useLivePoints } from "./use-live-points.js";

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Aggregates that are in the unit of what they are of. */
const sameUnit: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7]);

/** A request, kept with its answer: the answer is drawn and exported by it, not by the present request. */
interface Question {
  readonly state: ExploreState;
  readonly chosen: readonly Chosen[];
  readonly span: Span;
  readonly asked: Asked;
}

export interface Shown extends Question {
  readonly key: string;
  /** The key without the range. */
  readonly settings: string;
  readonly found: ReadonlyMap<string, Values>;
  readonly before: ReadonlyMap<string, Values> | null;
  readonly earlier: ReturnType<typeof findEarlier> | null;
  readonly marks: readonly Mark[];
}

export type Live = ReturnType<typeof useLivePoints>;

export function createDrawn({ chosen, found, before, earlier, state }: Shown, { tails, late }: Live) {
  const { unit, aggregate, compare } = state;
  return groupLines({
    chosen,
    found: new Map(
      [...found].map(([name, values]) => [
        name,
        unit === "real" ? withTail(values, tails.get(name)) : values,
      ]),
    ),
    earlier:
      earlier === null || before === null || compare === null
        ? null
        : { span: earlier, found: before, words: t(`compare.${compare}`) },
    lateOf: ({ device, of }) =>
      unit === "real" && "point" in of ? late.of(device.deviceID, of.point.id) : [],
    hasUnits: unit === "real" || sameUnit.has(aggregate),
  });
}

export const createShownLines = (shown: Shown, live: Live) =>
  withExtremes(createDrawn(shown, live).flatMap((group) => group.lines));
