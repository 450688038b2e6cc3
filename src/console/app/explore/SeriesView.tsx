/** What is chosen, drawn or as a table, with the files that can be had of it. */
import { useSignal } from "@preact/signals";
import { ApiFailure, asCurl } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { alertMarks } from "../charts/alert-marks.js";
import { Chart } from "../charts/LazyChart.js";
import { t } from "../i18n.js";
import { earlierOf } from "../range/comparison.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status } from "../shell/Status.js";
import { type Chosen, keyOf } from "./chosen.js";
import { downloadPoints, downloadText } from "./download.js";
import { groupsOf } from "./lines.js";
import { csvOf } from "./rows.js";
import { SeriesTable, withExtremes } from "./SeriesTable.js";
import { pointsQuery, valuesOf } from "./series.js";
import { type ExploreState, mean } from "./state.js";
import { useLivePoints, withTail } from "./use-live-points.js";
import { windowStart } from "./windows.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

interface SeriesViewProps {
  readonly state: ExploreState;
  readonly chosen: readonly Chosen[];
  readonly span: Span;
  /** Another one asks anew. */
  readonly round: number;
  onRange(from: number, to: number): void;
}

const height = 380;
const heightMin = 190;
const [pixelsMin, pixelsMax] = [320, 4000];
/** A range that moves is asked for again so often; single points come by themselves meanwhile. */
const [windowsEveryMs, pointsEveryMs] = [5000, 300_000];
/** Aggregates that are in the unit of what they are of. */
const sameUnit: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7]);

export function SeriesView({ state, chosen, span, round, onRange }: SeriesViewProps) {
  const { unit, zone, aggregate, compare, isTable, isLive } = state;
  const still = isLive ? heldStill(span, unit === "real" ? pointsEveryMs : windowsEveryMs) : span;
  const maxPoints = 2 * Math.max(pixelsMin, Math.min(innerWidth, pixelsMax));
  const asked = { unit, aggregate, zone, maxPoints, ...still };
  const earlier = compare === null ? null : earlierOf(span, compare, zone);
  const devices = [...new Set(chosen.map(({ device }) => device.deviceID))];
  const key = [JSON.stringify(asked), compare, ...chosen.map(keyOf), round].join(" ");
  const answer = useAsk(key, async (signal) => {
    const [found, before, marks] = await Promise.all([
      valuesOf(chosen, asked, signal),
      earlier === null ? null : valuesOf(chosen, { ...asked, from: earlier.from, to: earlier.to }, signal),
      alertMarks(devices, still, signal),
    ]);
    return { found, before, earlier, marks, compare };
  });
  const live = useLivePoints(devices, isLive && unit === "real");
  if (chosen.length === 0) return <p class="notice">{t("explore.noSeries")}</p>;
  return (
    <Answer asked={answer}>
      {(data) => {
        const groups = groupsOf({
          chosen,
          found: new Map(
            [...data.found].map(([name, values]) => [name, withTail(values, live.tails.get(name))]),
          ),
          earlier:
            data.earlier === null || data.before === null || data.compare === null
              ? null
              : { span: data.earlier, found: data.before, words: t(`compare.${data.compare}`) },
          hasUnits: unit === "real" || sameUnit.has(aggregate),
        });
        const lines = withExtremes(groups.flatMap((group) => group.lines));
        return (
          <>
            {isLive && unit === "real" && !live.isConnected && (
              <p>
                <Status tone="warn" word={t("live.off")} />
              </p>
            )}
            {groups.length === 0 ? (
              <p class="notice">{t("explore.noPoints")}</p>
            ) : isTable ? (
              <SeriesTable lines={lines} zone={zone} />
            ) : (
              groups.map((group) => (
                <Chart
                  key={group.lines[0]?.unit}
                  {...group}
                  zone={zone}
                  {...span}
                  height={Math.max(heightMin, height / groups.length)}
                  syncKey="explore"
                  marks={data.marks}
                  unfinishedFrom={unit === "real" ? null : unfinished(zone, unit, span)}
                  onRange={onRange}
                />
              ))
            )}
            {unit !== "real" && aggregate === mean && <p class="muted hint">{t("explore.windowHint")}</p>}
            <Files state={state} span={span} chosen={chosen} csv={() => csvOf(lines, zone)} />
          </>
        );
      }}
    </Answer>
  );
}

/** The window that goes on, if the range reaches it. */
function unfinished(zone: string, unit: Exclude<ExploreState["unit"], "real">, { to }: Span): number | null {
  const start = windowStart(zone, unit, Date.now());
  return to > start ? start : null;
}

/** A range that moves, standing still for a while: wide enough for the whole of it. */
function heldStill({ from, to }: Span, forMs: number): Span {
  const step = (time: number): number => Math.floor(time / forMs) * forMs;
  return { from: step(from), to: step(to) + forMs };
}

interface FilesProps {
  readonly state: ExploreState;
  readonly span: Span;
  readonly chosen: readonly Chosen[];
  csv(): string;
}

/** Points come whole from the service, and can be imported again; windows and formulas as they are shown. */
function Files({ state: { unit }, span, chosen, csv }: FilesProps) {
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
      {points.length > 0 && (
        <CopyButton text={asCurl("GET", "/original_data", { ...query, timeFormat: "ms" })}>
          {t("action.curl")}
        </CopyButton>
      )}
      {fault.value !== null && (
        <span class="status bad" role="alert">
          {t("state.failed", { reason: fault.value })}
        </span>
      )}
    </p>
  );
}
