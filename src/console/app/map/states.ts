/** Marks of a map: their shapes and words. */
import { wordOf } from "../codes.js";
import { t } from "../i18n.js";
import type { Tone } from "../shell/Status.js";
import type { Cluster } from "./places.js";

export const statusTones: readonly Tone[] = ["idle", "good", "warn"];
const majorSeverity = 2;

export function toneOfSeverity(severity: number): Tone {
  return severity <= majorSeverity ? "bad" : "warn";
}

/** Alerts come before the state of a connection; devices that stand together without any are just devices. */
export function toneOf({ worstSeverity, deviceStatus, count }: Cluster): Tone {
  if (worstSeverity !== null) return toneOfSeverity(worstSeverity);
  return count === 1 ? (statusTones[deviceStatus ?? 0] ?? "idle") : "good";
}

export function stateOf({ worstSeverity, deviceStatus, count }: Cluster): string {
  if (worstSeverity !== null) return t("map.worst", { severity: wordOf("alertSeverity", worstSeverity) });
  return count === 1 ? wordOf("deviceStatus", deviceStatus ?? 0) : t("map.noAlerts");
}

export const nameOf = ({ count, deviceName }: Cluster): string =>
  count === 1 ? (deviceName ?? "") : t("map.devices", { count });
