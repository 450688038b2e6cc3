import { z } from "@hono/zod-openapi";
import { contactTypes } from "../../store/metadata/notifications/contact-points.js";
import type { Notification, NotificationDetail } from "../../store/metadata/notifications/notifications.js";
import { intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const notificationSchema = z
  .object({
    id: intSchema,
    contactPointIntID: intOrNull,
    contactPointName: z.string(),
    type: z.enum(contactTypes),
    routeIntID: intOrNull,
    routeName: textOrNull,
    kind: z.enum(["alert", "repeat", "test"]),
    alertCount: intSchema,
    status: z.enum(["waiting", "delivered", "failed"]),
    attempts: intSchema,
    answer: textOrNull.openapi({ description: "what the other side said last, or why it was not reached" }),
    nextAt: stampOrNull.openapi({ description: "when it is tried next, while it waits" }),
    deliveredAt: stampOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("Notification");

export const notificationDetailSchema = notificationSchema
  .extend({
    message: z.looseObject({}).openapi({ description: "what it tells; times in milliseconds since 1970" }),
  })
  .openapi("NotificationDetail");

export function notification(one: Notification, { stamp }: Stamped) {
  return {
    id: one.id,
    contactPointIntID: one.contactPointIntID,
    contactPointName: one.contactPointName,
    type: one.type,
    routeIntID: one.routeIntID,
    routeName: one.routeName,
    kind: one.kind,
    alertCount: one.alertCount,
    status: one.status,
    attempts: one.attempts,
    answer: one.answer,
    nextAt: stamp(one.nextAt),
    deliveredAt: stamp(one.deliveredAt),
    createAt: stamp(one.createAt),
    updateAt: stamp(one.updateAt),
  };
}

export function notificationDetail(one: NotificationDetail, context: Stamped) {
  return { ...notification(one, context), message: JSON.parse(one.message) as object };
}
