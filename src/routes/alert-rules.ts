import { StoreError } from "../../store/lib/errors.js";
import {
  type AlertRule,
  type AlertRuleInput,
  alertRuleFilters,
  alertRuleIDs,
  createAlertRule,
  getAlertRule,
  listAlertRules,
  removeAlertRules,
  updateAlertRule,
} from "../../store/metadata/alerts/alert-rules.js";
import { devicesOfAlerts } from "../../store/metadata/alerts/alerts.js";
import { invalid, resourceLimited } from "../http/errors.js";
import { createBody, editBody, fixedFields, present, refuseChanged } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { alertRule, alertRuleSchema } from "../views/alert-rules.js";
import { checkRule, fixed, optionalRuleField, requiredRuleField } from "./alert-rule-draft.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Alerts";
const defaultSeverity = 2;
/** How often a rule is checked again because somebody edits its condition or data point at the same time. */
const editTriesMax = 3;

const create = createBody(requiredRuleField, optionalRuleField)
  .extend(fixedFields(fixed))
  .openapi("AlertRuleCreate");
const edit = editBody(requiredRuleField, optionalRuleField)
  .extend(fixedFields(fixed))
  .openapi("AlertRuleEdit");

export function alertRuleRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<AlertRule>({
      path: "/api/v1/alert_rules",
      tag,
      summary: "List alert rules",
      filters: alertRuleFilters,
      schema: alertRuleSchema,
      list: ({ caller }, request) => listAlertRules(db, caller.tenant, request),
      view: alertRule,
    }),
    routes.detail<AlertRule>({
      path: "/api/v1/alert_rules/{id}",
      tag,
      summary: "One alert rule",
      ids: alertRuleIDs,
      schema: alertRuleSchema,
      get: ({ caller }, id) => getAlertRule(db, caller.tenant, id),
      view: alertRule,
    }),
    route({
      method: "post",
      path: "/api/v1/alert_rules",
      access: "write",
      tag,
      summary: "Create a rule that raises an alert while its condition is true",
      shape: { body: create },
      answer: { status: 201, schema: alertRuleSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
      handle: async ({ writing, caller, body }) => {
        const { productID: _a, productIntID: _b, ...input } = body;
        const point = await checkRule(db, caller.tenant, input, null);
        refuseChanged(body, point, fixed);
        const rule = await createAlertRule(db, caller, now(), point.productIntID, {
          ...input,
          alertContent: input.alertContent ?? input.alertName,
          alertSeverity: input.alertSeverity ?? defaultSeverity,
          duration: input.duration ?? 0,
        } as AlertRuleInput).catch(resourceLimited);
        return { status: 201, body: alertRule(rule, writing) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/alert_rules/{id}",
      access: "write",
      tag,
      summary: "Edit an alert rule",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: alertRuleSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, alertRuleIDs, params.id);
        const { productID: _a, productIntID: _b, ...input } = body;
        const changes = present(input);
        for (let tries = 1; tries <= editTriesMax; tries++) {
          const rule = await getAlertRule(db, caller.tenant, id);
          refuseChanged(body, rule, fixed);
          const draft = { ...rule, ...changes };
          const point = await checkRule(db, caller.tenant, draft, rule.condition);
          if (point.productIntID !== rule.productIntID) {
            throw invalid({ dataPointIntID: "must be a data point of the rule's product" });
          }
          const edited = await updateAlertRule(db, caller, now(), rule, {
            ...changes,
            ...(changes.alertContent === null ? { alertContent: draft.alertName } : {}),
            ...(changes.alertSeverity === null ? { alertSeverity: defaultSeverity } : {}),
            ...(changes.duration === null ? { duration: 0 } : {}),
          } as Partial<AlertRuleInput>).catch(resourceLimited);
          if (edited !== null) return { status: 200, body: alertRule(edited, writing) };
        }
        throw new StoreError("UNAVAILABLE", "cannot edit the rule: others edit it all the time");
      },
    }),
    routes.remove({
      path: "/api/v1/alert_rules",
      tag,
      summary: "Delete alert rules; their current alerts become history",
      ids: alertRuleIDs,
      errors: [],
      remove: async ({ caller }, ids) => {
        const causes = ids.map((id) => `rule:${id}`);
        await deps.settleAlerts(await devicesOfAlerts(db, caller.tenant, "cause", causes));
        await removeAlertRules(db, caller, now(), ids);
      },
    }),
  ];
}
