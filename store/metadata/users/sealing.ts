/** The vault of a deployment's metadata: whether the key is the right one, and values of the first sealed form. */
import { StoreError } from "../../lib/errors.js";
import type { Db, Statement } from "../db/db.js";
import { createVault, formatPlace, type SealedColumn, type Vault } from "../db/secrets.js";

/** Where sealed values are: `owner` is the column that identifies a row in their places. */
const sealedColumns: readonly {
  readonly place: SealedColumn;
  readonly table: string;
  readonly column: string;
  readonly tenant: string;
  readonly owner: string;
  /** Kept as text, in base64. */
  readonly isText: boolean;
}[] = [
  sealedIn("device.token", { owner: "deviceID" }),
  sealedIn("device.lora", { owner: "deviceID", isText: true }),
  sealedIn("cert.key", { owner: "CN" }),
  sealedIn("contact_point.secrets", { owner: "id" }),
  sealedIn("authority.key", { owner: "cert", tenant: "null" }),
];

function sealedIn(place: SealedColumn, options: { owner: string; tenant?: string; isText?: boolean }) {
  const [table = "", column = ""] = place.split(".");
  return { place, table, column, tenant: "tenant", isText: false, ...options };
}

const keyCheckPlace = formatPlace("sealing.keyCheck", null, "");

/**
 * The vault of the metadata. What a version before has sealed, for no place, is sealed anew once; from then on nothing
 * of that form opens. `onRefused` is called with the place of each value that does not open there.
 * @throws StoreError CORRUPT if `masterKey` is not the key of the metadata
 */
export async function openVault(
  db: Db,
  masterKey: Uint8Array,
  onRefused?: (place: string) => void,
): Promise<Vault> {
  const vault = createVault(masterKey, onRefused);
  const row = await db.first<{ keyCheck: ArrayBuffer | null }>("select keyCheck from sealing");
  const keyCheck = row?.keyCheck ?? null;
  // The key check is no value of a record, so a failure is not reported as damage of one.
  if (keyCheck !== null) createVault(masterKey).open(new Uint8Array(keyCheck), keyCheckPlace);
  else {
    await sealAnew(db, createVault(masterKey));
    await db.write([
      {
        sql: "update sealing set keyCheck = ? where keyCheck is null",
        args: [vault.seal("", keyCheckPlace)],
      },
    ]);
  }
  return vault;
}

const rowsPerStep = 200;

interface SealedRow {
  readonly id: number;
  readonly tenant: number | null;
  readonly owner: string | number;
  readonly sealed: ArrayBuffer | string;
}

/**
 * Seals each value for its place, in steps: whatever ends it, the next start goes on. What does not open stays as it
 * is, to be refused where it is asked for. @throws StoreError CORRUPT if no value opens: the key is another
 */
async function sealAnew(db: Db, vault: Vault): Promise<void> {
  let opened = 0;
  let refused = 0;
  for (const { table, column, tenant, owner, ...rest } of sealedColumns) {
    for (let after = 0; ; ) {
      const rows = await db.all<SealedRow>(
        `select id, ${tenant} tenant, ${owner} owner, ${column} sealed from ${table}
         where id > ? and ${column} is not null order by id limit ${rowsPerStep}`,
        [after],
      );
      const statements: Statement[] = [];
      for (const { id, sealed, ...of } of rows) {
        const found = sealedFor(vault, formatPlace(rest.place, of.tenant, of.owner), sealed, rest.isText);
        if (found === null) refused++;
        else opened++;
        // Another process that starts now may have done it.
        if (found !== null && found !== sealed)
          statements.push({
            sql: `update ${table} set ${column} = ? where id = ? and ${column} = ?`,
            args: [found, id, typeof sealed === "string" ? sealed : new Uint8Array(sealed)],
          });
      }
      if (statements.length > 0) await db.write(statements);
      if (rows.length < rowsPerStep) break;
      after = rows.at(-1)?.id ?? after;
    }
  }
  if (opened === 0 && refused > 0)
    throw new StoreError(
      "CORRUPT",
      "cannot open any sealed secret: MASTER_KEY is not the one that sealed them",
    );
}

/** The value sealed for the place; itself if it is already, null if it does not open. */
function sealedFor<Value extends ArrayBuffer | string>(
  vault: Vault,
  place: string,
  value: Value,
  isText: boolean,
): Value | Uint8Array | string | null {
  const bytes = typeof value === "string" ? Buffer.from(value, "base64") : new Uint8Array(value);
  if (opens(() => vault.open(bytes, place)) !== null) return value;
  const plain = opens(() => vault.openUnplaced(bytes));
  if (plain === null) return null;
  const sealed = vault.seal(plain, place);
  return isText ? Buffer.from(sealed).toString("base64") : sealed;
}

function opens(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError && error.code === "CORRUPT") return null;
    throw error;
  }
}
