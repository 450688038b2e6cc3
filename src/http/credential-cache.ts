/**
 * Credentials that were right recently: remembered for a minute, and verified once for requests that come
 * together.
 */
import type { Clock } from "../../store/lib/clock.js";
import type { CallerCredential } from "../../store/metadata/db/changes.js";
import type { ApiCaller } from "./caller.js";

export interface VerifiedCredential {
  readonly caller: ApiCaller;
  /** When the credential itself expires, milliseconds since 1970; infinite if it never does. */
  readonly expiresAt: number;
}

/** Credentials that have changed: a user's, one API key, or one session by its token's hash. */
export type Forgotten = { readonly user: number } | CallerCredential;

interface CredentialCache {
  /** The credential's caller. @param verify called if it is not remembered @throws what `verify` throws */
  caller(digest: string, verify: () => Promise<VerifiedCredential>): Promise<ApiCaller>;
  /** Forgets these credentials, and nobody else's. */
  forget(of: Forgotten): void;
}

interface Remembered extends VerifiedCredential {
  /** Monotonic milliseconds. */
  readonly until: number;
}

interface Verifying {
  readonly verified: Promise<VerifiedCredential>;
  /** Credentials forgotten during the verification, which may have read them before. */
  readonly missed: Forgotten[];
}

const rememberedMs = 60_000;
const rememberedMax = 10_000;

export function createCredentialCache({ now, monotonic }: Clock): CredentialCache {
  const remembered = new Map<string, Remembered>();
  const underWay = new Map<string, Verifying>();

  function remember(digest: string, verified: VerifiedCredential): void {
    const [oldest] = remembered.keys();
    if (remembered.size >= rememberedMax && oldest !== undefined) remembered.delete(oldest);
    remembered.set(digest, { ...verified, until: monotonic() + rememberedMs });
  }

  /**
   * Verifies again if credentials were forgotten meanwhile, because the first verification may have read them before
   * that; callers that have joined since get the new result.
   */
  async function verifyAnew(
    verify: () => Promise<VerifiedCredential>,
    missed: Forgotten[],
  ): Promise<VerifiedCredential> {
    for (;;) {
      const found = await verify();
      if (!missed.some((of) => belongsTo(found, of))) return found;
      missed.length = 0;
    }
  }

  function verifyOnce(digest: string, verify: () => Promise<VerifiedCredential>): Verifying {
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
      for (const [digest, verified] of remembered) if (belongsTo(verified, of)) remembered.delete(digest);
      for (const { missed } of underWay.values()) missed.push(of);
    },
  };
}

function belongsTo({ caller: { userIntID, credential } }: VerifiedCredential, of: Forgotten): boolean {
  if ("user" in of) return userIntID === of.user;
  if ("apiKey" in of) return "apiKey" in credential && credential.apiKey === of.apiKey;
  return "session" in credential && credential.session === of.session;
}
