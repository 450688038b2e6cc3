import type { Log } from "../../store/events/event-postings.js";
import type { ReceivedSpan } from "../../store/events/event-source.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { productNames } from "../../store/metadata/commands/log-names.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type Filter, type Page, type PageRequest, stamps, time } from "../../store/metadata/db/table.js";
import { deviceNames } from "../../store/metadata/devices/names.js";
import { rowFilters, scopeOf } from "../http/log-scope.js";
import { containsText } from "../http/text-search.js";
import type { LogRow } from "../views/events.js";
import type { AppDeps } from "./deps.js";

/** Whether a record passes a filter, by the filter's field. */
export type RecordTests<Row extends JournalRecord> = Readonly<
  Record<string, (record: Row, filter: Filter) => boolean>
>;

interface JournalListing<Row extends JournalRecord> {
  readonly logs: readonly Log[];
  /** The kinds of records that these logs hold. */
  readonly holds: (record: JournalRecord) => record is Row;
  readonly tests: RecordTests<Row>;
  readonly withProducts?: boolean;
}

interface JournalLists {
  /** Records of the tenant, or of one device (`parent`), newest first. */
  list<Row extends JournalRecord>(
    tenant: number,
    listing: JournalListing<Row>,
    request: PageRequest,
    parent: number,
  ): Promise<Page<LogRow<Row>>>;
}

const receivedIn = ({ receivedAt }: JournalRecord, { value, until = 0 }: Filter): boolean =>
  receivedAt >= Number(value) && receivedAt < until;

/** Filters of every record: its id, and its time of receipt under the names that show it. */
const common: RecordTests<JournalRecord> = {
  id: (record, { value }) => record.id === value,
  msgTime: receivedIn,
  createAt: receivedIn,
  updateAt: () => false,
};
export const commonFilters = { msgTime: time("msgTime"), ...stamps } as const;

/** Devices whose records are looked up by the index; for more, every record is read. */
const devicesMax = 1000;

export function journalLists({
  db,
  events,
  cluster,
}: Pick<AppDeps, "db" | "events" | "cluster">): JournalLists {
  return {
    list: async (tenant, { logs, holds, tests: own, withProducts = false }, request, parent) => {
      const tests: typeof own = { ...common, ...own };
      const { devices: scope, truncated } = await scopeOf(db, tenant, request.filters, parent);
      if (scope?.length === 1) await cluster?.atKeeper(scope[0] as number);
      // Of others, what other nodes keep is missing.
      const isPart = cluster !== null && (scope === null || scope.length > 1);
      const many = scope !== null && scope.length > devicesMax ? new Set(scope) : null;
      const filters = rowFilters(request.filters).filter(({ field }) => field in tests);
      const passes = (record: JournalRecord): boolean =>
        (many === null || many.has(record.device)) &&
        holds(record) &&
        filters.every((filter) => tests[filter.field]?.(record, filter) ?? true);
      const { page, limit } = request;
      const found = await events.list({
        log: logs,
        tenant,
        page,
        limit,
        devices: many === null ? scope : null,
        ...receivedOf(filters),
        ...(many === null && filters.length === 0 ? {} : { matches: passes }),
      });
      const items = await withNames(db, found.items.filter(holds), withProducts);
      return { ...found, items, truncated: found.truncated || truncated || isPart };
    },
  };
}

/** The range of times that passes all time filters. */
function receivedOf(filters: readonly Filter[]): { received?: ReceivedSpan } {
  const times = filters.filter(({ until, field }) => until !== undefined && common[field] === receivedIn);
  if (times.length === 0) return {};
  const start = Math.max(...times.map(({ value }) => Number(value)));
  return { received: { start, stop: Math.min(...times.map(({ until = 0 }) => until)) } };
}

async function withNames<Row extends JournalRecord>(
  db: Db,
  records: readonly Row[],
  withProducts: boolean,
): Promise<LogRow<Row>[]> {
  const ids = [...new Set(records.map((record) => record.device))];
  const names = await deviceNames(db, ids);
  const products = withProducts ? await productNames(db, ids) : null;
  return records.map((record) => ({
    record,
    deviceID: names.get(record.device)?.deviceID ?? null,
    deviceName: names.get(record.device)?.deviceName ?? null,
    productName: products?.get(record.device) ?? null,
  }));
}

/** A filter on a text of the record. */
export const textTest =
  <Row extends JournalRecord>(read: (record: Row) => string) =>
  (record: Row, { like, value }: Filter): boolean => {
    const text = read(record);
    return like ? containsText(text, String(value)) : text === value;
  };
