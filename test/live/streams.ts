/** Streams of GET /live, as a client reads them. */
import { type EventStream, openEventStream } from "../event-stream.js";
import { until } from "../suite.js";

interface Told {
  readonly event: string;
  readonly data: Record<string, unknown> | readonly Record<string, unknown>[];
}

export interface LiveStream extends EventStream {
  readonly events: readonly Told[];
  /** The last id, as a client of Server-Sent Events would send it. */
  readonly lastID: string;
}

/** @param last the id of the event that was seen last */
export async function openLiveStream(
  http: string,
  key: string,
  query: string,
  last?: string,
): Promise<LiveStream> {
  const events: Told[] = [];
  let lastID = "";
  const stream = await openEventStream(`${http}/api/v1/live?${query}`, { key, last }, (sent) => {
    lastID = sent.id ?? lastID;
    if (sent.data !== undefined) events.push({ event: sent.event ?? "", data: JSON.parse(sent.data) });
  });
  // Its state is in getters, which a spread would freeze.
  return Object.create(stream, {
    events: { value: events },
    lastID: { get: () => lastID },
  }) as LiveStream;
}

export const named = (stream: LiveStream, event: string) =>
  stream.events.filter((one) => one.event === event).map(({ data }) => data as Record<string, unknown>);
export const arrived = (stream: LiveStream, event: string, count: number) =>
  until(() => named(stream, event).length >= count && named(stream, event), {
    what: `${count} of ${event}, have ${JSON.stringify(stream.events).slice(0, 500)}`,
  });
export const pointsOf = (stream: LiveStream) =>
  stream.events.flatMap(({ event, data }) =>
    event === "points" ? (data as readonly Record<string, unknown>[]) : [],
  );
export const pointsArrived = (stream: LiveStream, count: number) =>
  until(() => pointsOf(stream).length >= count && pointsOf(stream), {
    what: `${count} points, have ${pointsOf(stream).length}`,
  });
