import { type ClientCertificate, type Denied, isEntitled } from "../access/credentials.js";
import type { Denials } from "../access/denials.js";
import { Elsewhere } from "../directory/by-shard.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { EndReason } from "../meter.js";
import type { Accept } from "../uplinks/accept.js";

/** What a client shows of itself. */
export interface Credentials {
  readonly username: string | undefined;
  readonly token: string | undefined;
  readonly certificate: ClientCertificate | null;
}

export type Authenticate = (
  username: string | undefined,
  token: string | undefined,
  certificate: ClientCertificate | null,
  address: string,
) => Promise<DeviceEntry | Denied>;

/** Why a client is not let in. */
export type Rejection = Denied["denial"] | Extract<EndReason, "sessions" | "connections" | "room">;

interface Attempt {
  readonly credentials: Credentials;
  readonly ip: string;
  readonly clientID: string;
  /** Seconds. */
  readonly keepAlive: number;
  /** Whether the client has not gone, nor been ended, since it asked. */
  isWaiting(): boolean;
}

interface IdentifyDeps<Context> {
  readonly authenticate: Authenticate;
  readonly denials: Denials;
  /** Whether none of the shards that are here takes anything now. */
  readonly takesNothing: () => boolean;
  /** The context of the device's shard. */
  contextOf(device: DeviceEntry): Promise<Context | Elsewhere>;
}

interface Identified<Context> {
  readonly entry: DeviceEntry;
  readonly context: Context;
}

/**
 * Authenticates a client, of whatever transport, and finds its shard. Else the reason for which it is rejected; null if
 * it has gone. `AdmittedClient.enter` then counts it against the limits.
 */
export async function identify<Context extends object>(
  { authenticate, denials, contextOf, takesNothing }: IdentifyDeps<Context>,
  { credentials, ip, clientID, keepAlive, isWaiting }: Attempt,
): Promise<Identified<Context> | Rejection | null> {
  if (takesNothing()) return "unavailable";
  const { username, token, certificate } = credentials;
  const found = await authenticate(username, token, certificate, ip);
  if (!isWaiting()) return null;
  if ("denial" in found) {
    if (found.device !== null) denials.add(found.device, ip, clientID, keepAlive);
    return found.denial;
  }
  const context = await contextOf(found);
  // The device has just got another parent: the client's next attempt goes to the other node.
  return context instanceof Elsewhere ? "unavailable" : { entry: found, context };
}

/** Why an authenticated client may not come in after all. */
export function findLateRejection(
  accept: Pick<Accept, "full">,
  entry: DeviceEntry,
  shown: Parameters<typeof isEntitled>[1],
): "unavailable" | "credentials" | null {
  if (accept.full) return "unavailable";
  // A change that came since the credentials were compared has found no connection to end.
  return isEntitled(entry, shown) ? null : "credentials";
}
