import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
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

/** A topic access rule for the devices that it is bound to. */
export interface Policy {
  readonly id: number;
  readonly tenant: number;
  readonly name: string;
  /** A topic filter; `%d` stands for the deviceID, `%u` for the deviceUsername. */
  readonly topic: string;
  readonly access: number;
  readonly allow: number;
  readonly description: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
  /** Ids of its newest bindings, up to `bindingsShownMax` + 1, to show whether there are more. */
  readonly bindings: readonly number[];
}

type PolicyRow = Omit<Policy, "bindings">;

/** Bindings that the `mqtt_acl` of a policy may hold. */
export const bindingsShownMax = 1000;

const listing: Listing = {
  bytes: formatBytesSql("r.description"),
  select: "r.*",
  from: "policy r",
  filters: {
    name: textColumn("name"),
    topic: textColumn("topic"),
    description: textColumn("description"),
    access: integerColumn("access"),
    allow: integerColumn("allow"),
    userIntID: integerColumn("userIntID"),
    ...stamps,
  },
};

export const policyFilters = listing.filters;
export const policyIDs = { name: "policy", column: null } as const;

/** All policies of the tenant. */
export function listPolicies(db: Db, tenant: number, request: PageRequest): Promise<Page<Policy>> {
  return listWhere(db, tenant, request);
}

export function policiesOfDevice(
  db: Db,
  tenant: number,
  request: PageRequest,
  device: number,
): Promise<Page<Policy>> {
  const sql = "r.id in (select policyIntID from policy_device where deviceIntID = ?)";
  return listWhere(db, tenant, request, { sql, args: [device] });
}

export function policiesNotOfDevice(
  db: Db,
  tenant: number,
  request: PageRequest,
  device: number,
): Promise<Page<Policy>> {
  const sql = "r.id not in (select policyIntID from policy_device where deviceIntID = ?)";
  return listWhere(db, tenant, request, { sql, args: [device] });
}

async function listWhere(
  db: Db,
  tenant: number,
  request: PageRequest,
  scope?: Statement,
): Promise<Page<Policy>> {
  const page = await listRows<PolicyRow>(db, listing, tenant, request, scope);
  return { ...page, items: await withBindings(db, page.items) };
}

/** @throws StoreError NOT_FOUND */
export async function getPolicy(db: Db, tenant: number, id: number): Promise<Policy> {
  const row = await getRow<PolicyRow>(db, listing, tenant, id);
  return (await withBindings(db, [row]))[0] ?? { ...row, bindings: [] };
}

async function withBindings(db: Db, policies: readonly PolicyRow[]): Promise<Policy[]> {
  const rows = await db.all<{ policy: number; id: number }>(
    `select p.value policy, b.id from json_each(?) p join policy_device b on b.id in
       (select id from policy_device where policyIntID = p.value order by id desc limit ?)
     order by b.id desc`,
    [policies.map(({ id }) => id), bindingsShownMax + 1],
  );
  const found = new Map<number, number[]>(policies.map(({ id }) => [id, []]));
  for (const row of rows) found.get(row.policy)?.push(row.id);
  return policies.map((policy) => ({ ...policy, bindings: found.get(policy.id) ?? [] }));
}

type PolicyInput = Pick<Policy, "name" | "topic" | "access" | "allow" | "description">;

/** @throws StoreError CONFLICT when the name is taken */
export async function createPolicy(db: Db, actor: Actor, now: number, input: PolicyInput): Promise<Policy> {
  const results = await db.write(insertStatements("policy", actor, now, input));
  return getPolicy(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

/** @throws StoreError CONFLICT when the name is taken */
export async function updatePolicy(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<PolicyInput>,
): Promise<Policy> {
  const edit = differing(await getPolicy(db, actor.tenant, id), input);
  await db.write(updateStatements("policy", actor, now, id, edit));
  return getPolicy(db, actor.tenant, id);
}

/** Bindings are removed with their policy. */
export async function removePolicies(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("policy", actor, now, ids));
}
