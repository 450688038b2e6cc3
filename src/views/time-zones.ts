import { z } from "@hono/zod-openapi";
import type { Zone } from "../../query/zone.js";
import { zoneVersionWarning } from "../../store/time-zones/age.js";
import type { TimeZoneSource } from "../../store/time-zones/time-zones.js";
import { intSchema, textOrNull } from "../http/schemas.js";

/** Which rules the service goes by. */
export const zoneSource = z.object({
  version: textOrNull.openapi({
    description: "release of the IANA database; null where TIMEZONE_DATA does not say",
    example: "2026f",
  }),
  source: z.enum(["built-in", "TIMEZONE_DATA"]),
});
export const zoneHealth = zoneSource.extend({
  warning: textOrNull.openapi({ description: "null while the rules are recent" }),
});

export function showZoneSource({ version, folder }: TimeZoneSource): z.output<typeof zoneSource> {
  return { version, source: folder === null ? "built-in" : "TIMEZONE_DATA" };
}

/** @param now milliseconds since 1970 */
export function showZoneHealth(zones: TimeZoneSource, now: number): z.output<typeof zoneHealth> {
  return { ...showZoneSource(zones), warning: zoneVersionWarning(zones.version, now) };
}

export const zoneRules = z
  .object({
    name: z.string().openapi({ description: "as IANA spells it", example: "Europe/Berlin" }),
    offset: intSchema.openapi({ description: "seconds ahead of UTC before the first change", example: 3208 }),
    changes: z
      .array(
        z.object({
          time: intSchema.openapi({ description: "milliseconds since 1970" }),
          offset: intSchema.openapi({ description: "seconds ahead of UTC from then on" }),
        }),
      )
      .openapi({ description: "all changes of the offset up to 2100, ascending" }),
  })
  .openapi("TimeZone");

/** Changes are shown up to here. */
const shownUntil = Date.UTC(2101, 0, 1) / 1000;

export function zoneShown({ rules }: Zone): z.output<typeof zoneRules> {
  const { name, changes, offsets } = rules;
  const [offset = 0, ...later] = offsets;
  return {
    name,
    offset,
    changes: [...changes]
      .filter((time) => time < shownUntil)
      .map((time, i) => ({ time: time * 1000, offset: later[i] ?? 0 })),
  };
}
