import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, SqlValue } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  fromJson,
  getRow,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
  time,
} from "../db/table.js";
import type { AlertMatcher } from "./alert-matcher.js";
import { matcherListing } from "./alert-routes.js";

/** Alerts of which nobody is notified from `startTime` to `endTime`, milliseconds since 1970. */
export interface Silence extends AlertMatcher {
  readonly id: number;
  readonly tenant: number;
  readonly productName: string | null;
  readonly groupName: string | null;
  readonly deviceName: string | null;
  readonly startTime: number;
  readonly endTime: number;
  readonly comment: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

type SilenceRow = Omit<Silence, "severities"> & { readonly severities: string | null };

const listing: Listing = {
  bytes: formatBytesSql("r.comment"),
  select: `r.*, ${matcherListing.select}`,
  from: `silence r ${matcherListing.joins}`,
  filters: {
    ...matcherListing.filters,
    createUser: textColumn("createUser"),
    startTime: time("startTime"),
    endTime: time("endTime"),
    comment: textColumn("comment"),
    ...stamps,
  },
};

export const silenceFilters = listing.filters;
export const silenceIDs = { name: "silence", column: null } as const;

/** The most that a tenant may have, including those that have ended. */
const silencesMax = 1000;

function toSilence(row: SilenceRow): Silence {
  return { ...row, severities: fromJson<number[]>(row.severities) };
}

export async function listSilences(db: Db, tenant: number, request: PageRequest): Promise<Page<Silence>> {
  const page = await listRows<SilenceRow>(db, listing, tenant, request);
  return { ...page, items: page.items.map(toSilence) };
}

/** @throws StoreError NOT_FOUND */
export async function getSilence(db: Db, tenant: number, id: number): Promise<Silence> {
  return toSilence(await getRow<SilenceRow>(db, listing, tenant, id));
}

/** Those of a tenant in effect at an instant. */
export async function silencesAt(db: Db, tenant: number, now: number): Promise<Silence[]> {
  const rows = await db.all<SilenceRow>(
    `select ${listing.select} from ${listing.from} where r.tenant = ? and r.endTime > ? and r.startTime <= ?`,
    [tenant, now, now],
  );
  return rows.map(toSilence);
}

export type SilenceInput = Pick<Silence, keyof AlertMatcher | "startTime" | "endTime" | "comment">;

/** @throws StoreError LIMIT at the most allowed */
export async function createSilence(
  db: Db,
  actor: Actor,
  now: number,
  input: SilenceInput,
): Promise<Silence> {
  const { tenant, userIntID, username: createUser } = actor;
  const record = { tenant, ...input, userIntID, createUser, createAt: now } as Record<string, SqlValue>;
  const names = Object.keys(record);
  const results = await db.write([
    {
      sql: `insert into silence (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where (select count(*) from silence where tenant = ?) < ${silencesMax}`,
      args: [...Object.values(record), tenant],
    },
    changedIfAny(actor, now, "create", "silence", null, input),
  ]);
  if (results[0]?.rowsAffected === 0) {
    throw new StoreError("LIMIT", `a tenant may have ${silencesMax} silences, ended ones included`);
  }
  return getSilence(db, tenant, Number(results[0]?.lastInsertRowid));
}

export async function updateSilence(
  db: Db,
  actor: Actor,
  now: number,
  silence: Silence,
  input: Partial<SilenceInput>,
): Promise<Silence> {
  const edit = differing(silence, input) as Record<string, SqlValue>;
  await db.write(updateStatements("silence", actor, now, silence.id, edit));
  return getSilence(db, actor.tenant, silence.id);
}

export async function removeSilences(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("silence", actor, now, ids));
}

/** Removes silences that ended before a time in milliseconds; returns how many. */
export async function removeOldSilences(db: Db, before: number): Promise<number> {
  const [result] = await db.write([{ sql: "delete from silence where endTime < ?", args: [before] }]);
  return result?.rowsAffected ?? 0;
}
