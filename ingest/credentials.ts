import { equalText } from "../store/secrets.js";
import type { DeviceEntry, Directory } from "./directory.js";

export type Denial = "credentials" | "blocked" | "unavailable";

/**
 * Who connects with this user name and token. One answer for an unknown user and a wrong token; a device that
 * authenticates by certificate never enters by token.
 */
export async function authenticate(
  directory: Directory,
  username: string | undefined,
  token: string | undefined,
): Promise<DeviceEntry | Denial> {
  if (username === undefined || token === undefined) return "credentials";
  let entry: DeviceEntry | undefined;
  try {
    entry = await directory.findByUsername(username);
  } catch {
    return "unavailable";
  }
  // Compared for an unknown user too, so that the time taken tells nothing.
  const right = equalText(token, entry?.device.token ?? "");
  if (entry === undefined || !right || entry.device.authType !== 1) return "credentials";
  return entry.device.blocked === 1 ? "blocked" : entry;
}
