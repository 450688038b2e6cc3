import { z } from "@hono/zod-openapi";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import type { DeviceIngest } from "../../store/metadata/devices/ingest.js";
import { pointsRefused } from "../../store/metadata/quarantine.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, stampOrNull } from "../http/schemas.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const answer = z
  .object({
    messages: intSchema,
    points: intSchema,
    refused: z.record(z.string(), intSchema).openapi({ example: { unknown: 2, number: 1 } }),
    lastAt: stampOrNull,
  })
  .openapi("IngestStatus");

/** How much of a device's messages was accepted, and what was refused and why. */
export function ingestStatusRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "get",
      path: "/api/v1/devices/{id}/ingest_status",
      access: "read",
      tag: "Devices",
      summary: "Messages and points taken of a device or gateway, and values refused by reason",
      shape: { params: idParams },
      answer: { status: 200, schema: answer },
      errors: ["DATA_NOT_FOUND"],
      handle: async ({ caller, variant, writing, params }) => {
        const id = await routes.find({ caller, variant }, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(id);
        const { lastAt, points, refused, messages } = sumIngest(await deps.ingestOf(id));
        // Counted as decoded; values that the series store then refused are not subtracted.
        const notStored = await pointsRefused(db, id);
        if (notStored > 0) refused.series = notStored;
        const body = {
          messages,
          points: Math.max(0, points - notStored),
          refused,
          lastAt: writing.stamp(lastAt),
        };
        return { status: 200, body };
      },
    }),
  ];
}

function sumIngest(all: readonly DeviceIngest[]) {
  const refused: Record<string, number> = {};
  for (const one of all) {
    for (const [reason, count] of Object.entries(one.refused))
      refused[reason] = (refused[reason] ?? 0) + count;
  }
  const times = all.flatMap((one) => one.lastAt ?? []);
  return {
    messages: all.reduce((sum, one) => sum + one.messages, 0),
    points: all.reduce((sum, one) => sum + one.points, 0),
    refused,
    lastAt: times.length === 0 ? null : Math.max(...times),
  };
}
