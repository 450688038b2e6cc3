import { type Db, lookUpFirst } from "../db/db.js";
import type { Role, User } from "./users.js";

/** A login of a user, named by the hash of its bearer token. */
export interface LoginSession {
  readonly id: number;
  readonly tenant: number;
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly role: Role;
  readonly expiresAt: number;
  /** Where each use puts the end off: when it ends at the latest. Null: it does not. */
  readonly endsAt: number | null;
}

/**
 * Creates a session for the verified user, unless he has a new password or another role, or was deleted, since the
 * verification. Returns whether it did.
 *
 * @param times milliseconds since 1970
 */
export async function createSession(
  db: Db,
  user: Pick<User, "id" | "passwordHash" | "role">,
  tokenHash: string,
  times: { readonly createAt: number; readonly expiresAt: number; readonly endsAt: number | null },
): Promise<boolean> {
  const { id, passwordHash, role } = user;
  const results = await db.write([
    { sql: "delete from session where expiresAt < ?", args: [times.createAt - expiredKeptMs] },
    {
      sql: `insert into session (tenant, userIntID, tokenHash, expiresAt, endsAt, createAt)
        select tenant, id, ?, ?, ?, ? from user where id = ? and passwordHash = ? and role = ?`,
      args: [tokenHash, times.expiresAt, times.endsAt, times.createAt, id, passwordHash, role],
    },
  ]);
  return results.at(-1)?.rowsAffected === 1;
}

/** How long an expired session can be distinguished from an unknown token. */
const expiredKeptMs = 7 * 86_400_000;

export function findSession(db: Db, tokenHash: string): Promise<LoginSession | undefined> {
  return lookUpFirst<LoginSession>(
    db,
    `select s.id, s.tenant, t.tenantID, s.userIntID, u.username, u.role, s.expiresAt, s.endsAt
     from session s join user u on u.id = s.userIntID join tenant t on t.id = s.tenant where s.tokenHash = ?`,
    [tokenHash],
  );
}

/** Puts the end of a session off, if it is still there. */
export async function extendSession(db: Db, tokenHash: string, expiresAt: number): Promise<void> {
  await db.write([
    {
      sql: "update session set expiresAt = max(expiresAt, ?) where tokenHash = ?",
      args: [expiresAt, tokenHash],
    },
  ]);
}

export async function removeSession(db: Db, tokenHash: string): Promise<void> {
  await db.write([{ sql: "delete from session where tokenHash = ?", args: [tokenHash] }]);
}
