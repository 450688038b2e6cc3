import type { Config } from "../config/config.js";

/** Who Tidemark is at the broker, where it has a password there. */
export function ownCredentials({ broker }: Config): { username: string; password: string } | null {
  const { username = null, password = null } = broker ?? {};
  return username === null || password === null ? null : { username, password };
}
