import type { DeviceEntry } from "../directory/entries.js";
import type { Denied } from "./credentials.js";
import type { GuessBackOff } from "./guess-back-off.js";
import type { VerifiedLogins } from "./verified-logins.js";

/** More than the sessions that one device may open at once from one address. */
export const freeLoginFailures = 10;

/** What slows guessing down. */
export interface GuessGuard {
  readonly backOff: GuessBackOff;
  /** User names with the tokens that were right. */
  readonly proven: VerifiedLogins;
}

/** A client that tries to authenticate: its address, and what it has sent. */
interface Comer {
  readonly address: string;
  readonly username: string | undefined;
  readonly token: string | undefined;
}

/**
 * Refuses attempts from an address under a user name that has been wrong too often; a success clears it. A
 * certificate, and a token that was right before, are still accepted: neither is a guess.
 */
export async function guardGuessing(
  { backOff, proven }: GuessGuard,
  { address, username = "", token = "" }: Comer,
  hasCertificate: boolean,
  check: () => Promise<DeviceEntry | Denied>,
): Promise<DeviceEntry | Denied> {
  if (backOff.attempt(address, username) > 0) {
    const isKnown = proven.has(username, token);
    if (!isKnown && !hasCertificate) return waits;
    const found = await check();
    if ("denial" in found) return found.denial === "credentials" ? waits : found;
    return isKnown || found.device.authType === 2 ? found : waits;
  }
  const found = await check();
  const denial = "denial" in found ? found.denial : null;
  if (denial === "unavailable" || denial === "user_name") backOff.undecided(address, username);
  else if (denial !== "credentials") backOff.succeeded(address, username);
  if (!("denial" in found) && found.device.authType !== 2) proven.add(username, token);
  return found;
}

const waits: Denied = { denial: "back_off", device: null };
