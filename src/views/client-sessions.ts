import { z } from "@hono/zod-openapi";
import type { ClientSession } from "../../ingest/sessions/client-sessions.js";
import { protocols } from "../../ingest/sessions/connections.js";
import { intSchema, stampOrNull, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const clientSessionSchema = z
  .object({
    clientID: z.string(),
    protocol: z
      .enum(protocols)
      .nullable()
      .openapi({ description: "mqtt3 is MQTT 3.1, mqtt4 is 3.1.1; null while the client is away" }),
    isConnected: z.boolean(),
    IP: textOrNull.openapi({ description: "of the connection, or the last one" }),
    connectedAt: stampOrNull.openapi({ description: "null while the client is away" }),
    keepAlive: intSchema.openapi({ description: "seconds, of the connection or the last one" }),
    sessionExpiry: intSchema.openapi({ description: "seconds that the session outlives its connection" }),
    subscriptionCount: intSchema.openapi({ description: "topic filters, without the inbox" }),
    queuedMessages: intSchema.openapi({ description: "of QoS 1 and 2, not acknowledged" }),
    queuedBytes: intSchema,
    inflight: intSchema.openapi({ description: "those of them that the connected client has been handed" }),
  })
  .openapi("Session");

export function clientSessionView(
  { ip, connectedAt, ...session }: ClientSession,
  { stamp }: Stamped,
): object {
  const { clientID, protocol, isConnected, ...figures } = session;
  return { clientID, protocol, isConnected, IP: ip, connectedAt: stamp(connectedAt), ...figures };
}
