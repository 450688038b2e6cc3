import { z } from "@hono/zod-openapi";
import { anyDeviceIDs, deviceIDsByNames, deviceNames } from "../../store/devices.js";
import { logs } from "../../store/event-postings.js";
import type { EventPage } from "../../store/events.js";
import type { JournalRecord } from "../../store/journal-record.js";
import { type Filter, type PageRequest, resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import { listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Answer, type Route, route } from "../http/route.js";
import { idParams, int, pageOf, stampText, textOrNull } from "../http/schemas.js";
import { eventListed } from "../views/events.js";

const tag = "Logs";

const text = (column: string) => ({ column, type: "text" }) as const;
const filters = {
  deviceName: text("deviceName"),
  deviceID: text("deviceID"),
  topic: text("topic"),
  IP: text("ip"),
};
const ownFilters = { topic: text("topic"), IP: text("ip") };

/** Devices that a name filter may resolve to; beyond it the list looks at rows. */
const namedDevicesMax = 1000;

const eventSchema = z
  .object({
    id: int,
    deviceID: textOrNull,
    deviceName: textOrNull,
    IP: z.string(),
    topic: z.string(),
    payload: z.string(),
    msgTime: stampText,
    createAt: stampText,
    updateAt: z.null(),
  })
  .openapi("Event");

export function eventRoutes(deps: AppDeps): Route[] {
  const { db, events } = deps;
  return [
    route({
      method: "get",
      path: "/api/v1/device_events",
      access: "read",
      tag,
      summary: "Uplink messages of every device",
      shape: { query: listQuery(filters) },
      answer: { status: 200, schema: pageOf(eventSchema) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, filters);
        const devices = await namedDevices(deps, caller.tenant, request.filters);
        const { matches, ...scope } = combine(devices, recordFilter(request.filters));
        const page = await events.list({
          log: logs.events,
          tenant: caller.tenant,
          devices: scope.devices,
          ...paging(request),
          ...(matches === undefined ? {} : { matches }),
        });
        return answer(deps, page, request);
      },
    }),
    route({
      method: "get",
      path: "/api/v1/devices/{id}/events",
      access: "read",
      tag,
      summary: "Uplink messages of one device",
      shape: { params: idParams, query: listQuery(ownFilters) },
      answer: { status: 200, schema: pageOf(eventSchema) },
      handle: async ({ caller, params, query }) => {
        const request = pageRequest(query, ownFilters);
        const device = only(await resolveIDs(db, anyDeviceIDs, caller.tenant, [params.id]));
        const matches = recordFilter(request.filters);
        const page = await events.list({
          log: logs.events,
          tenant: caller.tenant,
          devices: [device],
          ...paging(request),
          ...(matches === undefined ? {} : { matches }),
        });
        return answer(deps, page, request);
      },
    }),
  ];
}

const paging = ({ page, limit }: PageRequest) => ({ page, limit });

type Matches = (record: JournalRecord) => boolean;

/** Filters on the record itself, looked at row by row. */
function recordFilter(found: readonly Filter[]): Matches | undefined {
  const tests = found.flatMap((filter): Matches[] => {
    if (filter.field !== "topic" && filter.field !== "IP") return [];
    const read = filter.field === "topic" ? (r: JournalRecord) => r.topic : (r: JournalRecord) => r.ip;
    const wanted = String(filter.value);
    const lower = wanted.toLowerCase();
    return [filter.like ? (r) => read(r).toLowerCase().includes(lower) : (r) => read(r) === wanted];
  });
  return tests.length === 0 ? undefined : (record) => tests.every((test) => test(record));
}

/** Record ids of the devices that name filters mean; null without such a filter. */
async function namedDevices(
  { db }: AppDeps,
  tenant: number,
  found: readonly Filter[],
): Promise<number[] | null> {
  const conditions = found.flatMap((filter) =>
    filter.field === "deviceID" || filter.field === "deviceName"
      ? [{ column: filter.field, like: filter.like, value: String(filter.value) } as const]
      : [],
  );
  return conditions.length === 0 ? null : deviceIDsByNames(db, tenant, conditions, 100_000);
}

/** A name that fits many devices becomes one more test of each row. */
function combine(
  devices: number[] | null,
  matches: Matches | undefined,
): { devices: number[] | null; matches?: Matches } {
  if (devices === null || devices.length <= namedDevicesMax) {
    return { devices, ...(matches === undefined ? {} : { matches }) };
  }
  const set = new Set(devices);
  return { devices: null, matches: (record) => set.has(record.device) && (matches?.(record) ?? true) };
}

async function answer({ db, stamp }: AppDeps, page: EventPage, request: PageRequest): Promise<Answer> {
  const names = await deviceNames(db, [...new Set(page.items.map((record) => record.device))]);
  return pageAnswer(page, request, (record) => eventListed(record, names.get(record.device), stamp));
}
