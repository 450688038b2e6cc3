/** Marks of a map: their shapes and words. */
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import type { Tone } from "../shell/Status.js";
import type { Cluster } from "./places.js";

export const statusTones: readonly Tone[] = ["idle", "good", "warn"];
const majorSeverity = 2;

export function toneOfSeverity(severity: number): Tone {
  return severity <= majorSeverity ? "bad" : "warn";
}

/** Alerts come before the state of a connection; devices that stand together without any are just devices. */
export function chooseClusterTone({ worstSeverity, deviceStatus, count }: Cluster): Tone {
  if (worstSeverity !== null) return toneOfSeverity(worstSeverity);
  return count === 1 ? (statusTones[deviceStatus ?? 0] ?? "idle") : "good";
}

export function describeClusterState({ worstSeverity, deviceStatus, count }: Cluster): string {
  if (worstSeverity !== null)
    return t("map.worst", { severity: describeCode("alertSeverity", worstSeverity) });
  return count === 1 ? describeCode("deviceStatus", deviceStatus ?? 0) : t("map.noAlerts");
}

export const nameCluster = ({ count, deviceName }: Cluster): string =>
  count === 1 ? (deviceName ?? "") : t("map.devices", { count });
