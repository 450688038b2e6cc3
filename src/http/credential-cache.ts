/**
 * Credentials that were right recently: remembered for a minute, and verified once for requests that come
 * together.
 */
import type { Clock } from "../../store/lib/clock.js";
import type { Credential } from "../../store/metadata/db/changes.js";
import type { Caller } from "./caller.js";

export interface Verified {
  readonly caller: Caller;
  /** When the credential itself expires, milliseconds since 1970; infinite if it never does. */
  readonly expiresAt: number;
}

/** Whose credentials have changed: a user's, one API key, or one session by its token's hash. */
export type Forgotten = { readonly user: number } | Credential;

interface CredentialCache {
  /** The credential's caller. @param verify called if it is not remembered @throws what `verify` throws */
  caller(digest: string, verify: () => Promise<Verified>): Promise<Caller>;
  /** Forgets these credentials, and nobody else's. */
  forget(of: Forgotten): void;
}

interface Remembered extends Verified {
  /** Monotonic milliseconds. */
  readonly until: number;
}

interface Verifying {
  readonly verified: Promise<Verified>;
  /** Credentials forgotten during the verification, which may have read them before. */
  readonly missed: Forgotten[];
}

const rememberedMs = 60_000;
const rememberedMax = 10_000;

export function createCredentialCache({ now, monotonic }: Clock): CredentialCache {
  const remembered = new Map<string, Remembered>();
  const underWay = new Map<string, Verifying>();

  function remember(digest: string, verified: Verified): void {
    const [oldest] = remembered.keys();
    if (remembered.size >= rememberedMax && oldest !== undefined) remembered.delete(oldest);
    remembered.set(digest, { ...verified, until: monotonic() + rememberedMs });
  }

  /**
   * Verifies again if credentials were forgotten meanwhile, because the first verification may have read them before
   * that; callers that have joined since get the new result.
   */
  async function verifyAnew(verify: () => Promise<Verified>, missed: Forgotten[]): Promise<Verified> {
    for (;;) {
      const found = await verify();
      if (!missed.some((of) => isOf(found, of))) return found;
      missed.length = 0;
    }
  }

  function verifyOnce(digest: string, verify: () => Promise<Verified>): Verifying {
    const missed: Forgotten[] = [];
    const verified = verifyAnew(verify, missed).then(
      (found) => {
        underWay.delete(digest);
        remember(digest, found);
        return found;
      },
      (error: unknown) => {
        underWay.delete(digest);
        throw error;
      },
    );
    const verifying = { verified, missed };
    underWay.set(digest, verifying);
    return verifying;
  }

  return {
    caller: async (digest, verify) => {
      const known = remembered.get(digest);
      if (known !== undefined && known.until > monotonic() && known.expiresAt > now()) return known.caller;
      remembered.delete(digest);
      const { verified } = underWay.get(digest) ?? verifyOnce(digest, verify);
      return (await verified).caller;
    },
    forget: (of) => {
      for (const [digest, verified] of remembered) if (isOf(verified, of)) remembered.delete(digest);
      for (const { missed } of underWay.values()) missed.push(of);
    },
  };
}

function isOf({ caller: { userIntID, credential } }: Verified, of: Forgotten): boolean {
  if ("user" in of) return userIntID === of.user;
  if ("apiKey" in of) return "apiKey" in credential && credential.apiKey === of.apiKey;
  return "session" in credential && credential.session === of.session;
}
