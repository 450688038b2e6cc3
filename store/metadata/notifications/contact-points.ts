import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, SqlValue } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { deleting } from "../db/referrers.js";
import { formatPlace, type Vault } from "../db/secrets.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";

/** Where alerts are sent. */
export const contactTypes = ["webhook", "email", "mqtt"] as const;
export type ContactType = (typeof contactTypes)[number];

/** The language of the texts that the service writes; templates have their own. */
export type Language = "zh" | "en";

export interface ContactPoint {
  readonly id: number;
  readonly tenant: number;
  readonly name: string;
  readonly type: ContactType;
  readonly enable: number;
  readonly language: Language;
  /** Address and options, by type; nothing secret. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The secrets that are set, by name. Their values are answered to nobody. */
  readonly secretNames: readonly string[];
  /** Null: the built-in one. */
  readonly subjectTemplate: string | null;
  readonly bodyTemplate: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

export type Secrets = Readonly<Record<string, string>>;

type ContactPointRow = Omit<ContactPoint, "settings" | "secretNames"> & {
  readonly settings: string;
  readonly secretNames: string;
};

const columns = `r.id, r.tenant, r.name, r.type, r.enable, r.language, r.settings, r.secretNames, r.subjectTemplate,
  r.bodyTemplate, r.userIntID, r.createUser, r.createAt, r.updateAt`;

const listing: Listing = {
  bytes: formatBytesSql("r.settings", "r.bodyTemplate", "r.subjectTemplate"),
  select: columns,
  from: "contact_point r",
  filters: {
    name: textColumn("name"),
    type: textColumn("type"),
    enable: integerColumn("enable"),
    language: textColumn("language"),
    subjectTemplate: textColumn("subjectTemplate"),
    bodyTemplate: textColumn("bodyTemplate"),
    createUser: textColumn("createUser"),
    ...stamps,
  },
};

export const contactPointFilters = listing.filters;
export const contactPointIDs = { name: "contact_point", column: null } as const;

const contactPointsMax = 1000;

function toContactPoint(row: ContactPointRow): ContactPoint {
  return {
    ...row,
    settings: JSON.parse(row.settings) as ContactPoint["settings"],
    secretNames: JSON.parse(row.secretNames) as string[],
  };
}

export async function listContactPoints(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<ContactPoint>> {
  const page = await listRows<ContactPointRow>(db, listing, tenant, request);
  return { ...page, items: page.items.map(toContactPoint) };
}

/** @throws StoreError NOT_FOUND */
export async function getContactPoint(db: Db, tenant: number, id: number): Promise<ContactPoint> {
  return toContactPoint(await getRow<ContactPointRow>(db, listing, tenant, id));
}

/** A contact point with its secrets, for the sender. */
export interface OpenContactPoint extends ContactPoint {
  readonly secrets: Secrets;
}

/** Undefined if it is gone. @throws StoreError CORRUPT if another master key sealed its secrets */
export async function openContactPoint(
  { db, vault }: { readonly db: Db; readonly vault: Vault },
  id: number,
): Promise<OpenContactPoint | undefined> {
  const row = await db.first<ContactPointRow & { readonly secrets: ArrayBuffer | null }>(
    `select ${columns}, r.secrets from contact_point r where r.id = ?`,
    [id],
  );
  if (row === undefined) return undefined;
  const { secrets, ...rest } = row;
  const open = (bytes: ArrayBuffer) =>
    JSON.parse(vault.open(new Uint8Array(bytes), secretsPlace(rest.tenant, id))) as Secrets;
  return { ...toContactPoint(rest), secrets: secrets === null ? {} : open(secrets) };
}

/** Those of some contact points that are left, and whether they are on. */
export async function contactPointsLeft(db: Db, ids: readonly number[]): Promise<Map<number, boolean>> {
  const rows = await db.all<{ id: number; enable: number }>(
    "select c.id, c.enable from json_each(?) j join contact_point c on c.id = j.value",
    [ids],
  );
  return new Map(rows.map(({ id, enable }) => [id, enable === 1]));
}

export type ContactPointInput = Pick<
  ContactPoint,
  "name" | "enable" | "language" | "settings" | "subjectTemplate" | "bodyTemplate"
>;

interface NewContactPoint extends ContactPointInput {
  readonly type: ContactType;
  readonly secrets: Secrets;
}

/** @throws StoreError CONFLICT when the name is taken, LIMIT at the most allowed */
export async function createContactPoint(
  store: { readonly db: Db; readonly vault: Vault },
  actor: Actor,
  now: number,
  input: NewContactPoint,
): Promise<ContactPoint> {
  for (;;) {
    const id = await nextID(store.db);
    try {
      await insertAs(id, store, actor, now, input);
      return await getContactPoint(store.db, actor.tenant, id);
    } catch (error) {
      // Another contact point has taken the id in between.
      if (!(error instanceof StoreError && error.code === "CONFLICT" && "id" in error.fields)) throw error;
    }
  }
}

/** The id that the next record gets: its secrets are sealed for it before it is stored. */
async function nextID(db: Db): Promise<number> {
  const last = await db.first<{ seq: number }>(
    "select seq from sqlite_sequence where name = 'contact_point'",
  );
  return (last?.seq ?? 0) + 1;
}

async function insertAs(
  id: number,
  { db, vault }: { readonly db: Db; readonly vault: Vault },
  actor: Actor,
  now: number,
  { secrets, ...shown }: NewContactPoint,
): Promise<void> {
  const { tenant, userIntID, username: createUser } = actor;
  const record: Record<string, SqlValue> = {
    id,
    tenant,
    ...shown,
    ...sealed(vault, secretsPlace(tenant, id), secrets),
    userIntID,
    createUser,
    createAt: now,
  };
  const names = Object.keys(record);
  const results = await db.write([
    {
      // A taken name is left to the index, which names the fault.
      sql: `insert into contact_point (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where (select count(*) from contact_point where tenant = ?) < ${contactPointsMax}
          or exists (select 1 from contact_point where tenant = ? and name = ?)`,
      args: [...Object.values(record), tenant, tenant, shown.name],
    },
    changedIfAny(actor, now, "create", "contact_point", id, shown),
  ]);
  if (results[0]?.rowsAffected === 0) {
    throw new StoreError("LIMIT", `a tenant may have ${contactPointsMax} contact points`);
  }
}

/** @param secrets all of them, if any changes @throws StoreError CONFLICT when the name is taken */
export async function updateContactPoint(
  { db, vault }: { readonly db: Db; readonly vault: Vault },
  actor: Actor,
  now: number,
  point: ContactPoint,
  input: Partial<ContactPointInput>,
  secrets: Secrets | null,
): Promise<ContactPoint> {
  const edit = differing(point, input);
  const held = secrets === null ? {} : sealed(vault, secretsPlace(point.tenant, point.id), secrets);
  const audit = secrets === null ? edit : { ...edit, secretNames: Object.keys(secrets) };
  await db.write(
    updateStatements(
      "contact_point",
      actor,
      now,
      point.id,
      { ...edit, ...held } as Record<string, SqlValue>,
      audit,
    ),
  );
  return getContactPoint(db, actor.tenant, point.id);
}

const secretsPlace = (tenant: number, id: number): string => formatPlace("contact_point.secrets", tenant, id);

function sealed(
  vault: Vault,
  place: string,
  secrets: Secrets,
): { secrets: Uint8Array | null; secretNames: string[] } {
  const secretNames = Object.keys(secrets);
  return {
    secrets: secretNames.length === 0 ? null : vault.seal(JSON.stringify(secrets), place),
    secretNames,
  };
}

/** @throws StoreError REFERENCED while a route names one */
export async function removeContactPoints(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await deleting(db, { contact_point: ids }, () =>
    db.write(deleteStatements("contact_point", actor, now, ids)),
  );
}
