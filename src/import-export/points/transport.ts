import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ServiceAddress } from "../../host/service-address.js";

/** Requests of any length to the running service: no timeout, no buffering. */

interface Sent {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

export async function sendRequest(
  service: ServiceAddress,
  method: "GET" | "POST",
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Readable | string | null = null,
): Promise<Sent> {
  const outgoing = request(new URL(path, service.http), {
    method,
    headers: { ...headers, Authorization: service.authorization },
  });
  const answered = new Promise<Sent>((resolve, reject) => {
    outgoing.once("response", (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming });
    });
    outgoing.once("error", reject);
  });
  if (body === null || typeof body === "string") outgoing.end(body ?? undefined);
  // A refusal may come before the whole body is sent; the answer then contains the reason.
  else pipeline(body, outgoing).catch(() => undefined);
  return answered;
}

/** The JSON of an answer. @throws Error with the service's message if it reports a failure */
export async function readJSON<T>({ status, body }: Sent): Promise<T> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const answer = JSON.parse(text) as { message?: string; errors?: object };
  if (status < 300) return answer as T;
  throw new Error(`${answer.message ?? status} ${JSON.stringify(answer.errors ?? {})}`);
}
