import { z } from "@hono/zod-openapi";
import type { AlertRule } from "../../store/metadata/alerts/alert-rules.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Labelled } from "./context.js";

export const alertRuleSchema = z
  .object({
    id: intSchema,
    alertName: z.string(),
    alertContent: z.string(),
    alertSeverity: intSchema,
    alertSeverityLabel: textOrNull,
    productID: z.string(),
    productIntID: intSchema,
    dataPointIntID: intSchema,
    dataPointName: z.string(),
    condition: z.string(),
    duration: intSchema,
    createUser: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("AlertRule");

export function alertRule(rule: AlertRule, { stamp, label }: Labelled) {
  return {
    id: rule.id,
    alertName: rule.alertName,
    alertContent: rule.alertContent,
    alertSeverity: rule.alertSeverity,
    alertSeverityLabel: label("alertSeverity", rule.alertSeverity),
    productID: rule.productID,
    productIntID: rule.productIntID,
    dataPointIntID: rule.dataPointIntID,
    dataPointName: rule.dataPointName,
    condition: rule.condition,
    duration: rule.duration,
    createUser: rule.createUser,
    createAt: stamp(rule.createAt),
    updateAt: stamp(rule.updateAt),
  };
}
