/** The chosen series as lines or as a table. */
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/LazyChart.js";
import { language, t } from "../i18n.js";
import { createDrawn, type Live, type Shown, type Span } from "./drawn.js";
import { SeriesTable, withExtremes } from "./SeriesTable.js";
import { type ExploreState, mean } from "./state.js";
import { unfinishedFrom } from "./windows.js";

const height = 380;
const heightMin = 190;

interface DrawnSeriesProps {
  readonly answer: Shown;
  readonly state: ExploreState;
  readonly span: Span;
  readonly live: Live;
  readonly isTable: boolean;
  onRange(from: number, to: number): void;
}

export function DrawnSeries({
  answer,
  state: { unit, zone, aggregate },
  span,
  live,
  isTable,
  onRange,
}: DrawnSeriesProps) {
  // A chart is given new lines only when they are: putting them together takes longer than drawing them.
  const groups = useMemo(() => createDrawn(answer, live), [answer, live.round, language.value]);
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
            marks={answer.marks}
            unfinishedFrom={unit === "real" ? null : unfinishedFrom(zone, unit, span)}
            onRange={onRange}
          />
        ))
      )}
      {unit !== "real" && aggregate === mean && <p class="muted hint">{t("explore.windowHint")}</p>}
    </>
  );
}
