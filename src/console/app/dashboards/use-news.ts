/** Tells a dashboard that what it shows has changed: new points of its devices, alerts that begin and end. */
import { useEffect, useRef } from "preact/hooks";
import { useLive } from "../live/live.js";
import { type DashboardDocument, isSeriesPanel } from "./document.js";
import { type Chosen, targetOf } from "./targets.js";

/** So much is waited for, so that a stream of points does not become a stream of questions. */
const gatherMs = 2000;
/** What one stream takes. */
const devicesMax = 100;

/** @param isOn whether the range reaches until now, and the page may ask */
export function useNews(
  document: DashboardDocument,
  chosen: Chosen,
  isOn: boolean,
  onNews: () => void,
): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const tell = useRef(onNews);
  tell.current = onNews;
  useEffect(() => () => clearTimeout(timer.current), []);

  function gather(): void {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      tell.current();
    }, gatherMs);
  }

  useLive({ devices: isOn ? devicesOf(document, chosen) : [], onPoints: gather });
  const hasAlerts = document.panels.some(({ type }) => type === "alerts");
  useLive({ devices: isOn && hasAlerts ? null : [], onAlerts: gather });
}

function devicesOf({ panels, variables }: DashboardDocument, chosen: Chosen): string[] {
  const found = new Set<string>();
  for (const panel of panels.filter(isSeriesPanel)) {
    for (const { deviceID } of panel.series) {
      const target = targetOf(deviceID, "device", variables, chosen);
      if (target?.type === "device") found.add(target.id);
    }
  }
  return [...found].slice(0, devicesMax);
}
