import { z } from "@hono/zod-openapi";
import type { Share } from "../../store/metadata/dashboards/shares.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const shareSchema = z
  .object({
    id: intSchema,
    name: z.string(),
    allowedOrigins: z.array(z.string()),
    expiresAt: stampOrNull,
    version: z.literal("latest"),
    enable: intSchema,
    createUser: textOrNull,
    createAt: stampText,
    lastUsedAt: stampOrNull,
  })
  .openapi("DashboardShare");

export function share(one: Share, { stamp }: Stamped) {
  return {
    id: one.id,
    name: one.name,
    allowedOrigins: one.allowedOrigins,
    expiresAt: stamp(one.expiresAt),
    version: "latest",
    enable: one.enable,
    createUser: one.createUser,
    createAt: stamp(one.createAt),
    lastUsedAt: stamp(one.lastUsedAt),
  };
}
