import { type ClientCertificate, isEntitled } from "../../../access/credentials.js";
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

interface Entitled {
  readonly device: DeviceEntry;
  /** Of its shard, which is here. */
  readonly context: MqttContext;
}

/** Looks at the credentials of a CONNECT. Else than who may come in: why not; null if it waits no more. */
export async function letIn(
  { authenticate, denials, contextOf, takesNothing }: SharedContext,
  { username, token, clientID, keepAlive }: ConnectRequest,
  entrant: Entrant,
): Promise<Entitled | EndReason | null> {
  if (takesNothing()) return "unavailable";
  const { certificate, ip } = entrant;
  const found = await authenticate(username, token, certificate, ip);
  if (!entrant.isWaiting()) return null;
  if ("denial" in found) {
    if (found.device !== null) denials.add(found.device, ip, clientID, keepAlive);
    return found.denial;
  }
  const context = await contextOf(found);
  if (!entrant.isWaiting()) return null;
  // One that has just got another parent: its next CONNECT is passed on.
  if (context instanceof Elsewhere || context.accept.full) return "unavailable";
  // What the feed brought since the answer was given has found no connection to throw out.
  if (!isEntitled(found, { username: username ?? "", token: token ?? "", certificate })) return "credentials";
  return { device: found, context };
}
