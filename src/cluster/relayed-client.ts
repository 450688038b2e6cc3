/**
 * A client as one node describes it to another: JSON, in a header of its request, or of the stream that carries its
 * bytes.
 */
import { z } from "@hono/zod-openapi";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";

/** Believed on links of the cluster alone. */
export const clientHeader = "tidemark-client";

const form = z.strictObject({
  address: z.string().max(64),
  isSecure: z.boolean(),
  certificate: z
    .strictObject({
      fingerprint: z.string().max(128),
      validFrom: z.number(),
      validTo: z.number(),
    })
    .nullable(),
});

export function writeClient({ address, isSecure, certificate }: RelayedClient): string {
  return JSON.stringify({ address, isSecure, certificate });
}

/** @throws Error if the text describes no client */
export function readClient(text: string): RelayedClient {
  return form.parse(JSON.parse(text));
}
