/** Streams of GET /live, as a client reads them. */
import { until } from "../suite.js";

interface Told {
  readonly event: string;
  readonly data: Record<string, unknown> | readonly Record<string, unknown>[];
}

export interface LiveStream {
  readonly status: number;
  readonly headers: Headers;
  readonly events: Told[];
  /** The last id, as a client of Server-Sent Events would send it. */
  readonly lastID: string;
  readonly ended: boolean;
  readonly text: string;
  close(): void;
}

/** @param last the id of the event that was seen last */
export async function openLiveStream(
  http: string,
  key: string,
  query: string,
  last?: string,
): Promise<LiveStream> {
  const abort = new AbortController();
  const response = await fetch(`${http}/api/v1/live?${query}`, {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(last === undefined ? {} : { "Last-Event-ID": last }),
    },
    signal: abort.signal,
  });
  const stream = {
    status: response.status,
    headers: response.headers,
    events: [] as Told[],
    lastID: "",
    ended: false,
    text: "",
    close: () => abort.abort(),
  };
  let read = 0;
  const take = () => {
    for (let end = stream.text.indexOf("\n\n", read); end >= 0; end = stream.text.indexOf("\n\n", read)) {
      const lines = stream.text.slice(read, end).split("\n");
      read = end + 2;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      stream.lastID = field("id") ?? stream.lastID;
      const data = field("data");
      if (data !== undefined) stream.events.push({ event: field("event") ?? "", data: JSON.parse(data) });
    }
  };
  void (async () => {
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        stream.text += chunk;
        take();
      }
    } catch {
      // Closed by the test.
    }
    stream.ended = true;
  })();
  return stream;
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
