/** New points of a device as they come, by Server-Sent Events; the browser's own source reconnects by itself. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Milliseconds since 1970; the newest of a data point, by its dataPointID. */
export interface NewestPoint {
  readonly time: number;
  readonly value: unknown;
}

interface LiveValues {
  readonly values: ReadonlyMap<string, NewestPoint>;
  readonly isConnected: boolean;
}

/** How often what has come is shown. */
const showEveryMs = 250;

/** @param path of the feed, below /api/v1; null: none */
export function useLiveValues(path: string | null): LiveValues {
  const state = useSignal<LiveValues>({ values: new Map(), isConnected: false });
  useEffect(() => {
    if (path === null) return;
    const source = new EventSource(`/api/v1${path}`);
    const values = new Map<string, NewestPoint>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (isConnected = source.readyState === EventSource.OPEN): void => {
      clearTimeout(timer);
      timer = undefined;
      state.value = { values: new Map(values), isConnected };
    };
    source.onopen = () => show(true);
    source.onerror = () => show(false);
    source.onmessage = ({ data }: MessageEvent<string>) => {
      const { dataPointID, time, value } = JSON.parse(data) as NewestPoint & { readonly dataPointID: string };
      const known = values.get(dataPointID);
      // Late points are told of too: what is shown is the newest.
      if (known === undefined || known.time <= time) values.set(dataPointID, { time, value });
      timer ??= setTimeout(show, showEveryMs);
    };
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [path]);
  return state.value;
}
