/** The chosen series as a chart or a table, with the files that can be downloaded. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { alertMarks } from "../charts/alert-marks.js";
import { pointsOnScreen } from "../charts/data.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { findEarlier } from "../range/comparison.js";
import { Status } from "../shell/Status.js";
import { type Chosen, chosenKey } from "./chosen.js";
import { DrawnSeries } from "./DrawnSeries.js";
import { createShownLines, type Shown, type Span } from "./drawn.js";
import { formatLinesCsv } from "./rows.js";
import { SeriesFiles } from "./SeriesFiles.js";
import { fetchValues } from "./series.js";
import type { ExploreState } from "./state.js";
import { isFull } from "./tails.js";
import { useLivePoints } from "./use-live-points.js";

interface SeriesViewProps {
  readonly state: ExploreState;
  readonly chosen: readonly Chosen[];
  readonly span: Span;
  /** Another one asks anew. */
  readonly round: number;
  onRange(from: number, to: number): void;
}

/** A range that moves is asked for again so often; single points come by themselves meanwhile. */
const [windowsEveryMs, pointsEveryMs] = [5000, 300_000];
/** The shortest interval between fetches if points come faster than they can be kept. */
const refillMs = 5000;
export function SeriesView({ state, chosen, span, round, onRange }: SeriesViewProps) {
  const { unit, zone, aggregate, compare, isLive } = state;
  const still = isLive ? heldStill(span, unit === "real" ? pointsEveryMs : windowsEveryMs) : span;
  const asked = { unit, aggregate, zone, maxPoints: pointsOnScreen(), ...still };
  const earlier = compare === null ? null : findEarlier(still, compare, zone);
  const devices = [...new Set(chosen.map(({ device }) => device.deviceID))];
  const refill = useSignal(0);
  const settings = [unit, aggregate, zone, compare, ...chosen.map(chosenKey)].join(" ");
  const key = [settings, still.from, still.to, asked.maxPoints, round, refill.value].join(" ");
  const answer = useQuery<Shown>(key, async (signal) => {
    const [found, before, marks] = await Promise.all([
      fetchValues(chosen, asked, signal),
      earlier === null ? null : fetchValues(chosen, { ...asked, from: earlier.from, to: earlier.to }, signal),
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
    <QueryResult asked={answer}>
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
            <DrawnSeries
              answer={data}
              state={shown.state}
              span={span}
              live={live}
              isTable={state.isTable}
              onRange={onRange}
            />
            <SeriesFiles
              state={shown.state}
              span={shown.span}
              chosen={shown.chosen}
              asked={data.asked}
              csv={() => formatLinesCsv(createShownLines(data, live), data.state.zone)}
            />
          </div>
        );
      }}
    </QueryResult>
  );
}

/** A range that moves, standing still for a while: wide enough for the whole of it. */
function heldStill({ from, to }: Span, forMs: number): Span {
  const step = (time: number): number => Math.floor(time / forMs) * forMs;
  return { from: step(from), to: step(to) + forMs };
}
