import type { Db } from "./db.js";
import { insertInto } from "./table.js";
import type { Role } from "./users.js";

/** A login of a user, named by the hash of its bearer token. */
export interface LoginSession {
  readonly id: number;
  readonly tenant: number;
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly role: Role;
  readonly expiresAt: number;
}

export async function createSession(
  db: Db,
  input: { tenant: number; userIntID: number; tokenHash: string; expiresAt: number; createAt: number },
): Promise<void> {
  await db.write([
    { sql: "delete from session where expiresAt < ?", args: [input.createAt - expiredKeptMs] },
    insertInto("session", input),
  ]);
}

/** An expired session is told apart from an unknown token for this long. */
const expiredKeptMs = 7 * 86_400_000;

export function findSession(db: Db, tokenHash: string): Promise<LoginSession | undefined> {
  return db.first<LoginSession>(
    `select s.id, s.tenant, t.tenantID, s.userIntID, u.username, u.role, s.expiresAt
     from session s join user u on u.id = s.userIntID join tenant t on t.id = s.tenant where s.tokenHash = ?`,
    [tokenHash],
  );
}

export async function removeSession(db: Db, tokenHash: string): Promise<void> {
  await db.write([{ sql: "delete from session where tokenHash = ?", args: [tokenHash] }]);
}
