/** The texts of a message that has no template, in Chinese and in English. */
import { storedZone, type Zone } from "../../query/zone.js";
import type { Language } from "../../store/metadata/notifications/contact-points.js";
import { alertInEnglish } from "../http/alert-text.js";
import { labels } from "../http/writing.js";
import { createStamp } from "../views/context.js";
import type { AlertInMessage, AlertMessage } from "./alert-message.js";

interface MessageTexts {
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

interface Words {
  readonly severity: (code: number) => string;
  readonly state: { readonly firing: string; readonly resolved: string; readonly repeat: string };
  readonly test: string;
  readonly counts: (message: AlertMessage) => string;
  readonly name: (alert: AlertInMessage) => string;
  readonly content: (alert: AlertInMessage) => string;
  readonly device: string;
  readonly product: string;
  readonly begun: string;
  readonly ended: string;
  readonly more: (count: number) => string;
  readonly route: string;
}

const severitiesInEnglish: Readonly<Record<number, string>> = {
  1: "critical",
  2: "major",
  3: "minor",
  4: "warning",
};

const words: Readonly<Record<Language, Words>> = {
  zh: {
    severity: (code) => labels.zh.label("alertSeverity", code) ?? String(code),
    state: { firing: "告警", resolved: "已恢复", repeat: "告警持续" },
    test: "测试消息：如果您能看到它，此联系点工作正常。",
    counts: ({ began, ended, firing }) => `新增 ${began}，恢复 ${ended}，当前 ${firing}`,
    name: ({ alertName }) => alertName,
    content: ({ alertContent }) => alertContent,
    device: "设备",
    product: "产品",
    begun: "开始",
    ended: "结束",
    more: (count) => `……另有 ${count} 条告警`,
    route: "通知路由",
  },
  en: {
    severity: (code) => severitiesInEnglish[code] ?? String(code),
    state: { firing: "Alert", resolved: "Resolved", repeat: "Still firing" },
    test: "A test: if you read this, the contact point works.",
    counts: ({ began, ended, firing }) => `${began} began, ${ended} ended, ${firing} current`,
    name: (alert) => alertInEnglish(alert, alert.alertName),
    content: (alert) => alertInEnglish(alert, alert.alertContent),
    device: "device",
    product: "product",
    begun: "began",
    ended: "ended",
    more: (count) => `… and ${count} more`,
    route: "route",
  },
};

function messageTexts(message: AlertMessage, language: Language): MessageTexts {
  const own = words[language];
  const local = storedZone(message.timezone);
  const lines = message.alerts.flatMap((alert) => alertLines(alert, own, local));
  const text = [
    ...(message.kind === "test" ? [own.test, ""] : []),
    own.counts(message),
    "",
    ...lines,
    ...(message.more > 0 ? [own.more(message.more), ""] : []),
    `${own.route}: ${message.route.name}`,
    "",
  ].join("\n");
  return { subject: formatSubject(message, own), text };
}

function formatSubject(message: AlertMessage, own: Words): string {
  const { alerts, more, kind, firing } = message;
  const state = firing === 0 ? own.state.resolved : kind === "repeat" ? own.state.repeat : own.state.firing;
  const [first] = alerts;
  const count = alerts.length + more;
  const about =
    first === undefined
      ? own.counts(message)
      : `${own.name(first)}: ${first.deviceName}${count > 1 ? ` (+${count - 1})` : ""}`;
  return `[${state}] ${about}`;
}

function alertLines(alert: AlertInMessage, own: Words, local: Zone): string[] {
  const stamp = createStamp(local);
  const state = alert.status === "firing" ? own.state.firing : own.state.resolved;
  const times = [`${own.begun} ${stamp(alert.startTime)}`];
  if (alert.endTime !== null) times.push(`${own.ended} ${stamp(alert.endTime)}`);
  return [
    `${state} [${own.severity(alert.alertSeverity)}] ${own.name(alert)}`,
    `  ${own.content(alert)}`,
    `  ${own.device} ${alert.deviceName} (${alert.deviceID}), ${own.product} ${alert.productName}`,
    `  ${times.join(", ")} (${local.name})`,
    "",
  ];
}

/** What a template sees, and a webhook's receiver gets; times are ISO 8601 in UTC. */
export function messageDocument(message: AlertMessage, language: Language) {
  const { subject, text } = messageTexts(message, language);
  const own = words[language];
  const iso = (at: number) => new Date(at).toISOString();
  return {
    kind: message.kind,
    status: message.firing > 0 ? "firing" : "resolved",
    subject,
    text,
    route: message.route.name,
    timezone: message.timezone,
    began: message.began,
    ended: message.ended,
    firing: message.firing,
    more: message.more,
    alerts: message.alerts.map((alert) => ({
      id: alert.id,
      status: alert.status,
      isNew: alert.isNew,
      alertName: own.name(alert),
      alertContent: own.content(alert),
      alertSeverity: alert.alertSeverity,
      severity: own.severity(alert.alertSeverity),
      deviceID: alert.deviceID,
      deviceName: alert.deviceName,
      productName: alert.productName,
      startTime: iso(alert.startTime),
      endTime: alert.endTime === null ? null : iso(alert.endTime),
    })),
  };
}

export type MessageDocument = ReturnType<typeof messageDocument>;
