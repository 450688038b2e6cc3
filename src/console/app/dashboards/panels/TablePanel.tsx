import { Lateness } from "../../charts/Lateness.js";
import { wallText } from "../../charts/zone.js";
import { t } from "../../i18n.js";
import { QueryResult } from "../../query.js";
import { Scroll } from "../../shell/Scroll.js";
import type { PanelProps } from "../context.js";
import type { SeriesPanel } from "../document.js";
import { findLatePoints } from "../panel-late-points.js";
import { nameLine } from "../panel-lines.js";
import { cellText, createTable } from "../panel-table.js";
import { useSeries } from "../use-series.js";

/** Rows that are shown; what a file gets is more. */
const rowsMax = 500;

export function TablePanel({ panel, board, isVisible }: PanelProps<SeriesPanel>) {
  const asked = useSeries(panel, board, { size: { limit: rowsMax }, isVisible });
  return (
    <QueryResult isPart asked={asked}>
      {({ now }) => {
        const { columns, rows } = createTable(
          now.series.flatMap((items, i) =>
            items.map((item) => ({
              name: nameLine(item, panel.series[i]?.label, panel.series[i]?.deviceID ?? null),
              unit: now.points[i]?.unitSymbol ?? null,
              late: new Map(findLatePoints(board, panel.series[i]).map(({ time, byMs }) => [time, byMs])),
              ...("originalData" in item ? item.originalData : item.metricData),
            })),
          ),
        );
        if (rows.length === 0) return <p class="muted empty">{t("explore.noPoints")}</p>;
        return (
          <Scroll name={`${t("panel.table")}: ${panel.title}`} class="whole">
            <table class="table">
              <thead>
                <tr>
                  <th>{t("board.time")}</th>
                  {columns.map(({ name, unit }, i) => (
                    <th key={`${i} ${name}`} class="number">
                      {name} {unit !== null && <span class="muted">{unit}</span>}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows
                  .slice(-rowsMax)
                  .reverse()
                  .map(({ time, cells }) => (
                    <tr key={time}>
                      <td class="mono">{wallText(board.zone, time)}</td>
                      {cells.map((cell, i) => (
                        <td key={columns[i]?.name} class="number">
                          {cellText(cell)}
                          {cell !== undefined && <Lateness byMs={columns[i]?.late.get(time)} />}
                        </td>
                      ))}
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scroll>
        );
      }}
    </QueryResult>
  );
}
