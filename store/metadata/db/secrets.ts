import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from "node:crypto";
import { StoreError } from "../../lib/errors.js";
import { createFairQueue } from "../../lib/fair-queue.js";

/** Encrypts secrets that the interface must be able to read back: device tokens and private keys. */
export interface Vault {
  /** `place`: where the value is kept (`placeOf`). It opens nowhere else. */
  seal(plain: string, place: string): Uint8Array;
  /** @throws StoreError CORRUPT if another key sealed it, or for another place */
  open(sealed: Uint8Array, place: string): string;
  /** Opens a value of the first form, which names no place. @throws StoreError CORRUPT if another key sealed it */
  openUnplaced(sealed: Uint8Array): string;
}

/** The sealed values, by table and column or by file. */
export type SealedColumn =
  | "device.token"
  | "device.lora"
  | "cert.key"
  | "contact_point.secrets"
  | "authority.key"
  | "sealing.keyCheck"
  | "server-certificate.json";

/**
 * The place of a sealed value. Without it, somebody who may write the database, and has no master key, could give a
 * record the secret of another.
 * @param tenant the record's; null if it is nobody's @param owner what identifies the record, and never changes
 */
export const formatPlace = (column: SealedColumn, tenant: number | null, owner: string | number): string =>
  JSON.stringify([column, tenant, owner]);

const nonceBytes = 12;
const tagBytes = 16;

/** The number of the sealed form, its first byte. The first form had none. */
const sealedForm = 2;

/**
 * AES-256-GCM; the sealed form is its number, nonce, tag, cipher text, with the place as associated data. `masterKey`
 * is 32 bytes. `onRefused` is called with the place of each value that does not open there.
 */
export function createVault(
  masterKey: Uint8Array,
  onRefused: (place: string) => void = () => undefined,
): Vault {
  function decrypt(bytes: Buffer, place: string | null): string {
    const nonce = bytes.subarray(0, nonceBytes);
    const decipher = createDecipheriv("aes-256-gcm", masterKey, nonce, { authTagLength: tagBytes });
    if (place !== null) decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const body = decipher.update(bytes.subarray(nonceBytes + tagBytes));
    return Buffer.concat([body, decipher.final()]).toString("utf8");
  }

  return {
    seal: (plain, place) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", masterKey, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([Uint8Array.of(sealedForm), nonce, cipher.getAuthTag(), body]);
    },
    open: (sealed, place) => {
      try {
        if (sealed[0] !== sealedForm) throw new Error("another form");
        return decrypt(Buffer.from(sealed).subarray(1), place);
      } catch {
        onRefused(place);
        throw notOpened("MASTER_KEY is not the one that sealed it, or it was sealed for another record");
      }
    },
    openUnplaced: (sealed) => {
      try {
        return decrypt(Buffer.from(sealed), null);
      } catch {
        throw notOpened("MASTER_KEY is not the one that sealed it");
      }
    },
  };
}

const notOpened = (why: string): StoreError =>
  new StoreError("CORRUPT", `cannot open a sealed secret: ${why}`);

/** For generated secrets of at least 128 random bits; a slow hash would add nothing. */
export function hashGenerated(secret: string): string {
  return `sha256:${createHash("sha256").update(secret).digest("base64url")}`;
}

/**
 * For passwords and secrets that a person chose: scrypt, N 2^15, r 8, p 1.
 *
 * @param fairnessKey the address or tenant that it is done for: each has turns of its own
 * @throws StoreError UNAVAILABLE if too many wait
 */
export async function hashChosen(secret: string, fairnessKey = ownWork): Promise<string> {
  const salt = randomBytes(16);
  return `scrypt:${salt.toString("base64url")}:${(await stretch(secret, salt, fairnessKey)).toString("base64url")}`;
}

/** Whether verifying a secret against the hash takes a tenth of a second and 32 MiB. */
export function isSlow(hash: string): boolean {
  return hash.startsWith("scrypt:");
}

/**
 * @param fairnessKey as for `hashChosen`, for a slow hash
 * @throws StoreError UNAVAILABLE if too many wait
 */
export async function verifySecret(secret: string, hash: string, fairnessKey = ownWork): Promise<boolean> {
  const [kind, salt, digest] = hash.split(":");
  if (kind === "sha256") return equalText(hashGenerated(secret), hash);
  if (kind !== "scrypt" || salt === undefined || digest === undefined) return false;
  const actual = await stretch(secret, Buffer.from(salt, "base64url"), fairnessKey);
  return equalText(actual.toString("base64url"), digest);
}

/** Compares in constant time, whatever the lengths. */
export function equalText(left: string, right: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/**
 * Slow hashes under way and waiting. They run one at a time: scrypt takes 32 MiB and a thread of the pool that the
 * journal's writes need too.
 */
const stretches = createFairQueue(64);

/** The fairness key of hashes that the service itself needs, at a start. */
const ownWork = "";

function stretch(secret: string, salt: Uint8Array, fairnessKey: string): Promise<Buffer> {
  return stretches.run(fairnessKey, () => stretchNow(secret, salt));
}

function stretchNow(secret: string, salt: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
