/** The same values as rows, newest first: for users who cannot see the lines, or who want the numbers. */
import { useSignal } from "@preact/signals";
import { Lateness } from "../charts/Lateness.js";
import type { Line } from "../charts/lines.js";
import { numberText } from "../charts/numbers.js";
import { offsetText, wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { Pager } from "../shell/Pager.js";
import { Scroll } from "../shell/Scroll.js";
import { mergeRows } from "./rows.js";

const rowsShown = 100;

export function SeriesTable({ lines, zone }: { readonly lines: readonly Line[]; readonly zone: string }) {
  const page = useSignal(0);
  const late = lines.map((line) => new Map(line.late?.map(({ time, byMs }) => [time, byMs])));
  const rows = mergeRows(lines).reverse();
  const pages = Math.max(1, Math.ceil(rows.length / rowsShown));
  const at = Math.min(page.value, pages - 1);
  return (
    <>
      <Scroll name={t("explore.asTable")}>
        <table class="table numbers">
          <caption class="unseen">{lines.map(({ name }) => name).join(", ")}</caption>
          <thead>
            <tr>
              <th scope="col">{`${t("explore.time")} (${zone})`}</th>
              {lines.map(({ name, unit }) => (
                <th key={name} scope="col">
                  {unit === null ? name : `${name} (${unit})`}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(at * rowsShown, (at + 1) * rowsShown).map(({ time, values }) => (
              <tr key={time}>
                <th scope="row" class="mono">
                  {wallText(zone, time)} <span class="muted">{offsetText(zone, time)}</span>
                </th>
                {values.map((value, i) => (
                  <td key={lines[i]?.name}>
                    {value === undefined ? "" : numberText(value)}
                    {value !== undefined && <Lateness byMs={late[i]?.get(time)} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {pages > 1 && (
        <Pager
          page={at + 1}
          pages={pages}
          count={rows.length}
          before={t("list.before")}
          after={t("list.after")}
          onPage={(next) => {
            page.value = next - 1;
          }}
        />
      )}
    </>
  );
}

/** The extremes of a band as lines of their own. */
export function withExtremes(lines: readonly Line[]): Line[] {
  return lines.flatMap((line) => {
    const { band, ...plain } = line;
    if (band === undefined) return [plain];
    return [
      plain,
      { ...plain, name: `${line.name}, ${t("explore.lowest")}`, values: band.low },
      { ...plain, name: `${line.name}, ${t("explore.highest")}`, values: band.high },
    ];
  });
}
