/** Shapes of the answers with points, for the reference. */
import { z } from "@hono/zod-openapi";
import { intSchema } from "../http/schemas.js";
import { metricStoredSchema } from "./metrics.js";

const timeAndValue = z.object({
  time: z.array(z.union([z.string(), z.number()])),
  value: z.array(z.union([z.number(), z.string(), z.boolean(), z.array(z.number()), z.null()])),
});

/** The device of an item, if several are asked for. */
const owner = { deviceID: z.string().optional(), deviceIntID: intSchema.optional() };

export const metricItemSchema = metricStoredSchema.extend({
  dataPointName: z.string(),
  metricData: timeAndValue,
  ...owner,
});

export const originalItemSchema = z.object({
  dataPointIntID: intSchema,
  dataPointName: z.string(),
  originalData: timeAndValue,
  ...owner,
});
