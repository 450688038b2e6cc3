import { z } from "@hono/zod-openapi";
import { type AlertRoute, groupings } from "../../store/metadata/notifications/alert-routes.js";
import { intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

/** The alerts that a route or a silence is about, as they are shown. */
export const matcherSchema = {
  severities: z.array(intSchema).nullable(),
  alertName: textOrNull,
  productIntID: intOrNull,
  productName: textOrNull,
  groupIntID: intOrNull,
  groupName: textOrNull,
  deviceIntID: intOrNull,
  deviceName: textOrNull,
};

export const alertRouteSchema = z
  .object({
    id: intSchema,
    name: z.string(),
    enable: intSchema,
    ...matcherSchema,
    contactPoints: z.array(z.object({ id: intSchema, name: z.string() })),
    groupBy: z.array(z.enum(groupings)),
    wait: intSchema,
    groupInterval: intSchema,
    repeatInterval: intSchema,
    sendResolved: intSchema,
    muteWindows: z.array(z.object({ days: z.array(intSchema), from: z.string(), to: z.string() })),
    timezone: textOrNull,
    createUser: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("AlertRoute");

export function alertRoute(route: AlertRoute, { stamp }: Stamped) {
  return {
    id: route.id,
    name: route.name,
    enable: route.enable,
    severities: route.severities,
    alertName: route.alertName,
    productIntID: route.productIntID,
    productName: route.productName,
    groupIntID: route.groupIntID,
    groupName: route.groupName,
    deviceIntID: route.deviceIntID,
    deviceName: route.deviceName,
    contactPoints: route.contactPoints,
    groupBy: route.groupBy,
    wait: route.wait,
    groupInterval: route.groupInterval,
    repeatInterval: route.repeatInterval,
    sendResolved: route.sendResolved,
    muteWindows: route.muteWindows,
    timezone: route.timezone,
    createUser: route.createUser,
    createAt: stamp(route.createAt),
    updateAt: stamp(route.updateAt),
  };
}
