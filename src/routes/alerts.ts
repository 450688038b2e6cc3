import { z } from "@hono/zod-openapi";
import {
  type Alert,
  type AlertState,
  alertFilters,
  alertIDs,
  clearAlerts,
  devicesOfAlerts,
  getAlert,
  listAlerts,
  removeAlerts,
} from "../../store/metadata/alerts/alerts.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Route } from "../http/route.js";
import { intSchema, stampOrNull, stampText } from "../http/schemas.js";
import { currentAlert, historyAlert } from "../views/alerts.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Alerts";

const current = z
  .object({
    id: intSchema,
    alertName: z.string(),
    alertContent: z.string(),
    alertSeverity: intSchema,
    alertSeverityLabel: z.string(),
    alertTimes: intSchema,
    alertDetail: z.record(z.string(), z.unknown()),
    deviceID: z.string(),
    deviceName: z.string(),
    startTime: stampText,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("Alert");
const history = current.extend({ endTime: stampText }).openapi("HistoryAlert");

export const alertForms = {
  current: { path: "/api/v1/current_alerts", view: currentAlert, schema: current },
  history: { path: "/api/v1/history_alerts", view: historyAlert, schema: history },
} as const;

const deleteSummary = {
  current: "Clear current alerts; they become history",
  history: "Delete history alerts",
} as const;

export function alertRoutes(deps: AppDeps): Route[] {
  return [...createAlertRoutes(deps, "current"), ...createAlertRoutes(deps, "history")];
}

function createAlertRoutes(deps: AppDeps, state: AlertState): Route[] {
  const { db, now } = deps;
  const { path, view, schema } = alertForms[state];
  const removals = {
    current: async (actor: Actor, ids: readonly number[]) => {
      await deps.settleAlerts(await devicesOfAlerts(db, actor.tenant, "id", ids));
      await clearAlerts(db, actor, now(), ids);
    },
    history: (actor: Actor, ids: readonly number[]) => removeAlerts(db, actor, now(), ids),
  };
  const routes = resourceRoutes(deps);
  return [
    routes.list<Alert>({
      path,
      tag,
      summary: `List ${state} alerts`,
      filters: alertFilters,
      range: "startTime",
      schema,
      list: ({ caller }, request) => listAlerts(db, caller.tenant, state, request),
      view,
    }),
    routes.detail<Alert>({
      path: `${path}/{id}`,
      tag,
      summary: `One ${state} alert`,
      ids: alertIDs[state],
      schema,
      get: ({ caller }, id) => getAlert(db, caller.tenant, id),
      view,
    }),
    routes.remove({
      path,
      tag,
      summary: deleteSummary[state],
      ids: alertIDs[state],
      errors: [],
      remove: ({ caller }, ids) => removals[state](caller, ids),
    }),
  ];
}
