/** Server-Sent Events, as far as our streams need a client of them. */

/** Its fields; undefined for one that it does not have. */
interface SentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
}

export interface EventStream {
  readonly status: number;
  readonly headers: Headers;
  /** All that has come. */
  readonly text: string;
  readonly ended: boolean;
  close(): void;
}

/** @param last the id of the event that was seen last */
export async function openEventStream(
  url: string,
  { key, last }: { readonly key: string; readonly last?: string | undefined },
  onEvent: (event: SentEvent) => void,
): Promise<EventStream> {
  const abort = new AbortController();
  const { status, headers, body } = await fetch(url, {
    headers: {
      Authorization: `Bearer ${key}`,
      Accept: "text/event-stream",
      ...(last === undefined ? {} : { "Last-Event-ID": last }),
    },
    signal: abort.signal,
  });
  let text = "";
  let ended = false;
  let read = 0;
  const take = () => {
    for (let end = text.indexOf("\n\n", read); end >= 0; end = text.indexOf("\n\n", read)) {
      const lines = text.slice(read, end).split("\n");
      read = end + 2;
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      onEvent({ id: field("id"), event: field("event"), data: field("data") });
    }
  };
  void (async () => {
    try {
      for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        take();
      }
    } catch {
      // Closed by the test.
    }
    ended = true;
  })();
  return {
    status,
    headers,
    get text() {
      return text;
    },
    get ended() {
      return ended;
    },
    close: () => abort.abort(),
  };
}
