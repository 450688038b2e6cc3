import type { Alert } from "../../store/metadata/alerts/alerts.js";
import { alertInEnglish } from "../http/alert-text.js";
import type { Labelled } from "./context.js";

export function currentAlert(alert: Alert, { stamp, label, language }: Labelled) {
  const inWords = (text: string): string => (language === "en" ? alertInEnglish(alert, text) : text);
  return {
    id: alert.id,
    alertName: inWords(alert.alertName),
    alertContent: inWords(alert.alertContent),
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

export function historyAlert(alert: Alert, context: Labelled) {
  return { ...currentAlert(alert, context), endTime: context.stamp(alert.endTime) };
}
