import type { Alert } from "../../store/metadata/alerts/alerts.js";
import { label } from "../http/labels.js";
import type { Stamped } from "./context.js";

export function currentAlert(alert: Alert, { stamp }: Stamped) {
  return {
    id: alert.id,
    alertName: alert.alertName,
    alertContent: alert.alertContent,
    alertSeverity: alert.alertSeverity,
    alertSeverityLabel: label("alertSeverity", alert.alertSeverity),
    alertTimes: alert.alertTimes,
    alertDetail: alert.alertDetail,
    deviceID: alert.deviceID,
    deviceName: alert.deviceName,
    startTime: stamp(alert.startTime),
    createAt: stamp(alert.createAt),
    updateAt: stamp(alert.updateAt),
  };
}

export function historyAlert(alert: Alert, context: Stamped) {
  return { ...currentAlert(alert, context), endTime: context.stamp(alert.endTime) };
}
