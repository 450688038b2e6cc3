/** Records whose form is more than its fields. */
import type { ComponentType } from "preact";
import { lazily } from "../lazy.js";
import type { FormBodyProps } from "./form-body.js";

/** By the name of the form. */
export const editors: Readonly<Record<string, ComponentType<FormBodyProps>>> = {
  Metric: lazily(async () => (await import("../metrics/MetricEditor.js")).MetricEditor),
  AlertRule: lazily(async () => (await import("../alert-rules/RuleEditor.js")).RuleEditor),
  Schedule: lazily(async () => (await import("../commands/ScheduleEditor.js")).ScheduleEditor),
};
