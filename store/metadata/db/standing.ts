import type { Actor } from "./changes.js";
import type { Statement } from "./db.js";

/**
 * What a write of credentials begins with: an administrator whose session or key was taken back, or who was demoted,
 * while his request was under way (a body that came slowly, a password being hashed) makes and changes none any more.
 * Nothing where the service itself acts.
 *
 * @throws StoreError DENIED from the write that it stands in
 */
export function stillAdmin({ userIntID, credential }: Actor): Statement[] {
  if (credential === undefined) return [];
  const held =
    "session" in credential
      ? { sql: "session s on s.userIntID = u.id where s.tokenHash = ?", arg: credential.session }
      : { sql: "api_key k on k.userIntID = u.id where k.id = ?", arg: credential.apiKey };
  return [
    demand(`select 1 from user u join ${held.sql} and u.id = ? and u.role = 'admin'`, [held.arg, userIntID]),
  ];
}

/** The user's password is still the one of this hash. @throws StoreError DENIED from the write that it stands in */
export function stillPassword(user: number, passwordHash: string): Statement {
  return demand("select 1 from user where id = ? and passwordHash = ?", [user, passwordHash]);
}

/** SQL outside of triggers has no way to fail by intent: an invalid JSON path fails, and its text is in the error. */
function demand(sql: string, args: readonly (string | number | null)[]): Statement {
  return {
    sql: `select json_extract('{}', case when exists (${sql}) then '$' else 'STANDING constraint failed' end)`,
    args,
  };
}
