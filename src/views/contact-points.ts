import { z } from "@hono/zod-openapi";
import { type ContactPoint, contactTypes } from "../../store/metadata/notifications/contact-points.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const languages = ["zh", "en"] as const;

export const contactPointSchema = z
  .object({
    id: intSchema,
    name: z.string(),
    type: z.enum(contactTypes),
    enable: intSchema,
    language: z.enum(languages),
    settings: z.looseObject({}).openapi({ description: "address and options, by type, without secrets" }),
    secrets: z.array(z.string()).openapi({ description: "the names of the secrets that are set" }),
    subjectTemplate: textOrNull,
    bodyTemplate: textOrNull,
    createUser: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("ContactPoint");

export function contactPoint(point: ContactPoint, { stamp }: Stamped) {
  return {
    id: point.id,
    name: point.name,
    type: point.type,
    enable: point.enable,
    language: point.language,
    settings: point.settings,
    secrets: point.secretNames,
    subjectTemplate: point.subjectTemplate,
    bodyTemplate: point.bodyTemplate,
    createUser: point.createUser,
    createAt: stamp(point.createAt),
    updateAt: stamp(point.updateAt),
  };
}
