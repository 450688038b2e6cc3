import {
  alertsAfter,
  alertsByID,
  currentAlertIDs,
  lastAlertID,
  type WatchedAlert,
} from "../../store/metadata/alerts/alert-watch.js";
import { addBounded, keepOnly, rowsPerLook, type WatchDeps, type Watched, watchedMax } from "./watched.js";

interface Seen {
  last: number;
  /** Those that go on, in the order of their beginnings. */
  readonly current: Set<number>;
}

export function alertsWatched({ db, feed }: WatchDeps): Watched<Seen> {
  function publishAlert(tenant: number, alert: WatchedAlert, state: "began" | "ended"): void {
    const { id, deviceIntID, deviceID, alertName, alertSeverity, startTime, endTime } = alert;
    const time = state === "began" ? startTime : (endTime ?? startTime);
    const told = { id, deviceIntID, deviceID, alertName, alertSeverity, state, time };
    feed.tell(tenant, { topic: "alerts", ...told });
  }

  async function lookForEnds(tenant: number, current: Set<number>): Promise<void> {
    if (current.size === 0) return;
    const there = await alertsByID(db, [...current]);
    for (const alert of there) if (alert.endTime !== null) publishAlert(tenant, alert, "ended");
    keepOnly(
      current,
      there.flatMap(({ id, endTime }) => (endTime === null ? [id] : [])),
    );
  }

  return {
    topic: "alerts",
    begin: async (tenant) => {
      const last = await lastAlertID(db);
      return { last, current: new Set((await currentAlertIDs(db, tenant, watchedMax)).reverse()) };
    },
    look: async (tenant, seen) => {
      await lookForEnds(tenant, seen.current);
      for (const alert of await alertsAfter(db, tenant, seen.last, rowsPerLook)) {
        seen.last = alert.id;
        publishAlert(tenant, alert, "began");
        if (alert.endTime === null) addBounded(seen.current, alert.id);
        else publishAlert(tenant, alert, "ended");
      }
    },
  };
}
