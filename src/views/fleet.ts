import { z } from "@hono/zod-openapi";
import type { FleetFacets } from "../../store/metadata/fleet/counts.js";
import type { FleetRow } from "../../store/metadata/fleet/rows.js";
import type { FleetValue } from "../devices/fleet-values.js";
import { intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

const value = z.object({
  dataPointIntID: intSchema,
  dataPointName: z.string(),
  unitSymbol: textOrNull,
  value: z.union([z.number(), z.string(), z.boolean(), z.array(z.number())]),
  time: stampText,
});

const fleetItemSchema = z
  .object({
    id: intSchema,
    deviceID: z.string(),
    deviceName: z.string(),
    productIntID: intSchema,
    productName: z.string(),
    isGateway: z.boolean(),
    deviceStatus: intSchema,
    blocked: intSchema,
    lastSeen: stampOrNull.openapi({
      description: "its last message, or when it last came or went; null: never",
    }),
    currentAlerts: intSchema,
    worstSeverity: intOrNull,
    values: z.array(value),
  })
  .openapi("FleetItem");

export const fleetSchema = z
  .object({
    items: z.array(fleetItemSchema),
    next: textOrNull.openapi({
      description:
        "for `after`; null after the last row. A page may have fewer rows than asked for before that",
    }),
    count: intSchema,
    isCountBounded: z.boolean().openapi({ description: "there are more than `count`" }),
    facets: z
      .object({
        deviceStatus: z.array(z.object({ value: intSchema, count: intSchema })),
        products: z.array(z.object({ productIntID: intSchema, productName: z.string(), count: intSchema })),
        blocked: intSchema,
        hasAlert: intSchema,
      })
      .nullable()
      .openapi({ description: "of the rows that `count` counts; null unless asked for" }),
  })
  .openapi("Fleet");

export function fleetItem(row: FleetRow, values: readonly FleetValue[], { stamp }: Stamped) {
  return {
    id: row.id,
    deviceID: row.deviceID,
    deviceName: row.deviceName,
    productIntID: row.productIntID,
    productName: row.productName,
    isGateway: row.kind === "gateway",
    deviceStatus: row.deviceStatus,
    blocked: row.blocked,
    lastSeen: stamp(row.lastSeen === 0 ? null : row.lastSeen),
    currentAlerts: row.currentAlerts,
    worstSeverity: row.worstSeverity,
    values: values.map(({ point, value, time }) => ({
      dataPointIntID: point.id,
      dataPointName: point.dataPointName,
      unitSymbol: point.unitSymbol,
      value,
      time: stamp(Math.floor(time / 1000)),
    })),
  };
}

export function fleetFacets({ deviceStatus, products, blocked, hasAlert }: FleetFacets) {
  return { deviceStatus, products, blocked, hasAlert };
}
