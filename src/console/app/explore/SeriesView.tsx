/** What is chosen, drawn or as a table, with the files that can be had of it. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiFailure, asCurl } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { alertMarks } from "../charts/alert-marks.js";
import type { Mark } from "../charts/decorations.js";
import { Chart } from "../charts/LazyChart.js";
import { language, t } from "../i18n.js";
import { earlierOf } from "../range/comparison.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status } from "../shell/Status.js";
import { type Chosen, keyOf } from "./chosen.js";
import { downloadPoints, downloadText } from "./download.js";
import { groupsOf } from "./lines.js";
import { csvOf } from "./rows.js";
import { SeriesTable, withExtremes } from "./SeriesTable.js";
import { type Asked, pointsQuery, requestsOf, type Values, valuesOf } from "./series.js";
import { type ExploreState, mean } from "./state.js";
import { isFull, type Tails, withTail } from "./tails.js";
import { useLivePoints } from "./use-live-points.js";
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
/** So often at most when they come faster than they can be kept. */
const refillMs = 5000;
/** Aggregates that are in the unit of what they are of. */
const sameUnit: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7]);

/** What was asked, kept with its answer: it is drawn and exported by that, not by what is asked now. */
interface Question {
  readonly state: ExploreState;
  readonly chosen: readonly Chosen[];
  readonly span: Span;
  readonly asked: Asked;
}

interface Shown extends Question {
  readonly key: string;
  /** Of the key all but the range. */
  readonly settings: string;
  readonly found: ReadonlyMap<string, Values>;
  readonly before: ReadonlyMap<string, Values> | null;
  readonly earlier: ReturnType<typeof earlierOf> | null;
  readonly marks: readonly Mark[];
}

export function SeriesView({ state, chosen, span, round, onRange }: SeriesViewProps) {
  const { unit, zone, aggregate, compare, isLive } = state;
  const still = isLive ? heldStill(span, unit === "real" ? pointsEveryMs : windowsEveryMs) : span;
  const maxPoints = 2 * Math.max(pixelsMin, Math.min(innerWidth, pixelsMax));
  const asked = { unit, aggregate, zone, maxPoints, ...still };
  const earlier = compare === null ? null : earlierOf(still, compare, zone);
  const devices = [...new Set(chosen.map(({ device }) => device.deviceID))];
  const refill = useSignal(0);
  const settings = [unit, aggregate, zone, compare, ...chosen.map(keyOf)].join(" ");
  const key = [settings, still.from, still.to, maxPoints, round, refill.value].join(" ");
  const answer = useAsk<Shown>(key, async (signal) => {
    const [found, before, marks] = await Promise.all([
      valuesOf(chosen, asked, signal),
      earlier === null ? null : valuesOf(chosen, { ...asked, from: earlier.from, to: earlier.to }, signal),
      alertMarks(devices, still, signal),
    ]);
    return { key, settings, state, chosen, span, asked, found, before, earlier, marks };
  });
  const isPoints = isLive && unit === "real";
  const live = useLivePoints(devices, isPoints);
  const isOverdue = answer.data !== undefined && isPoints && isFull(answer.data.found, live.tails);
  useEffect(() => {
    if (!isOverdue) return;
    refill.value++;
    const timer = setInterval(() => refill.value++, refillMs);
    return () => clearInterval(timer);
  }, [isOverdue]);
  if (chosen.length === 0) return <p class="notice">{t("explore.noSeries")}</p>;
  return (
    <Answer asked={answer}>
      {(data) => {
        // A range that runs moves on between two answers, and the axis follows the hand before its answer is there.
        const isOld = data.key !== key && !(isLive && data.settings === settings);
        const shown = isOld ? data : { ...data, state, chosen, span };
        return (
          <div class={isOld ? "answer old" : "answer"} aria-busy={isOld && answer.isLoading}>
            {isPoints && !live.isConnected && (
              <p>
                <Status tone="warn" word={t("live.off")} />
              </p>
            )}
            <Drawn
              answer={data}
              state={shown.state}
              span={span}
              live={live}
              isLive={isPoints}
              isTable={state.isTable}
              onRange={onRange}
            />
            <Files
              state={shown.state}
              span={shown.span}
              chosen={shown.chosen}
              asked={data.asked}
              csv={() => csvOf(linesOf(data, live), data.state.zone)}
            />
          </div>
        );
      }}
    </Answer>
  );
}

type Live = ReturnType<typeof useLivePoints>;

function drawnOf({ chosen, found, before, earlier, state }: Shown, { tails }: Live) {
  const { unit, aggregate, compare } = state;
  return groupsOf({
    chosen,
    found: new Map(
      [...found].map(([name, values]) => [
        name,
        unit === "real" ? withTail(values, tails.get(name)) : values,
      ]),
    ),
    earlier:
      earlier === null || before === null || compare === null
        ? null
        : { span: earlier, found: before, words: t(`compare.${compare}`) },
    hasUnits: unit === "real" || sameUnit.has(aggregate),
  });
}

const linesOf = (shown: Shown, live: Live) =>
  withExtremes(drawnOf(shown, live).flatMap((group) => group.lines));

interface DrawnProps {
  readonly answer: Shown;
  readonly state: ExploreState;
  readonly span: Span;
  readonly live: Live;
  readonly isLive: boolean;
  readonly isTable: boolean;
  onRange(from: number, to: number): void;
}

function Drawn({
  answer,
  state: { unit, zone, aggregate },
  span,
  live,
  isLive,
  isTable,
  onRange,
}: DrawnProps) {
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

/** A range that moves, standing still for a while: wide enough for the whole of it. */
function heldStill({ from, to }: Span, forMs: number): Span {
  const step = (time: number): number => Math.floor(time / forMs) * forMs;
  return { from: step(from), to: step(to) + forMs };
}

interface FilesProps {
  readonly state: ExploreState;
  readonly span: Span;
  readonly chosen: readonly Chosen[];
  readonly asked: Asked;
  csv(): string;
}

/** Points come whole from the service, and can be imported again; windows and formulas as they are shown. */
function Files({ state: { unit }, span, chosen, asked, csv }: FilesProps) {
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
        text={requestsOf(chosen, asked)
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
