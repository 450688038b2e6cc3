/** A dashboard as it is looked at, whether one's own or shared: its controls and its panels, asked again by themselves. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { isZone } from "../charts/zone.js";
import { t } from "../i18n.js";
import { spanOf } from "../range/range.js";
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
  const zone = isZone(tz) && tz !== "" ? tz : zoneOf(document, deploymentZone);
  const now = useSignal(Date.now());
  const round = useSignal(0);
  useEffect(() => {
    if (refreshSeconds === 0) return;
    const timer = setInterval(() => {
      if (!window.document.hidden) now.value = Date.now();
    }, refreshSeconds * 1000);
    return () => clearInterval(timer);
  }, [refreshSeconds]);
  const span = spanOf({ start, end }, now.value, zone);
  const source = sourceOf(chosen);
  useNews(document, chosen, source.isOwn && end === "now", () => {
    if (!window.document.hidden) now.value = Date.now();
  });
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
          now.value = Date.now();
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
          round: round.value,
          onRange: (first, last) =>
            setQuery({ from: String(Math.floor(first)), to: String(Math.ceil(last)) }, { replace: false }),
        })
      )}
    </>
  );
}

/** The document's zone; a variable of type timezone comes before it. */
function zoneOf({ timezone, variables }: DashboardDocument, deploymentZone: string): string {
  const named = variables.find(({ type }) => type === "timezone")?.value ?? timezone;
  if (named === "browser") return Intl.DateTimeFormat().resolvedOptions().timeZone;
  return named !== "deployment" && isZone(named) ? named : deploymentZone;
}
