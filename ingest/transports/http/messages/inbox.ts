import type { Polled } from "../../../clients/polled-inbox.js";
import { failureAnswer, noContent, refusals, type UplinkAnswer } from "../requests/answers.js";
import type { DeviceRequest } from "../requests/device-request.js";

/** Shorter than proxies and clients usually wait for an answer. */
const waitSecondsMax = 55;

/** GET /api/v1/inbox: the oldest message that waits for the device. */
export async function fetchMessage(request: DeviceRequest): Promise<UplinkAnswer | undefined> {
  const waitS = waitSeconds(request.query);
  if (typeof waitS !== "number") return waitS;
  return messageAnswer(await firstMessage(request, waitS));
}

/** DELETE /api/v1/inbox/{id}: the receipt of a message. */
export async function confirmMessage(request: DeviceRequest, id: string): Promise<UplinkAnswer> {
  const { client } = request;
  if (!client.link.confirm(id)) {
    return failureAnswer(404, "DATA_NOT_FOUND", "no such message waits: it is settled, or its time was over");
  }
  return (await request.kept()) === "kept" ? noContent : refusals.unavailable;
}

/** The `wait` of a request, 0 without one, or an answer that says what is wrong with it. */
export function waitSeconds(query: URLSearchParams): number | UplinkAnswer {
  const text = query.get("wait") ?? "0";
  const seconds = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= waitSecondsMax) return seconds;
  return failureAnswer(
    400,
    "PARAMETER_INVALID",
    "wait is not valid",
    {},
    {
      wait: `must be whole seconds from 0 to ${waitSecondsMax}`,
    },
  );
}

/** The first message, at once or within the time; null if none comes. */
export function firstMessage({ client, response }: DeviceRequest, waitS: number): Promise<Polled | null> {
  // A message handed to nobody would keep a poll that waits from it.
  if (response.destroyed) return Promise.resolve(null);
  client.heard();
  const { link } = client;
  const first = link.first();
  if (first !== null || waitS === 0) return Promise.resolve(first);
  return new Promise((resolve) => {
    const finish = (message: Polled | null): void => {
      clearTimeout(timer);
      response.off("close", giveUp);
      cancel();
      client.heard();
      resolve(message);
    };
    const giveUp = (): void => finish(null);
    const cancel = link.wait(finish);
    const timer = setTimeout(giveUp, waitS * 1000);
    response.once("close", giveUp);
  });
}

export function messageAnswer(message: Polled | null): UplinkAnswer {
  if (message === null) return noContent;
  const { topic, payload, contentType, id } = message;
  return {
    status: 200,
    headers: {
      "Content-Type":
        contentType !== null && isHeaderText(contentType) ? contentType : "application/octet-stream",
      // A header holds no other characters; a topic may.
      Topic: encodeURI(topic),
      ...(id === null ? {} : { "Message-Id": id }),
      "Cache-Control": "no-store",
    },
    body: payload,
  };
}

function isHeaderText(text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text);
}
