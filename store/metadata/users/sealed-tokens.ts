import { isDamage } from "../../files/database-faults.js";
import type { SealedStore } from "./authority.js";

/** How many tokens are tried: a single damaged one must not decide for all. */
const tokensMax = 3;

/** Whether the vault opens devices' tokens; true if no device has one. */
export async function opensTokens({ db, vault }: SealedStore): Promise<boolean> {
  const rows = await db.all<{ token: ArrayBuffer }>("select token from device order by id limit ?", [
    tokensMax,
  ]);
  const opens = (token: ArrayBuffer): boolean => {
    try {
      vault.open(new Uint8Array(token));
      return true;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  };
  return rows.length === 0 || rows.some(({ token }) => opens(token));
}
