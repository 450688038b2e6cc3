import { Chart } from "../../charts/LazyChart.js";
import { unfinishedFrom } from "../../explore/windows.js";
import { t } from "../../i18n.js";
import { QueryResult } from "../../query.js";
import type { Board, PanelProps } from "../context.js";
import type { SeriesPanel } from "../document.js";
import { findLatePoints } from "../panel-late-points.js";
import { createPanelLimits, createPanelLines, earlierLines, type PanelLine } from "../panel-lines.js";
import { useSeries } from "../use-series.js";

/** The readout above the chart has one line, or two if one is too short and the panel is high enough. */
const [readoutPixels, secondLinePixels, heightForTwo] = [26, 22, 180];
/** About as wide as a time, a value with its unit, and a letter of a name are. */
const [timePixels, valuePixels, letterPixels] = [165, 80, 7];
const heightMin = 60;
const [pointsMin, pointsMax] = [400, 10_000];

export function ChartPanel({ panel, board, width, height, isVisible }: PanelProps<SeriesPanel>) {
  const maxPoints = Math.min(pointsMax, Math.max(pointsMin, Math.ceil(width / 100) * 200));
  const asked = useSeries(panel, board, { size: { maxPoints }, isVisible });
  return (
    <QueryResult isPart asked={asked}>
      {({ now, earlier, marks }) => {
        const lines = withLate(createPanelLines(panel, now), panel, board);
        const before =
          earlier === null
            ? []
            : earlierLines(createPanelLines(panel, earlier.answer), earlier.place, panel.compare ?? "");
        const all = [...lines, ...before].filter(({ times }) => times.length > 0);
        if (all.length === 0) return <p class="muted empty">{t("explore.noPoints")}</p>;
        const isDouble = height >= heightForTwo && readWidth(all) > width;
        const chart = (
          <Chart
            lines={all}
            zone={board.zone}
            from={board.from}
            to={board.to}
            height={Math.max(heightMin, height - readoutPixels - (isDouble ? secondLinePixels : 0))}
            syncKey="dashboard"
            marks={marks}
            limits={panel.limits === true ? createPanelLimits(lines, now) : []}
            unfinishedFrom={panel.unit === "real" ? null : unfinishedFrom(board.zone, panel.unit, board)}
            onRange={board.onRange}
          />
        );
        return <div class={isDouble ? "double" : undefined}>{chart}</div>;
      }}
    </QueryResult>
  );
}

const readWidth = (lines: readonly PanelLine[]): number =>
  lines.reduce((sum, { name }) => sum + valuePixels + letterPixels * name.length, timePixels);

const withLate = (lines: readonly PanelLine[], panel: SeriesPanel, board: Board): PanelLine[] =>
  lines.map((line) => ({ ...line, late: findLatePoints(board, panel.series[line.series]) }));
