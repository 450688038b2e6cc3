import { createHmac, randomBytes } from "node:crypto";
import { equalText, isSlow, verifySecret } from "../../store/metadata/db/secrets.js";

/** Secrets found right before, kept in memory under a keyed hash, so that they need no slow hash again. */
export interface SlowSecrets {
  /** Whether it is the secret found right for that slow hash; undefined if none has been yet. */
  recall(secret: string, hash: string): boolean | undefined;
  /**
   * Whether the secret is right, checked by the slow hash.
   *
   * @param fairnessKey the caller that waits for it, for its share of the queue
   * @throws StoreError UNAVAILABLE if too many wait
   */
  verify(secret: string, hash: string, fairnessKey: string): Promise<boolean>;
  /** Adds a secret that is known to be right without having been verified. */
  add(secret: string, hash: string): void;
}

const verifiedMax = 10_000;

export function createSlowSecrets(): SlowSecrets {
  const processKey = randomBytes(32);
  const keyed = (text: string) => createHmac("sha256", processKey).update(text).digest("base64");
  /** Slow hash → keyed hash of the secret found right for it. */
  const verified = new Map<string, string>();

  function add(secret: string, hash: string): void {
    const [oldest] = verified.keys();
    if (verified.size >= verifiedMax && oldest !== undefined) verified.delete(oldest);
    verified.set(hash, keyed(secret));
  }

  return {
    recall: (secret, hash) => {
      const known = verified.get(hash);
      return known === undefined ? undefined : equalText(known, keyed(secret));
    },
    verify: async (secret, hash, fairnessKey) => {
      const right = await verifySecret(secret, hash, fairnessKey);
      if (right && isSlow(hash)) add(secret, hash);
      return right;
    },
    add,
  };
}
