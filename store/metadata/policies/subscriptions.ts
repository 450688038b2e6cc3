import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import type { Actor } from "../db/changes.js";
import type { Db } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import {
  getRow,
  integerColumn,
  type Listing,
  notFound,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";

/** A subscription that the service makes for a device, or for all devices of a group or product. */
export interface Subscription {
  readonly id: number;
  readonly topic: string;
  readonly qos: number;
  readonly createAt: number;
  readonly updateAt: number | null;
}

/** The record that a subscription belongs to, with its table. */
export interface SubscriptionOwner {
  readonly column: "deviceIntID" | "groupIntID" | "productIntID";
  readonly id: number;
}

const tables = { deviceIntID: "device", groupIntID: "device_group", productIntID: "product" } as const;

/** Subscriptions that one device, group or product may have. */
const subscriptionsMax = 10;

const listing: Listing = {
  select: "r.id, r.topic, r.qos, r.createAt, r.updateAt",
  from: "subscription r",
  filters: { topic: textColumn("topic"), qos: integerColumn("qos"), ...stamps },
};

export const subscriptionFilters = listing.filters;
export const subscriptionIDs = { name: "subscription", column: null } as const;

export function listSubscriptions(
  db: Db,
  tenant: number,
  request: PageRequest,
  { column, id }: SubscriptionOwner,
): Promise<Page<Subscription>> {
  return listRows<Subscription>(db, listing, tenant, request, { sql: `r.${column} = ?`, args: [id] });
}

/** @throws StoreError CONFLICT on topic, LIMIT at the most that an owner may have, NOT_FOUND if the owner is deleted */
export async function createSubscription(
  db: Db,
  actor: Actor,
  now: number,
  { column, id }: SubscriptionOwner,
  { topic, qos }: Pick<Subscription, "topic" | "qos">,
): Promise<Subscription> {
  const { tenant, userIntID, username } = actor;
  const results = await db.write([
    {
      // A taken topic is left to the index, which names the fault.
      sql: `insert into subscription (tenant, ${column}, topic, qos, userIntID, createUser, createAt)
        select o.tenant, o.id, ?3, ?4, ?5, ?6, ?7 from ${tables[column]} o where o.tenant = ?1 and o.id = ?2
          and ((select count(*) from subscription where ${column} = ?2) < ?8
            or exists (select 1 from subscription where ${column} = ?2 and topic = ?3))`,
      args: [tenant, id, topic, qos, userIntID, username, now, subscriptionsMax],
    },
    changedIfAny(actor, now, "create", "subscription", null, { [column]: id, topic, qos }),
  ]);
  const inserted = results[0];
  if (inserted === undefined || inserted.rowsAffected === 0) {
    const owner = await db.first(`select 1 from ${tables[column]} where tenant = ? and id = ?`, [tenant, id]);
    if (owner === undefined) throw notFound(String(id));
    throw new StoreError("LIMIT", `cannot subscribe: there are ${subscriptionsMax} subscriptions already`);
  }
  return getRow<Subscription>(db, listing, tenant, Number(inserted.lastInsertRowid));
}

/** Removes all or none. @throws StoreError NOT_FOUND if one of them is not the owner's */
export async function removeSubscriptions(
  db: Db,
  actor: Actor,
  now: number,
  { column, id: owner }: SubscriptionOwner,
  ids: readonly number[],
): Promise<void> {
  const rows = await db.all<{ id: number; topic: string }>(
    `select id, topic from subscription where tenant = ? and ${column} = ?
       and id in (select value from json_each(?))`,
    [actor.tenant, owner, ids],
  );
  const missing = ids.find((id) => rows.every((row) => row.id !== id));
  if (missing !== undefined) throw notFound(String(missing));
  const results = await db.write([
    {
      // Another caller may have removed one of them since.
      sql: `delete from subscription where id in (select value from json_each(?1))
        and (select count(*) from subscription where id in (select value from json_each(?1))) = ?2`,
      args: [ids, ids.length],
    },
    ...rows.map(({ id, topic }) =>
      changedIfAny(actor, now, "delete", "subscription", id, { [column]: owner, topic }),
    ),
  ]);
  if (results[0]?.rowsAffected === 0) throw notFound(String(ids[0]));
}
