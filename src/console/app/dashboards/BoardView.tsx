/** A dashboard as it is looked at, whether one's own or shared: its controls and its panels, asked again by themselves. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { LatePoints } from "../charts/late-points.js";
import { isZone } from "../charts/zone.js";
import { t } from "../i18n.js";
import { resolveSpan } from "../range/range.js";
import { query, setQuery } from "../router.js";
import { BoardControls, variableKey } from "./BoardControls.js";
import type { Board } from "./context.js";
import type { DashboardDocument } from "./document.js";
import type { PanelSource } from "./source.js";
import type { Chosen } from "./targets.js";
import { useNews } from "./use-news.js";

interface BoardViewProps {
  readonly document: DashboardDocument;
  /** What `deployment` means. */
  readonly deploymentZone: string;
  sourceOf(chosen: Chosen): PanelSource;
  readonly children: (board: Board) => ComponentChildren;
}

export function BoardView({ document, deploymentZone, sourceOf, children }: BoardViewProps) {
  const { variables, refreshSeconds } = document;
  const { from: start = document.range.start, to: end = document.range.end, tz = "" } = query.value;
  const chosen: Chosen = Object.fromEntries(
    variables.flatMap(({ name }) => {
      const value = query.value[variableKey(name)];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const zone = isZone(tz) ? tz : chooseZone(document, deploymentZone);
  const refreshed = useSignal(0);
  const changedAt = useSignal<ReadonlyMap<string, number>>(new Map());
  const round = useSignal(0);
  const late = useMemo(() => new LatePoints(), []);
  // A range that is chosen reaches until the moment at which it is.
  const chosenAt = useMemo(() => Date.now(), [start, end]);
  const now = Math.max(chosenAt, refreshed.value);
  const refresh = (): void => {
    refreshed.value = Date.now();
  };
  useRefresh(refreshSeconds, refresh);
  const span = resolveSpan({ start, end }, now, zone);
  const source = sourceOf(chosen);
  useNews({
    document,
    chosen,
    late,
    rangeMs: span === null ? 0 : span.to - span.from,
    isOn: source.isOwn && end === "now",
    onNews: (panels) => {
      const at = Date.now();
      changedAt.value = new Map([...changedAt.value, ...panels.map((id) => [id, at] as const)]);
    },
  });
  const news = new Map(
    [...changedAt.value].flatMap(([id, at]) => {
      const later = at > now ? resolveSpan({ start, end }, at, zone) : null;
      return later === null ? [] : [[id, later] as const];
    }),
  );
  return (
    <>
      <BoardControls
        range={{ start, end }}
        span={span}
        zone={zone}
        variables={variables}
        chosen={chosen}
        isOwn={source.isOwn}
        onRefresh={() => {
          refresh();
          round.value++;
        }}
      />
      {span === null ? (
        <p class="notice bad">{t("range.wrong")}</p>
      ) : (
        children({
          source,
          variables,
          chosen,
          zone,
          ...span,
          news,
          late,
          round: round.value,
          onRange: (first, last) =>
            setQuery({ from: String(Math.floor(first)), to: String(Math.ceil(last)) }, { replace: false }),
        })
      )}
    </>
  );
}

/** Refreshes every so many seconds while the page is visible, and at once if it becomes visible later than that. */
function useRefresh(seconds: number, refresh: () => void): void {
  useEffect(() => {
    if (seconds === 0) return;
    let last = performance.now();
    const look = (): void => {
      if (window.document.hidden || performance.now() - last < seconds * 1000) return;
      last = performance.now();
      refresh();
    };
    const timer = setInterval(look, Math.min(seconds * 1000, 1000));
    window.document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      window.document.removeEventListener("visibilitychange", look);
    };
  }, [seconds]);
}

/** The document's zone; a variable of type timezone comes before it. */
function chooseZone({ timezone, variables }: DashboardDocument, deploymentZone: string): string {
  const named = variables.find(({ type }) => type === "timezone")?.value ?? timezone;
  // The browser knows where it is; when clocks change there the service says.
  const zone = named === "browser" ? Intl.DateTimeFormat().resolvedOptions().timeZone : named;
  return zone !== "deployment" && isZone(zone) ? zone : deploymentZone;
}
