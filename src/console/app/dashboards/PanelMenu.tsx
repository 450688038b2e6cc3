/** What a panel shows, to take along: as a file, or as the requests that it makes. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { saveText } from "../files.js";
import { t } from "../i18n.js";
import { inParallel } from "../in-parallel.js";
import { CopyButton } from "../shell/CopyButton.js";
import { listDataRequests } from "./api-source.js";
import type { Board } from "./context.js";
import { isSeriesPanel, type Panel, type SeriesPanel } from "./document.js";
import { formatCurl } from "./panel-curl.js";
import { nameLine } from "./panel-lines.js";
import { createTable, formatTableCsv } from "./panel-table.js";
import type { Asked, PanelSource } from "./source.js";

interface PanelMenuProps {
  readonly panel: Panel;
  readonly board: Board;
  readonly title: string;
}

const pointsMax = 10_000;
/** Exports, which may be large. */
const atOnce = 2;

export function PanelMenu({ panel, board, title }: PanelMenuProps) {
  const fault = useSignal<string | null>(null);
  const name = (title === "" ? panel.id : title).replaceAll(/[^\p{L}\p{N}_-]+/gu, "-");

  async function save(of: SeriesPanel): Promise<void> {
    fault.value = null;
    try {
      for (const { file, text } of await createCsvFiles(of, board, name)) saveText(text, "text/csv", file);
    } catch (error) {
      fault.value = error instanceof Error ? error.message : String(error);
    }
  }

  const curl = board.source.isOwn ? formatCurl(panel, board) : "";
  return (
    <>
      {isSeriesPanel(panel) && panel.series.length > 0 && (
        <button type="button" class="button quiet" onClick={() => void save(panel)} title={t("board.csv")}>
          CSV
        </button>
      )}
      {curl !== "" && <CopyButton text={curl}>curl</CopyButton>}
      {fault.value !== null && (
        <span class="status bad" role="alert">
          {fault.value}
        </span>
      )}
    </>
  );
}

interface CsvFile {
  readonly file: string;
  readonly text: string;
}

/**
 * Raw points of one's own devices go out as the API exports them, every one and to the microsecond, so that they can come
 * in again as the same points. Windows, and what a share shows, are a table.
 */
async function createCsvFiles(panel: SeriesPanel, board: Board, name: string): Promise<CsvFile[]> {
  const { source, from, to, zone, variables, chosen } = board;
  const asked = { from, to, zone, size: { maxPoints: pointsMax } };
  const exported = source.isOwn
    ? listDataRequests(panel, asked, variables, chosen).filter(({ path }) => path === "/original_data")
    : [];
  const files = await inParallel(exported, atOnce, async ({ path, query }) => {
    // The bounds are instants, so a zone would only change how times are written: without one they are UTC.
    const { maxPoints: _, timeFormat: __, timezone: ___, ...whole } = query;
    return call<string>("GET", path, { query: whole, headers: { Accept: "text/csv" }, isText: true });
  });
  const rest = panel.series.filter(({ metricIntID }) => !source.isOwn || metricIntID !== undefined);
  if (rest.length > 0) files.push(await tableFile({ ...panel, series: rest }, source, asked));
  return files.map((text, i) => ({ file: `${name}${i === 0 ? "" : `-${i + 1}`}.csv`, text }));
}

async function tableFile(panel: SeriesPanel, source: PanelSource, asked: Asked): Promise<string> {
  const { series, points } = await source.series(panel, asked, new AbortController().signal);
  const table = createTable(
    series.flatMap((items, i) =>
      items.map((item) => ({
        name: nameLine(item, panel.series[i]?.label, panel.series[i]?.deviceID ?? null),
        unit: points[i]?.unitSymbol ?? null,
        ...("originalData" in item ? item.originalData : item.metricData),
      })),
    ),
  );
  return formatTableCsv(table);
}
