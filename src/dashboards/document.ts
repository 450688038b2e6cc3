/**
 * What a dashboard shows: its form, which clients find in the reference. Pure. Rules between fields, and what bounds the
 * work of checking one, are in read-document.ts.
 */
import { z } from "@hono/zod-openapi";
import { fills } from "../../query/fill.js";
import { timeUnits } from "../../query/range.js";
import { withoutControls } from "../../store/lib/control-characters.js";

/** The size of the document as JSON. */
export const documentBytesMax = 256 * 1024;
const panelsMax = 100;
const seriesMax = 20;
const mapDevicesMax = 100;
/** Entries of the longest list that a panel may have. */
export const listMax = Math.max(seriesMax, mapDevicesMax);
const variablesMax = 20;
const columns = 12;

const title = z.string().max(200);
const recordID = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

/** Times of a dashboard: relative to now, or an instant. */
const timeForm =
  /^(?:now|today|-\d{1,5}[mhdwy]|\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2}))$/;
const time = z
  .string()
  .max(40)
  .regex(timeForm, "must be now, today, a span before now such as -24h (m, h, d, w, y), or a time")
  .openapi({ example: "-24h" });

/** A string id, or the name of a variable behind a dollar sign. */
const target = z
  .string()
  .max(64)
  .regex(/^[^\s/+#,]+$/, "must be the id of a record, or $ and the name of a variable")
  .regex(withoutControls, "must not hold control characters")
  .openapi({ example: "gh-1" });

export const isTarget = (text: string): boolean => target.safeParse(text).success;

export const variableSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[A-Za-z][A-Za-z0-9_]{0,31}$/,
        "must be a letter, then letters, digits or _, at most 32 in all",
      ),
    label: z.string().max(255),
    type: z.enum(["device", "group", "product", "text", "timezone"]),
    value: z.string().max(4096).openapi({
      description: "of a device, group or product its string id; of a timezone as `timezone` of the document",
    }),
  })
  .openapi("DashboardVariable");

const common = {
  id: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, "must be 1 to 32 letters, digits, _ or -"),
  title,
  layout: z.strictObject({
    x: z
      .number()
      .int()
      .min(0)
      .max(columns - 1),
    y: z.number().int().min(0).max(9999),
    w: z.number().int().min(1).max(columns),
    h: z.number().int().min(1).max(100),
  }),
  phone: z
    .strictObject({ order: z.number().int().min(0).max(9999), h: z.number().int().min(1).max(100) })
    .optional(),
};

const series = z
  .strictObject({
    deviceID: target.openapi({ description: "or `$` and a variable of type device or group" }),
    dataPointIntID: recordID.optional(),
    metricIntID: recordID.optional(),
    label: z.string().max(255).optional(),
    color: z.number().int().min(0).max(7).optional(),
    axis: z.enum(["left", "right"]).optional(),
  })
  .openapi("DashboardSeries", { description: "either dataPointIntID or metricIntID" });

const overTime = {
  ...common,
  series: z.array(series).max(seriesMax),
  unit: z.enum(timeUnits).openapi({ description: "time_unit of the data endpoints" }),
  fill: z.enum(fills).optional(),
  compare: z
    .string()
    .regex(/^-\d{1,5}[mhdwy]$/, "must be a span before, such as -1d")
    .optional(),
  limits: z.boolean().optional().openapi({ description: "whether the limits of data points are drawn" }),
};

export const panelSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("chart"), ...overTime }),
    z.strictObject({ type: z.literal("value"), ...overTime }),
    z.strictObject({ type: z.literal("table"), ...overTime }),
    z.strictObject({
      type: z.literal("map"),
      ...common,
      deviceIDs: z.array(target).max(mapDevicesMax).optional(),
      groupID: target.optional(),
      productID: target.optional(),
    }),
    z.strictObject({
      type: z.literal("alerts"),
      ...common,
      filters: z.strictObject({
        state: z.enum(["current", "history"]),
        alertSeverity: z.number().int().min(1).max(4).optional(),
        alertName: z.string().min(1).max(255).optional(),
        deviceID: target.optional(),
        productID: target.optional(),
      }),
    }),
    z.strictObject({
      type: z.literal("command"),
      ...common,
      deviceID: target.optional(),
      groupID: target.optional(),
      topic: z.string().min(1).max(1024).optional(),
      payload: z.string().max(16_384),
      confirm: z.boolean(),
      label: title,
    }),
    z.strictObject({ type: z.literal("text"), ...common, markdown: z.string().max(20_000) }),
  ])
  .openapi("DashboardPanel");

export const documentSchema = z
  .strictObject({
    variables: z.array(variableSchema).max(variablesMax),
    range: z.strictObject({ start: time, end: time }),
    timezone: z.string().min(1).max(64).openapi({ description: "IANA, `browser` or `deployment`" }),
    refreshSeconds: z
      .number()
      .int()
      .refine((value) => value === 0 || (value >= 5 && value <= 3600), "must be 0, or 5 to 3600"),
    panels: z.array(panelSchema).max(panelsMax),
  })
  .openapi("DashboardDocument");

export type DashboardDocument = z.output<typeof documentSchema>;
export type Panel = z.output<typeof panelSchema>;
export type Variable = z.output<typeof variableSchema>;

/** A document with its lists unread, which may be long and full of faults. */
export const headSchema = documentSchema.extend({
  variables: z.array(z.unknown()).max(variablesMax),
  panels: z.array(z.unknown()).max(panelsMax),
});
