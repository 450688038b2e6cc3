import { equalText } from "../store/secrets.js";
import type { DeviceEntry, Directory } from "./directory.js";

/** Why a client may not connect, and as which device it tried: null for a user name that nobody has. */
export interface Denied {
  readonly denial: "credentials" | "back_off" | "blocked" | "unavailable";
  readonly device: DeviceEntry | null;
}

/**
 * Who connects with this user name and token. One answer for an unknown user and a wrong token; a device that
 * authenticates by certificate never enters by token.
 */
export async function authenticate(
  directory: Directory,
  username: string | undefined,
  token: string | undefined,
): Promise<DeviceEntry | Denied> {
  if (username === undefined) return { denial: "credentials", device: null };
  let entry: DeviceEntry | undefined;
  try {
    entry = await directory.findByUsername(username);
  } catch {
    return { denial: "unavailable", device: null };
  }
  // Compared for an unknown user too, so that the time taken tells nothing.
  const right = equalText(token ?? "", entry?.device.token ?? "");
  if (entry === undefined || token === undefined || !right || entry.device.authType !== 1) {
    return { denial: "credentials", device: entry ?? null };
  }
  return entry.device.blocked === 1 ? { denial: "blocked", device: entry } : entry;
}
