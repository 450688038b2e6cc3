/** Marks of a map in words. */
import { wordOf } from "../codes.js";
import { t } from "../i18n.js";
import type { Cluster } from "./places.js";

export function stateOf({ worstSeverity, deviceStatus, count }: Cluster): string {
  if (worstSeverity !== null) return t("map.worst", { severity: wordOf("alertSeverity", worstSeverity) });
  return count === 1 ? wordOf("deviceStatus", deviceStatus ?? 0) : t("map.noAlerts");
}

export const nameOf = ({ count, deviceName }: Cluster): string =>
  count === 1 ? (deviceName ?? "") : t("map.devices", { count });
