import { createCipheriv, randomBytes } from "node:crypto";

/** As versions before sealed a text: nonce, tag, cipher text of AES-256-GCM, for whatever place. */
export function sealedBefore(key: Uint8Array, plain: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}
