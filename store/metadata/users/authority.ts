import type { Db } from "../db/db.js";
import { formatPlace, type Vault } from "../db/secrets.js";

/** The metadata, and the vault that seals the private keys in it. */
export interface SealedStore {
  readonly db: Db;
  readonly vault: Vault;
}

/** The deployment's own certificate authority, both parts as PEM texts. */
export interface AuthorityPair {
  readonly cert: string;
  readonly key: string;
}

/** @throws StoreError CORRUPT if another master key sealed it */
export async function readAuthority({ db, vault }: SealedStore): Promise<AuthorityPair | undefined> {
  const row = await db.first<{ cert: string; key: ArrayBuffer }>(
    "select cert, key from authority order by id limit 1",
  );
  return (
    row && {
      cert: row.cert,
      key: vault.open(new Uint8Array(row.key), formatPlace("authority.key", null, row.cert)),
    }
  );
}

/** Stores the authority unless there is one: of several processes that start at once, the first one's counts. */
export async function keepAuthority(
  { db, vault }: SealedStore,
  now: number,
  { cert, key }: AuthorityPair,
): Promise<void> {
  await db.write([
    {
      sql: `insert into authority (cert, key, createAt)
        select ?, ?, ? where not exists (select 1 from authority)`,
      args: [cert, vault.seal(key, formatPlace("authority.key", null, cert)), now],
    },
  ]);
}

/** Notes an authority, and returns all that this deployment has had, as PEM texts, the newest last. */
export async function keepRoot({ db }: SealedStore, now: number, root: string): Promise<string[]> {
  const known = "select root from authority_root order by createAt";
  const before = (await db.all<{ root: string }>(known)).map((row) => row.root);
  if (before.includes(root)) return before;
  await db.write([
    { sql: "insert or ignore into authority_root (root, createAt) values (?, ?)", args: [root, now] },
  ]);
  return [...before, root];
}
