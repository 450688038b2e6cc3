/** The catalog's table of series: the id of each name, and which were removed. */

import type { InValue } from "@libsql/client/sqlite3";
import { StoreError } from "../../lib/errors.js";
import type { DeviceKey } from "../series.js";
import { type CatalogClient, keyOfRow } from "./catalog-file.js";
import { buildRemovals } from "./catalog-schema.js";
import type { RemovedScope, SeriesKey } from "./names.js";
import type { NamesLog } from "./names-log.js";

export interface CatalogNames {
  /** Ids of the series in the same order, made where missing. A bounded number at once: one transaction. */
  ids(keys: readonly SeriesKey[]): Promise<number[]>;
  /** The id of a series, 0 when it has none yet. */
  find(key: SeriesKey): Promise<number>;
  /** The name of a series; undefined when it has none, or is removed. */
  nameOf(id: number): Promise<SeriesKey | undefined>;
  isText(id: number): Promise<boolean>;
  /** Indexes of the devices that have a series that is not removed; a bounded number at once. */
  devicesWithSeries(devices: readonly DeviceKey[]): Promise<number[]>;
  /** A bounded number at once: one transaction. */
  markRemoved(scopes: readonly RemovedScope[]): Promise<void>;
  /** A removed series whose points may still lie in files. */
  nextRemoved(): Promise<number | undefined>;
  forget(id: number): Promise<void>;
}

const keyArgs = (key: SeriesKey): InValue[] => [
  BigInt(key.tenant),
  key.productID,
  key.deviceID,
  key.field,
  key.kind,
];

/**
 * @param log holds each name as well, should the catalog be lost
 * @param lastLogged the highest id in it
 */
export function createCatalogNames(
  client: CatalogClient,
  log: Pick<NamesLog, "name" | "removal" | "write">,
  lastLogged: number,
): { readonly names: CatalogNames; lastID(): number } {
  let lastID = lastLogged;

  /** Names hold neither NUL nor half a surrogate pair (names.ts), so JSON may carry them into SQL. */
  async function findIDs(keys: readonly SeriesKey[]): Promise<number[]> {
    const names = keys.map((key) => [key.tenant, key.productID, key.deviceID, key.field, key.kind]);
    const args = [JSON.stringify(names)];
    const [, found] = await client.batch(
      [
        {
          sql: `insert into series(tenant, product, device, field, kind)
            select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?) where true
            on conflict do nothing`,
          args,
        },
        {
          sql: `select s.id from json_each(?) k cross join series s
            on s.tenant = k.value->>0 and s.product = k.value->>1 and s.device = k.value->>2
              and s.field = k.value->>3 and s.kind = k.value->>4 and s.removed = 0
            order by k.key`,
          args,
        },
      ],
      "write",
    );
    const rows = found?.rows ?? [];
    if (rows.length !== keys.length)
      throw new StoreError("CORRUPT", "cannot name series: catalog.db lost rows");
    const ids = rows.map((row) => Number(row[0]));
    logNew(keys, ids);
    return ids;
  }

  /** Ids ascend: those above the last one in the log are new. */
  function logNew(keys: readonly SeriesKey[], ids: readonly number[]): void {
    const fresh = ids.flatMap((id, i) => (id > lastID ? [{ id, key: keys[i] as SeriesKey }] : []));
    for (const { id, key } of fresh.sort((a, b) => a.id - b.id)) {
      log.name(id, key);
      lastID = id;
    }
    log.write(false);
  }

  const names: CatalogNames = {
    ids: findIDs,
    find: async (key) => {
      const sql = `select id from series
        where tenant = ? and product = ? and device = ? and field = ? and kind = ? and removed = 0`;
      return Number((await client.execute({ sql, args: keyArgs(key) })).rows[0]?.[0] ?? 0);
    },
    nameOf: async (id) => {
      const { rows } = await client.execute({
        sql: "select tenant, product, device, field, kind from series where id = ? and removed = 0",
        args: [BigInt(id)],
      });
      return rows[0] === undefined ? undefined : keyOfRow(rows[0]);
    },
    isText: async (id) => {
      const { rows } = await client.execute({
        sql: "select kind from series where id = ?",
        args: [BigInt(id)],
      });
      return rows[0]?.[0] === "text";
    },
    devicesWithSeries: async (devices) => {
      const { rows } = await client.execute({
        sql: `select k.key from json_each(?) k where exists (select 1 from series s
          where s.tenant = k.value->>0 and s.product = k.value->>1 and s.device = k.value->>2 and s.removed = 0)`,
        args: [
          JSON.stringify(devices.map(({ tenant, productID, deviceID }) => [tenant, productID, deviceID])),
        ],
      });
      return rows.map((row) => Number(row[0]));
    },
    markRemoved: async (scopes) => {
      for (const scope of scopes) log.removal(scope);
      log.write(true);
      await client.batch(buildRemovals(scopes), "write");
    },
    nextRemoved: async () => {
      const { rows } = await client.execute("select id from series where removed <> 0 order by id limit 1");
      return rows[0] === undefined ? undefined : Number(rows[0][0]);
    },
    forget: async (id) => {
      await client.execute({
        sql: "delete from series where id = ? and removed <> 0",
        args: [BigInt(id)],
      });
    },
  };
  return { names, lastID: () => lastID };
}
