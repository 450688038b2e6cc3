/** The page of a share. Its address names the share by the hash of its token, which opens nothing, and is what is stored. */
import { findShare } from "../../store/metadata/dashboards/shares.js";
import type { Db } from "../../store/metadata/db/db.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";

/** Below it stands the digest of the token. */
export const sharedPages = "/console/shared";

const kind = "sha256:";

/** The token stands behind #, so that no log, no history of a server and no `Referer` has it. */
export function sharedPagePath(basePath: string, token: string): string {
  return `${basePath}${sharedPages}/${hashGenerated(token).slice(kind.length)}#${token}`;
}

/** Origins whose pages may frame the page that an address names: none where there is no such share, or not any more. */
export async function listFramers(
  { db, now }: { readonly db: Db; now(): number },
  digest: string,
): Promise<readonly string[]> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(digest)) return [];
  const share = await findShare(db, kind + digest);
  if (share === undefined || share.enable !== 1) return [];
  return share.expiresAt !== null && share.expiresAt <= now() ? [] : share.allowedOrigins;
}
