import type { JournalRecord } from "../../store/journal/record.js";
import { productNames } from "../../store/metadata/commands/log-names.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type Page, type PageRequest, stamps, time } from "../../store/metadata/db/table.js";
import { deviceNames } from "../../store/metadata/devices/names.js";
import { readLogScope, rowFilters } from "../http/log-scope.js";
import { listAcrossNodes } from "../journal-lists/cluster-list.js";
import { type ListedRecords, type ListQuery, ownList } from "../journal-lists/own-list.js";
import type { LogRow } from "../views/events.js";
import type { AppDeps } from "./deps.js";

type ListingName = keyof ListedRecords;

interface JournalListing<Name extends ListingName> {
  readonly listing: Name;
  readonly withProducts?: boolean;
}

interface JournalLists {
  /** Records of the tenant, or of one device (`parent`), newest first. */
  list<Name extends ListingName>(
    tenant: number,
    listing: JournalListing<Name>,
    request: PageRequest,
    parent: number,
  ): Promise<Page<LogRow<ListedRecords[Name]>>>;
}

export const commonFilters = { msgTime: time("msgTime"), ...stamps } as const;

export function journalLists({
  db,
  events,
  kept,
  cluster,
}: Pick<AppDeps, "db" | "events" | "kept" | "cluster">): JournalLists {
  return {
    list: async <Name extends ListingName>(
      tenant: number,
      { listing, withProducts = false }: JournalListing<Name>,
      { filters, page, limit }: PageRequest,
      parent: number,
    ) => {
      const { devices, truncated } = await readLogScope(db, tenant, filters, parent);
      if (devices?.length === 1) await cluster?.atKeeper(devices[0] as number);
      const query: ListQuery = { listing, tenant, devices, filters: rowFilters(filters), page, limit };
      const isOfAll = cluster !== null && (devices === null || devices.length > 1);
      const found = await (isOfAll ? listAcrossNodes(kept, query, cluster) : ownList(events, query));
      const items = await withNames(db, found.items as ListedRecords[Name][], withProducts);
      return { ...found, items, truncated: found.truncated || truncated };
    },
  };
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
