import { randomBytes, randomInt, randomUUID } from "node:crypto";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** Six characters of [0-9A-Za-z], at least one of them a letter, so that it never reads as a record id. */
export function shortID(): string {
  for (;;) {
    const id = randomText(6);
    if (/[A-Za-z]/.test(id)) return id;
  }
}

/** `C` and eight characters. */
export function newTenantID(): string {
  return `C${randomText(8)}`;
}

/** 36 characters, for deviceID, deviceUsername and token. */
export function longID(): string {
  return randomUUID();
}

/** 192 random bits as a text that fits into a header. */
export function newSecret(): string {
  return randomBytes(24).toString("base64url");
}
