/** A client as one node tells another of it: JSON, in a line before its own bytes, or in a header of its request. */

import type { Duplex } from "node:stream";
import { z } from "@hono/zod-openapi";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";

/** Believed on links of the cluster alone. */
export const clientHeader = "tidemark-client";

const lineBytesMax = 1024;
const newline = 10;

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

/** @throws Error if the text tells of no client */
export function readClient(text: string): RelayedClient {
  return form.parse(JSON.parse(text));
}

/** Takes the line from the stream, and leaves what follows it there. @throws Error if none comes or it is not one */
export function takeClient(stream: Duplex, withinMs: number): Promise<RelayedClient> {
  return new Promise((resolve, reject) => {
    const end = (result: () => void): void => {
      clearTimeout(timer);
      stream.off("readable", read);
      stream.off("error", fail);
      stream.off("close", fail);
      result();
    };
    const fail = (): void => end(() => reject(new Error("no client was told of")));
    const timer = setTimeout(fail, withinMs);
    let known: Buffer = Buffer.alloc(0);
    const read = (): void => {
      for (let piece = stream.read(); piece !== null; piece = stream.read()) {
        known = Buffer.concat([known, piece as Buffer]);
        const length = known.indexOf(newline);
        if (length < 0 && known.length <= lineBytesMax) continue;
        if (length < 0 || length > lineBytesMax) return fail();
        try {
          const client = readClient(known.toString("utf8", 0, length));
          return end(() => {
            if (known.length > length + 1) stream.unshift(known.subarray(length + 1));
            resolve(client);
          });
        } catch {
          return fail();
        }
      }
    };
    stream.on("readable", read);
    stream.on("error", fail);
    stream.on("close", fail);
  });
}
