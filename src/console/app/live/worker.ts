/**
 * The script of the worker that all windows of a browser share. Where there is no such worker, a window imports it and
 * makes a hub of its own.
 */
import { createHub, type Hub, type Window } from "./hub.js";
import type { FromWindow } from "./protocol.js";

/** A browser has six connections to a host, for all of its windows: streams must leave some to the rest. */
const streamsMax = 2;
let hub: Hub | null = null;

// No window has such an event.
addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const window: Window = { send: (message) => port.postMessage(message) };
  const own = hub ?? createHub(streamsMax);
  hub = own;
  port.onmessage = ({ data }: MessageEvent<FromWindow>) => own.hear(window, data);
});

export { createHub };
