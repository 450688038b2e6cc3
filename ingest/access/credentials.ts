import { hasControls } from "../../store/lib/control-characters.js";
import { equalText } from "../../store/metadata/db/secrets.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";

/** A client certificate whose key the client holds, as TLS has verified; dates are milliseconds since 1970. */
export interface ClientCertificate {
  /** SHA-256 of its DER, in hexadecimal. */
  readonly fingerprint: string;
  readonly validFrom: number;
  readonly validTo: number;
}

/** The identity that a client claims, and its credentials. */
interface Proof {
  /** Empty if it gave none, and its certificate says which device it is. */
  readonly username: string;
  /** Empty if it gave none. */
  readonly token: string;
  /** Null on listeners that ask for none. */
  readonly certificate: ClientCertificate | null;
}

/** Why a client may not connect, and as which device it tried: null for a user name that nobody has. */
export interface Denied {
  readonly denial: "credentials" | "user_name" | "back_off" | "blocked" | "unavailable";
  readonly device: DeviceEntry | null;
}

/** Whether the client says who it is; a user name of no characters does not. */
export const hasUsername = (username: string | undefined): username is string =>
  username !== undefined && username !== "";

/**
 * Finds the device that a client claims to be, before authentication: by its user name, or, without one, by a
 * certificate that is bound to exactly one device. "several": the certificate is bound to more.
 */
export async function findClaimed(
  directory: Pick<Directory, "findByUsername" | "findByCertificate">,
  username: string | undefined,
  certificate: Proof["certificate"],
): Promise<DeviceEntry | "several" | undefined> {
  if (!hasUsername(username))
    return certificate === null ? undefined : directory.findByCertificate(certificate.fingerprint);
  return hasControls(username) ? undefined : directory.findByUsername(username);
}

/**
 * Finds the device that these credentials authenticate. An unknown user and a wrong token have the same answer. A
 * device of authType 1 enters by token at every listener, one of authType 2 only by a certificate bound to it. A
 * certificate that is disabled or not valid now is refused, whatever else comes with it.
 */
export async function authenticateDevice(
  directory: Directory,
  username: string | undefined,
  { token, certificate }: { readonly token: string | undefined; readonly certificate: Proof["certificate"] },
  now: number,
  isDisabled: (fingerprint: string) => Promise<boolean>,
): Promise<DeviceEntry | Denied> {
  let entry: DeviceEntry | undefined;
  let disabled = false;
  try {
    const claimed = await findClaimed(directory, username, certificate);
    if (claimed === "several") return { denial: "user_name", device: null };
    entry = claimed;
    // What authType 2 needs is among the device's own.
    if (certificate !== null && entry?.device.authType === 1)
      disabled = await isDisabled(certificate.fingerprint);
  } catch {
    return { denial: "unavailable", device: null };
  }
  // Compared for an unknown user too, so that the time taken reveals nothing.
  const right = equalText(token ?? "", entry?.device.token ?? "") && token !== undefined;
  const valid = certificate === null || (!disabled && isValidAt(certificate, now));
  if (entry === undefined || !valid || !(right || entry.device.authType === 2) || !fits(entry, certificate)) {
    return { denial: "credentials", device: entry ?? null };
  }
  return entry.device.blocked === 1 ? { denial: "blocked", device: entry } : entry;
}

/** Whether a client that entered by this proof may stay, now that the device is as it is; its dates apart. */
export function isEntitled(entry: DeviceEntry, { username, token, certificate }: Proof): boolean {
  const { device } = entry;
  const isAnother = hasUsername(username) && device.deviceUsername !== username;
  if (device.blocked === 1 || isAnother || !fits(entry, certificate)) return false;
  return device.authType === 2 || device.token === token;
}

export function isValidAt({ validFrom, validTo }: ClientCertificate, now: number): boolean {
  return validFrom <= now && now < validTo;
}

/** Whether the device may enter this way: by a certificate that is bound to it and enabled, or by token. */
function fits({ device, certificates }: DeviceEntry, certificate: ClientCertificate | null): boolean {
  if (device.authType !== 2) return device.authType === 1;
  if (certificate === null) return false;
  for (const fingerprint of certificates.values()) if (fingerprint === certificate.fingerprint) return true;
  return false;
}
