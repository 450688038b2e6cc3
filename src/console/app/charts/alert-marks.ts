/** Alerts of the range, as ticks on the axis. */
import { call, type Page } from "../api.js";
import type { Mark } from "./decorations.js";

interface AlertRow {
  readonly alertName: string;
  readonly alertContent: string;
  readonly alertSeverity: number;
  readonly startTime: number;
  readonly deviceID: string;
}

const alertsMax = 100;
const severe = 2;

/** The newest of each device that began within the range. */
export async function alertMarks(
  devices: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<readonly Mark[]> {
  const lists = await Promise.all(
    devices.flatMap((deviceID) =>
      ["/current_alerts", "/history_alerts"].map((path) =>
        call<Page<AlertRow>>("GET", path, {
          query: { deviceID, startTime: Math.floor(from), endTime: Math.ceil(to), _limit: alertsMax },
          headers: { "Time-Format": "ms" },
          signal,
        }),
      ),
    ),
  );
  return lists
    .flatMap(({ items }) => items)
    .map(({ startTime, alertSeverity, alertName, alertContent, deviceID }) => ({
      time: startTime,
      tone: alertSeverity <= severe ? ("bad" as const) : ("warn" as const),
      text: [
        alertContent.startsWith(alertName) ? alertContent : `${alertName}: ${alertContent}`,
        ...(devices.length > 1 ? [deviceID] : []),
      ].join(" · "),
    }))
    .sort((a, b) => a.time - b.time);
}
