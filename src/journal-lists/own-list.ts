/** A list of what this node keeps. */
import { z } from "@hono/zod-openapi";
import type { EventPage, EventQuery } from "../../store/events/event-pages.js";
import type { ReceivedSpan } from "../../store/events/event-source.js";
import type { ConnectionRecord, JournalRecord, MessageRecord } from "../../store/journal/record.js";
import type { Filter } from "../../store/metadata/db/table.js";
import { attempts, common, connections, messages, receivedIn } from "./listings.js";

/** By the names under which nodes ask each other. */
const listings = { messages, connections, attempts } as const;

/** What each of them lists. */
export interface ListedRecords {
  readonly messages: MessageRecord;
  readonly connections: ConnectionRecord;
  readonly attempts: ConnectionRecord;
}

const whole = z.int().nonnegative();

/** A list as one node asks another for it. */
export const ownListQuery = z.strictObject({
  listing: z.enum(["messages", "connections", "attempts"]),
  tenant: whole,
  /** Record ids; null for every device of the tenant. */
  devices: z.array(whole).readonly().nullable(),
  filters: z
    .array(
      z.strictObject({
        field: z.string(),
        like: z.boolean(),
        value: z.union([z.string(), z.number()]),
        until: z.number().exactOptional(),
      }),
    )
    .readonly(),
  page: z.int().positive(),
  limit: z.int().positive(),
});
export type ListQuery = z.infer<typeof ownListQuery>;

/** Devices whose records are looked up by the index; for more, every record is read. */
const devicesMax = 1000;

/**
 * Newest first. Filters that the listing does not know are none of its records'. `skipsDamaged`: the first page, of so
 * many records that can be read.
 */
export function ownList<Page extends EventPage>(
  events: { list(query: EventQuery): Promise<Page> },
  query: ListQuery,
  skipsDamaged = false,
): Promise<Page> {
  const { tenant, devices, page, limit } = query;
  const { logs, holds, tests } = listings[query.listing];
  const many = devices !== null && devices.length > devicesMax ? new Set(devices) : null;
  const filters = query.filters.filter(({ field }) => field in tests);
  const passes = (record: JournalRecord): boolean =>
    (many === null || many.has(record.device)) &&
    holds(record) &&
    filters.every((filter) => tests[filter.field]?.(record as never, filter) ?? true);
  return events.list({
    log: logs,
    tenant,
    page,
    limit,
    devices: many === null ? devices : null,
    ...(skipsDamaged ? { skipsDamaged } : {}),
    ...findReceivedSpan(filters),
    ...(many === null && filters.length === 0 ? {} : { matches: passes }),
  });
}

/** The range of times that passes all time filters. */
function findReceivedSpan(filters: readonly Filter[]): { received?: ReceivedSpan } {
  const times = filters.filter(({ until, field }) => until !== undefined && common[field] === receivedIn);
  if (times.length === 0) return {};
  const start = Math.max(...times.map(({ value }) => Number(value)));
  return { received: { start, stop: Math.min(...times.map(({ until = 0 }) => until)) } };
}
