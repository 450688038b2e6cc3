import { z } from "@hono/zod-openapi";

/** Shapes of answers that several resources share, for the reference. */

export const idParams = z.object({
  id: z
    .string()
    .openapi({ param: { name: "id", in: "path" }, description: "record id, or string id", example: "1" }),
});

export function pageSchema(item: z.ZodType) {
  return z.object({
    items: z.array(item),
    meta: z.object({ count: z.number().int(), limit: z.number().int(), page: z.number().int() }),
  });
}

const nullable = (schema: z.ZodType) => schema.nullable();
export const intSchema = z.number().int();
export const intOrNull = nullable(intSchema);
export const textOrNull = nullable(z.string());
export const floatOrNull = nullable(z.number());
/** `YYYY-MM-DD HH:MM:SS` in the deployment's time zone; with `Time-Format: ms` milliseconds since 1970. */
export const stampText = z.union([z.string(), z.number().int()]).openapi({ example: "2026-11-21 10:00:00" });
/** As bodies have it. */
export const stampGiven = z.string().openapi({ example: "2026-11-21 10:00:00" });
export const stampOrNull = nullable(stampText);
/** If the newest value cannot be read, the value is null and this gives the reason. */
export const newestErrorSchema = z.string().optional();
/** A record named by its id alone. */
export const recordID = z.object({ id: intSchema });
