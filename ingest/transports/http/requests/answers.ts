import type { ServerResponse } from "node:http";
import type { PublishRefusal } from "../../../clients/client.js";
import type { Rejected } from "../../../clients/clients.js";

/** The part of a response that answers to devices use. It is `destroyed` once nobody waits for the answer any more. */
export type HttpResponse = Pick<ServerResponse, "writeHead" | "end" | "destroyed" | "once" | "off">;

export interface UplinkAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Releases the bytes that were reserved for it. Absent: none were. */
  readonly release?: () => void;
}

/** Reserves this many bytes for an answer; returns what releases them, or null if the budget is used up now. */
export type TakeAnswerRoom = (bytes: number) => (() => void) | null;

export const noContent: UplinkAnswer = { status: 204 };

const jsonType = "application/json; charset=utf-8";

/** An error in the form of all errors of the interface. */
export function failureAnswer(
  status: number,
  errorCode: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  errors: Readonly<Record<string, string>> = {},
): UplinkAnswer {
  const body = JSON.stringify({ errorCode, message, errors });
  return { status, headers: { "Content-Type": jsonType, ...headers }, body };
}

/** Sends the answer if its bytes can be reserved, because the client may leave it unread; else sends a refusal. */
export function sendAnswer(response: HttpResponse, answer: UplinkAnswer, room: TakeAnswerRoom): void {
  const { body } = answer;
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  const release = answer.release ?? room(bytes);
  if (response.destroyed) return release?.();
  if (release === null) return write(response, unread, Buffer.byteLength(String(unread.body)));
  response.once("close", release);
  write(response, answer, bytes);
}

function write(response: HttpResponse, { status, headers, body }: UplinkAnswer, bytes: number): void {
  if (body === undefined) response.writeHead(status, headers).end();
  else response.writeHead(status, { ...headers, "Content-Length": String(bytes) }).end(body);
}

const soon = { "Retry-After": "5" };
const busy = failureAnswer(503, "SERVICE_UNAVAILABLE", "nothing can be kept now, try again later", soon);

export const refusals: Readonly<Record<PublishRefusal, UplinkAnswer>> = {
  topic: failureAnswer(
    400,
    "PARAMETER_INVALID",
    "no message can be published to this topic",
    {},
    {
      topic: "is empty, has a wildcard or U+0000, or has too many bytes or levels",
    },
  ),
  oversize: failureAnswer(413, "PAYLOAD_TOO_LARGE", "a message may have 262144 bytes"),
  policy: failureAnswer(403, "PERMISSION_DENIED", "the device may not publish to this topic"),
  rate: failureAnswer(429, "TOO_MANY_REQUESTS", "more than the limit of the device or its tenant", {
    "Retry-After": "10",
  }),
  unavailable: busy,
  gone: failureAnswer(401, "AUTH_FAILED", "the credentials of the device have changed"),
};

const basic = { "WWW-Authenticate": 'Basic realm="device", charset="UTF-8"' };
const tooMany = (message: string): UplinkAnswer =>
  failureAnswer(429, "TOO_MANY_REQUESTS", message, { "Retry-After": "10" });

/** Sent instead of an answer whose bytes cannot be reserved. */
export const unread = tooMany("answers to the tenant that are not read hold all that they may");

export const turnedAway: Readonly<Record<Rejected["reason"], UplinkAnswer>> = {
  credentials: failureAnswer(401, "AUTH_FAILED", "the user name or the token of the device is wrong", basic, {
    token: "is missing or wrong, or the user name is",
  }),
  user_name: failureAnswer(401, "AUTH_FAILED", "the certificate is bound to several devices", basic, {
    username: "must say which of the devices of the certificate it is",
  }),
  back_off: tooMany("too many wrong credentials from this address"),
  blocked: failureAnswer(403, "PERMISSION_DENIED", "the device is blocked"),
  unavailable: busy,
  sessions: tooMany("the device has too many clients"),
  connections: tooMany("the device or its tenant has as many clients as it may"),
  room: tooMany("the tenant has as many clients as there is room for"),
};
