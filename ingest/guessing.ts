import type { BackOff } from "./back-off.js";
import type { Denied } from "./credentials.js";
import type { DeviceEntry } from "./directory-entries.js";

/** More than the sessions that one device may open at once from one address. */
export const freeFailures = 10;

/** Refuses what comes from an address under a user name that has been wrong too often; a success clears it. */
export async function guardGuessing(
  backOff: BackOff,
  address: string,
  username: string | undefined,
  check: () => Promise<DeviceEntry | Denied>,
): Promise<DeviceEntry | Denied> {
  const key = `${address} ${username ?? ""}`;
  if (backOff.attempt(key) > 0) return { denial: "back_off", device: null };
  const found = await check();
  const denial = "denial" in found ? found.denial : null;
  if (denial === "unavailable") backOff.undecided(key);
  else if (denial !== "credentials") backOff.succeeded(key);
  return found;
}
