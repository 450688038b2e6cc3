import { createHmac } from "node:crypto";
import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { isIP } from "node:net";
import type { AddressGuard } from "./addresses.js";
import {
  delivered,
  failed,
  formatSendError,
  refuseMessage,
  type SendOutcome,
  type SendToContactPoint,
  tidy,
} from "./sending.js";

interface WebhookSettings {
  /** The origin of the address, which is itself a secret. */
  readonly address: string;
  readonly contentType: string;
}

/** Bytes of an answer that are read. */
const answerBytesMax = 4096;

/** Answers that may be others tomorrow; any other 4xx is final. */
const isTransientStatus = (status: number): boolean => status >= 500 || status === 408 || status === 429;

/**
 * The signature of Standard Webhooks 1.0 ("Signature scheme"): HMAC-SHA256 over id, timestamp and body. A secret that
 * begins with `whsec_` is base64, any other is taken as it is.
 */
function signBody(secret: string, id: string, seconds: number, body: string): string {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
}

/** POSTs to an address. Redirects are not followed: they would lead where nobody has looked. */
export function createWebhookSend(guard: AddressGuard, now: () => number): SendToContactPoint {
  return async ({ settings, secrets }, { id, body }, signal) => {
    const { contentType } = settings as unknown as WebhookSettings;
    const target = new URL(secrets.url ?? "");
    const seconds = Math.floor(now() / 1000);
    const all: Record<string, string> = {
      ...(JSON.parse(secrets.headers ?? "{}") as Record<string, string>),
      "Content-Type": contentType,
      "User-Agent": "Tidemark",
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
    };
    if (secrets.secret !== undefined) all["webhook-signature"] = signBody(secrets.secret, id, seconds, body);
    if (secrets.authorization !== undefined) all.Authorization = secrets.authorization;
    try {
      const host = target.hostname.replace(/^\[(.*)\]$/, "$1");
      if (isIP(host) !== 0) await guard.resolve(host, signal);
      return await post({ target, headers: all, body }, guard, signal);
    } catch (error) {
      return failed(formatSendError(error));
    }
  };
}

interface Post {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function post(
  { target, headers, body }: Post,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<SendOutcome> {
  return new Promise((resolve, reject) => {
    const request = target.protocol === "https:" ? requestSecure : requestPlain;
    const bytes = Buffer.from(body);
    const outgoing = request(target, {
      method: "POST",
      headers: { ...headers, "Content-Length": String(bytes.length) },
      lookup: guard.lookup(signal),
      agent: false,
      signal,
    });
    const fail = (): void => reject(new Error("the connection was closed"));
    outgoing.on("error", reject);
    outgoing.on("upgrade", ({ statusCode, statusMessage }, socket) => {
      socket.destroy();
      resolve(refuseMessage(tidy(`${statusCode} ${statusMessage}: another protocol was not asked for`)));
    });
    let isAnswered = false;
    outgoing.on("close", () => {
      if (!isAnswered) fail();
    });
    outgoing.on("response", (response) => {
      isAnswered = true;
      const status = response.statusCode ?? 0;
      const chunks: Buffer[] = [];
      let length = 0;
      const finish = (): void => {
        const text = tidy(Buffer.concat(chunks).toString("utf8").slice(0, answerBytesMax));
        const answer = tidy(`${status} ${response.statusMessage ?? ""} ${text}`);
        outgoing.destroy();
        if (status >= 200 && status < 300) resolve(delivered(answer));
        else if (status >= 300 && status < 400)
          resolve(refuseMessage(`${answer}: redirects are not followed`));
        else resolve(isTransientStatus(status) ? failed(answer) : refuseMessage(answer));
      };
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= answerBytesMax) finish();
      });
      response.on("end", finish);
      response.on("error", reject);
      response.on("close", fail);
    });
    outgoing.end(bytes);
  });
}
