/** Notifies panels of changes in what they show: new points of their devices, alerts that begin and end. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { LatePoints } from "../charts/late-points.js";
import { useLive } from "../live/live.js";
import type { DashboardDocument } from "./document.js";
import { dueAt, listWatched } from "./news.js";
import type { Chosen } from "./targets.js";

/** Panels that no live event reaches are refreshed at this interval. */
const unwatchedMs = 30_000;

/** Points between a panel's first query and the begin of the stream are fetched once, after the page has been drawn. */
const firstMs = 1500;

interface News {
  readonly document: DashboardDocument;
  readonly chosen: Chosen;
  /** Receives all points. */
  readonly late: LatePoints;
  readonly rangeMs: number;
  /** The range reaches until now, and the page may ask. */
  readonly isOn: boolean;
  onNews(panels: readonly string[]): void;
}

export function useNews(news: News): void {
  const { document, chosen, late, isOn } = news;
  const watched = useMemo(() => listWatched(document, chosen), [JSON.stringify([document, chosen])]);
  const gather = useGathered(news);

  const isHeard = useLive({
    devices: isOn ? watched.devices : [],
    onPoints: (points) => {
      const now = Date.now();
      const isLate = points.map(({ deviceID, dataPointIntID, time }) =>
        late.add(deviceID, dataPointIntID, time, now),
      );
      const listPanels = (some: typeof points): string[] => [
        ...new Set(some.flatMap(({ deviceID }) => watched.panelsByKey.get(deviceID) ?? [])),
      ];
      gather(listPanels(points));
      if (isLate.includes(true)) gather(listPanels(points.filter((_, i) => isLate[i])), true);
    },
  });
  useEffect(() => {
    if (!isHeard) return;
    const timer = setTimeout(() => gather([...watched.panelsByKey.values()].flat()), firstMs);
    return () => clearTimeout(timer);
  }, [isHeard, watched]);
  const alerts = document.panels.filter(({ type }) => type === "alerts").map(({ id }) => id);
  useLive({ devices: isOn && alerts.length > 0 ? null : [], onAlerts: () => gather(alerts) });

  const unwatched = isOn ? watched.unwatched : [];
  useEffect(() => {
    if (unwatched.length === 0) return;
    const timer = setInterval(() => gather(unwatched), unwatchedMs);
    return () => clearInterval(timer);
  }, [unwatched.join(" ")]);
}

/** Gathers live events by panel. Events that arrive while the page is hidden are passed on when it is visible again. */
function useGathered(news: News): (panels: readonly string[], isLate?: boolean) => void {
  const newest = useRef(news);
  newest.current = news;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const due = useRef(new Map<string, number>());
  const last = useRef(new Map<string, number>());

  function notify(): void {
    clearTimeout(timer.current);
    if (window.document.hidden) return;
    const now = performance.now();
    const panels = [...due.current].filter(([, at]) => at <= now).map(([id]) => id);
    for (const id of panels) {
      due.current.delete(id);
      last.current.set(id, now);
    }
    if (panels.length > 0) newest.current.onNews(panels);
    if (due.current.size > 0) timer.current = setTimeout(notify, Math.min(...due.current.values()) - now);
  }

  useEffect(() => {
    window.document.addEventListener("visibilitychange", notify);
    return () => {
      window.document.removeEventListener("visibilitychange", notify);
      clearTimeout(timer.current);
    };
  }, []);

  return (panels, isLate = false) => {
    const { document, rangeMs } = newest.current;
    for (const id of panels) {
      const type = document.panels.find((panel) => panel.id === id)?.type;
      if (type === undefined) continue;
      const at = dueAt(type, rangeMs, performance.now(), last.current.get(id), isLate);
      due.current.set(id, Math.min(at, due.current.get(id) ?? at));
    }
    notify();
  };
}
