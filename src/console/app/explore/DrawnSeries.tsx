/** What is chosen as lines or as a table. */
import { useMemo } from "preact/hooks";
import type { Mark } from "../charts/decorations.js";
import { Chart } from "../charts/LazyChart.js";
import { language, t } from "../i18n.js";
import { type Chosen, keyOf } from "./chosen.js";
import { drawnOf, type Live, type Shown, type Span } from "./drawn.js";
import { SeriesTable, withExtremes } from "./SeriesTable.js";
import { type ExploreState, mean } from "./state.js";
import type { Tails } from "./tails.js";
import { windowStart } from "./windows.js";

const height = 380;
const heightMin = 190;

interface DrawnSeriesProps {
  readonly answer: Shown;
  readonly state: ExploreState;
  readonly span: Span;
  readonly live: Live;
  readonly isLive: boolean;
  readonly isTable: boolean;
  onRange(from: number, to: number): void;
}

export function DrawnSeries({
  answer,
  state: { unit, zone, aggregate },
  span,
  live,
  isLive,
  isTable,
  onRange,
}: DrawnSeriesProps) {
  // A chart is given new lines only when they are: putting them together takes longer than drawing them.
  const groups = useMemo(() => drawnOf(answer, live), [answer, live.round, language.value]);
  const marks = useMemo(
    () => (isLive ? [...answer.marks, ...lateMarks(answer.chosen, live.tails)] : answer.marks),
    [answer, live.round, isLive],
  );
  if (groups.length === 0) return <p class="notice">{t("explore.noPoints")}</p>;
  return (
    <>
      {isTable ? (
        <SeriesTable lines={withExtremes(groups.flatMap((group) => group.lines))} zone={zone} />
      ) : (
        groups.map((group) => (
          <Chart
            key={group.lines[0]?.unit}
            {...group}
            zone={zone}
            {...span}
            height={Math.max(heightMin, height / groups.length)}
            syncKey="explore"
            marks={marks}
            unfinishedFrom={unit === "real" ? null : unfinished(zone, unit, span)}
            onRange={onRange}
          />
        ))
      )}
      {unit !== "real" && aggregate === mean && <p class="muted hint">{t("explore.windowHint")}</p>}
    </>
  );
}

/** What came after newer points, as marks on the axis. */
function lateMarks(chosen: readonly Chosen[], tails: Tails): Mark[] {
  return chosen.flatMap((one) => {
    const { of } = one;
    if (!("point" in of)) return [];
    const text = t("explore.late", { name: of.point.dataPointName });
    return (tails.get(keyOf(one))?.late ?? []).map((time) => ({ time, tone: "idle" as const, text }));
  });
}

/** The window that goes on, if the range reaches it. */
function unfinished(zone: string, unit: Exclude<ExploreState["unit"], "real">, { to }: Span): number | null {
  const start = windowStart(zone, unit, Date.now());
  return to > start ? start : null;
}
