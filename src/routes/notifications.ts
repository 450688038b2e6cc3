import {
  getNotification,
  listNotifications,
  type Notification,
  type NotificationDetail,
  notificationFilters,
  notificationIDs,
} from "../../store/metadata/notifications/notifications.js";
import type { Route } from "../http/route.js";
import {
  notification,
  notificationDetail,
  notificationDetailSchema,
  notificationSchema,
} from "../views/notifications.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Notifications";
const path = "/api/v1/notifications";

export function notificationRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Notification>({
      path,
      tag,
      summary: "List notifications: each message to each contact point, and what came of it",
      filters: notificationFilters,
      range: "createAt",
      schema: notificationSchema,
      list: ({ caller }, request) => listNotifications(db, caller.tenant, request),
      view: notification,
    }),
    routes.detail<NotificationDetail>({
      path: `${path}/{id}`,
      tag,
      summary: "One notification, with what it tells",
      ids: notificationIDs,
      schema: notificationDetailSchema,
      get: ({ caller }, id) => getNotification(db, caller.tenant, id),
      view: notificationDetail,
    }),
  ];
}
