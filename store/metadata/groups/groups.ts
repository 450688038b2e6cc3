import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db } from "../db/db.js";
import { shortID } from "../db/ids.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";
import { devicesShownMax } from "../products/products.js";

/** Devices of one product that receive commands together. */
export interface Group {
  readonly id: number;
  readonly tenant: number;
  readonly groupID: string;
  readonly groupName: string;
  readonly description: string | null;
  readonly productIntID: number;
  readonly productID: string;
  readonly productName: string;
  readonly deviceCount: number;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const memberCount = "(select count(*) from group_member m where m.groupIntID = r.id)";

const listing: Listing = {
  bytes: formatBytesSql("r.description"),
  select: `r.*, p.productID, p.productName, ${memberCount} deviceCount`,
  from: "device_group r join product p on p.id = r.productIntID",
  filters: {
    groupName: textColumn("groupName"),
    groupID: textColumn("groupID"),
    description: textColumn("description"),
    productID: { column: "p.productID", type: "text" },
    productName: { column: "p.productName", type: "text" },
    productIntID: integerColumn("productIntID"),
    userIntID: integerColumn("userIntID"),
    deviceCount: { column: memberCount, type: "integer" },
    ...stamps,
  },
};

export const groupFilters = listing.filters;
export const groupIDs = { name: "device_group", column: "groupID" } as const;

export function listGroups(db: Db, tenant: number, request: PageRequest): Promise<Page<Group>> {
  return listRows<Group>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getGroup(db: Db, tenant: number, id: number): Promise<Group> {
  return getRow<Group>(db, listing, tenant, id);
}

/** The newest devices of each group, by group; up to `devicesShownMax` + 1, to show whether there are more. */
export async function devicesOfGroups(
  db: Db,
  groups: readonly number[],
): Promise<ReadonlyMap<number, number[]>> {
  const rows = await db.all<{ owner: number; id: number }>(
    `select m.groupIntID owner, m.deviceIntID id from json_each(?) g
     join group_member m on m.groupIntID = g.value and m.deviceIntID in
       (select deviceIntID from group_member where groupIntID = g.value order by deviceIntID desc limit ?)
     order by m.deviceIntID desc`,
    [groups, devicesShownMax + 1],
  );
  const found = new Map<number, number[]>(groups.map((id) => [id, []]));
  for (const row of rows) found.get(row.owner)?.push(row.id);
  return found;
}

type GroupInput = Pick<Group, "groupName" | "description" | "productIntID">;

/** @throws StoreError CONFLICT when the name is taken */
export async function createGroup(db: Db, actor: Actor, now: number, input: GroupInput): Promise<Group> {
  const columns = { groupID: shortID(), ...input };
  const results = await db.write(insertStatements("device_group", actor, now, columns));
  return getGroup(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

/** @throws StoreError CONFLICT when the name is taken */
export async function updateGroup(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<Pick<Group, "groupName" | "description">>,
): Promise<Group> {
  const edit = differing(await getGroup(db, actor.tenant, id), input);
  await db.write(updateStatements("device_group", actor, now, id, edit));
  return getGroup(db, actor.tenant, id);
}

/** Memberships, subscriptions and schedules are removed with their group. */
export async function removeGroups(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  await db.write(deleteStatements("device_group", actor, now, ids));
}
