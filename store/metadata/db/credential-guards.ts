import type { Actor } from "./changes.js";
import type { Statement } from "./db.js";
import { assertRow } from "./sql-assert.js";

/**
 * The first statements of a write of credentials: an administrator whose session or key was taken back, or who was
 * demoted, while his request was under way (a body that came slowly, a password being hashed) can no longer make or
 * change any. Empty if the service itself acts.
 *
 * @throws StoreError DENIED from the write that it is part of
 */
export function assertAdmin({ userIntID, credential }: Actor): Statement[] {
  if (credential === undefined) return [];
  const held =
    "session" in credential
      ? { sql: "session s on s.userIntID = u.id where s.tokenHash = ?", arg: credential.session }
      : { sql: "api_key k on k.userIntID = u.id where k.id = ?", arg: credential.apiKey };
  return [
    assertRow("STANDING", `select 1 from user u join ${held.sql} and u.id = ? and u.role = 'admin'`, [
      held.arg,
      userIntID,
    ]),
  ];
}

/**
 * Demands that the user's password is still that of this hash. @throws StoreError DENIED from the write that it is part
 * of
 */
export function assertPassword(user: number, passwordHash: string): Statement {
  return assertRow("STANDING", "select 1 from user where id = ? and passwordHash = ?", [user, passwordHash]);
}
