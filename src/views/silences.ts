import { z } from "@hono/zod-openapi";
import type { Silence } from "../../store/metadata/notifications/silences.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { matcherSchema } from "./alert-routes.js";
import type { Stamped } from "./context.js";

export const silenceSchema = z
  .object({
    id: intSchema,
    ...matcherSchema,
    startTime: stampText,
    endTime: stampText,
    comment: textOrNull,
    createUser: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("Silence");

export function silence(one: Silence, { stamp }: Stamped) {
  return {
    id: one.id,
    severities: one.severities,
    alertName: one.alertName,
    productIntID: one.productIntID,
    productName: one.productName,
    groupIntID: one.groupIntID,
    groupName: one.groupName,
    deviceIntID: one.deviceIntID,
    deviceName: one.deviceName,
    startTime: stamp(one.startTime),
    endTime: stamp(one.endTime),
    comment: one.comment,
    createUser: one.createUser,
    createAt: stamp(one.createAt),
    updateAt: stamp(one.updateAt),
  };
}
