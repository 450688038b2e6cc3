/** The live stream of the tenant: named events, as they come. */

interface LiveHandlers {
  onState(isConnected: boolean): void;
  /** Something was missed: what is shown must be asked for again. */
  onGap?(): void;
  onEvent(name: LiveEvent, data: unknown): void;
}

const events = ["points", "message", "skipped"] as const;
type LiveEvent = (typeof events)[number];

/** @returns what ends it */
export function watchLive(query: Readonly<Record<string, string>>, handlers: LiveHandlers): () => void {
  const source = new EventSource(`/api/v1/live?${new URLSearchParams(query)}`);
  source.onopen = () => handlers.onState(true);
  source.onerror = () => handlers.onState(false);
  source.addEventListener("gap", () => handlers.onGap?.());
  for (const name of events)
    source.addEventListener(name, ({ data }: MessageEvent<string>) =>
      handlers.onEvent(name, JSON.parse(data)),
    );
  return () => source.close();
}
