/** The content of a message. It is plain data, stored until the message is sent and its texts are made. */
import type { AlertFacts } from "../../store/metadata/notifications/alert-outbox.js";
import type { NotificationKind } from "../../store/metadata/notifications/notifications.js";

/** `firing`: it goes on. `resolved`: it has ended. */
type AlertCondition = "firing" | "resolved";

/** Times are milliseconds since 1970. */
export interface AlertInMessage extends AlertFacts {
  readonly status: AlertCondition;
  /** Whether no message has reported yet that it began. */
  readonly isNew: boolean;
  readonly endTime: number | null;
}

export interface AlertMessage {
  readonly kind: NotificationKind;
  readonly route: { readonly id: number; readonly name: string };
  /** The zone of the times in its texts. */
  readonly timezone: string;
  /** How many alerts it says began, and ended. */
  readonly began: number;
  readonly ended: number;
  /** How many alerts of its group go on. */
  readonly firing: number;
  /** The first of those that it is about. */
  readonly alerts: readonly AlertInMessage[];
  /** How many more it is about. */
  readonly more: number;
}

export const alertsListedMax = 20;

/** A message such as an alert makes, for a test and a preview. */
export function sampleMessage(kind: NotificationKind, timezone: string, now: number): AlertMessage {
  const alert = (id: number, rest: Partial<AlertInMessage>): AlertInMessage => ({
    id,
    cause: "rule:1",
    alertName: "高温 High temperature",
    alertContent: "temperature > 40",
    alertSeverity: 2,
    startTime: now - 60_000,
    deviceIntID: 1,
    deviceID: "boiler-7",
    deviceName: "Boiler 7",
    productIntID: 1,
    productName: "Boilers",
    status: "firing",
    isNew: true,
    endTime: null,
    ...rest,
  });
  const ended = { status: "resolved", isNew: false, endTime: now } as const;
  const alerts =
    kind === "test" ? [alert(1, {})] : [alert(1, {}), alert(2, { ...ended, deviceName: "Boiler 8" })];
  return {
    kind,
    route: { id: 0, name: kind === "test" ? "test" : "preview" },
    timezone,
    began: 1,
    ended: alerts.length - 1,
    firing: 1,
    alerts,
    more: 0,
  };
}
