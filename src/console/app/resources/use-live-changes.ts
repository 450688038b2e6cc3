/** Queries a list again when a live event of its kind arrives: at once, and then once a second while more arrive. */
import { useEffect, useRef } from "preact/hooks";
import { useLive } from "../live/live.js";
import type { Resource } from "./resources.js";

const restMs = 1000;

export function useLiveChanges(
  { liveKind: told }: Resource,
  deviceID: string | undefined,
  again: () => void,
): void {
  const rest = useRef<{ timer: ReturnType<typeof setTimeout>; isWanted: boolean } | null>(null);
  const newest = useRef(again);
  newest.current = again;
  function ask(): void {
    if (rest.current !== null) {
      rest.current.isWanted = true;
      return;
    }
    newest.current();
    const timer = setTimeout(() => {
      const isWanted = rest.current?.isWanted === true;
      rest.current = null;
      if (isWanted) ask();
    }, restMs);
    rest.current = { timer, isWanted: false };
  }
  useEffect(() => () => clearTimeout(rest.current?.timer), []);
  const isLive = useLive({
    devices: deviceID === undefined ? null : [deviceID],
    ...(told === "alerts" ? { onAlerts: ask } : {}),
    ...(told === "commands" ? { onCommands: ask } : {}),
  });
  // Fetches what has come between the query and the begin of the stream.
  useEffect(() => {
    if (isLive) ask();
  }, [isLive]);
}
