import { createHmac, randomBytes } from "node:crypto";
import { equalText, isSlow, verifySecret } from "../../store/metadata/db/secrets.js";

/** Secrets that were right before, under a keyed hash in memory, so that they need no slow hash again. */
export interface SlowSecrets {
  /** Whether it is the secret that was right for that slow hash; undefined where none has been yet. */
  recall(secret: string, hash: string): boolean | undefined;
  /**
   * Whether it is right, by the slow hash.
   *
   * @param payer who waits for it, for its share of the queue
   * @throws StoreError UNAVAILABLE when too many wait
   */
  verify(secret: string, hash: string, payer: string): Promise<boolean>;
  /** Adds a secret that is known to be right without having been verified. */
  add(secret: string, hash: string): void;
}

const provenMax = 10_000;

export function createSlowSecrets(): SlowSecrets {
  const processKey = randomBytes(32);
  const keyed = (text: string) => createHmac("sha256", processKey).update(text).digest("base64");
  /** Slow hash → keyed hash of the secret that it was found to be of. */
  const proven = new Map<string, string>();

  function add(secret: string, hash: string): void {
    const [oldest] = proven.keys();
    if (proven.size >= provenMax && oldest !== undefined) proven.delete(oldest);
    proven.set(hash, keyed(secret));
  }

  return {
    recall: (secret, hash) => {
      const known = proven.get(hash);
      return known === undefined ? undefined : equalText(known, keyed(secret));
    },
    verify: async (secret, hash, payer) => {
      const right = await verifySecret(secret, hash, payer);
      if (right && isSlow(hash)) add(secret, hash);
      return right;
    },
    add,
  };
}
