import type { Config } from "../config/config.js";

/** The user name and password with which Tidemark connects to the broker, if it has them. */
export function ownCredentials({ broker }: Config): { username: string; password: string } | null {
  const { username = null, password = null } = broker ?? {};
  return username === null || password === null ? null : { username, password };
}
