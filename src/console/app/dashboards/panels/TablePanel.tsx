import { Answer } from "../../ask.js";
import { wallText } from "../../charts/zone.js";
import { t } from "../../i18n.js";
import type { PanelProps } from "../context.js";
import type { SeriesPanel } from "../document.js";
import { nameOf } from "../lines-of.js";
import { cellText, tableOf } from "../table-of.js";
import { useSeries } from "../use-series.js";

/** Rows that are shown; what a file gets is more. */
const rowsMax = 500;

export function TablePanel({ panel, board, isVisible }: PanelProps<SeriesPanel>) {
  const asked = useSeries(panel, board, { size: { limit: rowsMax }, isVisible });
  return (
    <Answer isPart asked={asked}>
      {({ now }) => {
        const { columns, rows } = tableOf(
          now.series.flatMap((items, i) =>
            items.map((item) => ({
              name: nameOf(item, panel.series[i]?.label, panel.series[i]?.deviceID ?? null),
              unit: now.points[i]?.unitSymbol ?? null,
              ...("originalData" in item ? item.originalData : item.metricData),
            })),
          ),
        );
        if (rows.length === 0) return <p class="muted empty">{t("explore.noPoints")}</p>;
        return (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keys
          <div class="scroll whole" tabIndex={0}>
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
                        </td>
                      ))}
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        );
      }}
    </Answer>
  );
}
