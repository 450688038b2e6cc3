/** What a panel shows, to take along: as a file, or as the requests that it makes. */
import { useSignal } from "@preact/signals";
import { asCurl, call } from "../api.js";
import { saveText } from "../files.js";
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";
import { questionsOf } from "./api-source.js";
import type { Board } from "./context.js";
import { isSeriesPanel, type Panel, type SeriesPanel } from "./document.js";
import { nameOf } from "./lines-of.js";
import { csvOf, tableOf } from "./table-of.js";

interface PanelMenuProps {
  readonly panel: Panel;
  readonly board: Board;
  readonly title: string;
}

const pointsMax = 10_000;

export function PanelMenu({ panel, board, title }: PanelMenuProps) {
  const fault = useSignal<string | null>(null);
  const name = (title === "" ? panel.id : title).replaceAll(/[^\p{L}\p{N}_-]+/gu, "-");

  async function save(of: SeriesPanel): Promise<void> {
    fault.value = null;
    try {
      for (const { file, text } of await filesOf(of, board, name)) saveText(text, "text/csv", file);
    } catch (error) {
      fault.value = error instanceof Error ? error.message : String(error);
    }
  }

  if (!isSeriesPanel(panel) || panel.series.length === 0) return null;
  return (
    <>
      <button type="button" class="button quiet" onClick={() => void save(panel)} title={t("board.csv")}>
        CSV
      </button>
      {board.source.isOwn && <CopyButton text={curlOf(panel, board)}>curl</CopyButton>}
      {fault.value !== null && (
        <span class="status bad" role="alert">
          {fault.value}
        </span>
      )}
    </>
  );
}

function curlOf(panel: SeriesPanel, { from, to, zone, variables, chosen }: Board): string {
  return questionsOf(panel, { from, to, zone, size: { maxPoints: pointsMax } }, variables, chosen)
    .map(({ path, query }) => asCurl("GET", path, query))
    .join("\n");
}

interface CsvFile {
  readonly file: string;
  readonly text: string;
}

/**
 * Raw points of one's own devices go out as the API exports them, every one and to the microsecond, so that they can come
 * in again as the same points. Windows, and what a share shows, are a table.
 */
async function filesOf(panel: SeriesPanel, board: Board, name: string): Promise<CsvFile[]> {
  const { source, from, to, zone, variables, chosen } = board;
  const asked = { from, to, zone, size: { maxPoints: pointsMax } };
  const questions = questionsOf(panel, asked, variables, chosen);
  const isRaw = questions.every(({ path }) => path === "/original_data");
  if (source.isOwn && isRaw) {
    return Promise.all(
      questions.map(async ({ path, query: { limit: _, timeFormat: __, ...query } }, i) => ({
        file: `${name}${i === 0 ? "" : `-${i + 1}`}.csv`,
        text: await call<string>("GET", path, { query, headers: { Accept: "text/csv" }, isText: true }),
      })),
    );
  }
  const { series, points } = await source.series(panel, asked, new AbortController().signal);
  const table = tableOf(
    series.flatMap((items, i) =>
      items.map((item) => ({
        name: nameOf(item, panel.series[i]?.label, panel.series[i]?.deviceID ?? null),
        unit: points[i]?.unitSymbol ?? null,
        ...("originalData" in item ? item.originalData : item.metricData),
      })),
    ),
  );
  return [{ file: `${name}.csv`, text: csvOf(table) }];
}
