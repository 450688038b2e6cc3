import type { ClientCertificate } from "../../../access/credentials.js";
import { Elsewhere } from "../../../directory/by-shard.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import type { EndReason } from "../../../meter.js";
import type { ConnectRequest } from "../codec/packets.js";
import type { MqttContext, SharedContext } from "./context.js";

/** Who asks to be let in. */
interface Entrant {
  readonly certificate: ClientCertificate | null;
  readonly ip: string;
  /** It has not gone, nor been ended, since it asked. */
  isWaiting(): boolean;
}

interface Identified {
  readonly device: DeviceEntry;
  /** Of its shard, which is here. */
  readonly context: MqttContext;
}

/** Who has sent a CONNECT, by its credentials; else why it may not come in, or null if it has gone meanwhile. */
export async function identify(
  { authenticate, denials, contextOf, takesNothing }: SharedContext,
  { username, token, clientID, keepAlive }: ConnectRequest,
  entrant: Entrant,
): Promise<Identified | EndReason | null> {
  if (takesNothing()) return "unavailable";
  const { certificate, ip } = entrant;
  const found = await authenticate(username, token, certificate, ip);
  if (!entrant.isWaiting()) return null;
  if ("denial" in found) {
    if (found.device !== null) denials.add(found.device, ip, clientID, keepAlive);
    return found.denial;
  }
  const context = await contextOf(found);
  // One that has just got another parent: its next CONNECT is passed on.
  return context instanceof Elsewhere ? "unavailable" : { device: found, context };
}
