/** The files that can be had of what is chosen, and its requests to copy. */
import { useSignal } from "@preact/signals";
import { ApiFailure, asCurl } from "../api.js";
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";
import type { Chosen } from "./chosen.js";
import { downloadPoints, downloadText } from "./download.js";
import type { Span } from "./drawn.js";
import { type Asked, listRequests, pointsQuery } from "./series.js";
import type { ExploreState } from "./state.js";

interface SeriesFilesProps {
  readonly state: ExploreState;
  readonly span: Span;
  readonly chosen: readonly Chosen[];
  readonly asked: Asked;
  csv(): string;
}

/** Points come whole from the service, and can be imported again; windows and formulas as they are shown. */
export function SeriesFiles({ state: { unit }, span, chosen, asked, csv }: SeriesFilesProps) {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const points = chosen.filter(({ of }) => "point" in of);
  const isOfPoints = unit === "real" && points.length > 0;
  const query = {
    ...pointsQuery(points),
    startTime: Math.floor(span.from),
    endTime: Math.ceil(span.to),
  };
  const devices = [...new Set(chosen.map(({ device }) => device.deviceID))].join();
  const name = `${devices}-${new Date(span.from).toISOString().slice(0, 10)}.csv`;
  async function download(): Promise<void> {
    fault.value = null;
    isBusy.value = true;
    try {
      if (isOfPoints) await downloadPoints(query, name);
      else downloadText(csv(), name);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = error.message;
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <p class="row">
      <button
        type="button"
        class="button quiet"
        disabled={isBusy.value}
        title={t(isOfPoints ? "explore.csvPoints" : "explore.csvWindows")}
        onClick={() => void download()}
      >
        {t("explore.csv")}
      </button>
      <CopyButton
        text={listRequests(chosen, asked)
          .map(({ method, path, query, body }) => asCurl(method, path, query, body))
          .join("\n")}
      >
        {t("action.curl")}
      </CopyButton>
      {fault.value !== null && (
        <span class="status bad" role="alert">
          {t("state.failed", { reason: fault.value })}
        </span>
      )}
    </p>
  );
}
