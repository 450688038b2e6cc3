/** The script of the worker that all windows of a browser share. */
import { createHub, type Window } from "./hub.js";
import type { FromWindow } from "./protocol.js";

/** A browser has six connections to a host, for all of its windows: streams must leave some to the rest. */
const hub = createHub(2);

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const window: Window = { tell: (message) => port.postMessage(message) };
  port.onmessage = ({ data }: MessageEvent<FromWindow>) => hub.hear(window, data);
});
