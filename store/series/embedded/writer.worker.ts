import { parentPort, workerData } from "node:worker_threads";
import { serveCalls } from "./calls.js";
import { toSeriesError } from "./failures.js";
import type { Definitions, WriterCalls, WriterEvent, WriterOptions } from "./protocol.js";
import { openWriter } from "./writer.js";

if (parentPort === null) throw new Error("series-writer.worker runs in a worker thread only");
const port = parentPort;
const postEvent = (event: WriterEvent): void => port.postMessage(event);

try {
  const writer = await openWriter(workerData as WriterOptions, {
    onParts: (parts) =>
      postEvent({ event: "parts", parts: parts.map(({ start, stop, path }) => ({ start, stop, path })) }),
    onDamage: (damage) => postEvent({ event: "damage", damage }),
    onGap: (gap) => postEvent({ event: "gap", gap }),
    onCatalogLost: ({ message }) => {
      postEvent({ event: "ended", message });
      // From within: ending a thread from outside, within a call of libSQL, takes the process with it.
      process.exit();
    },
  });
  serveCalls<WriterCalls>(port, writer.handlers, (prelude) => {
    if (prelude !== null) writer.define(prelude as Definitions);
  });
  postEvent({ event: "ready" });
} catch (error) {
  // An error thrown out of a thread would lose its code.
  const { code, message } = toSeriesError(error, "open series store");
  postEvent({ event: "failed", code, message });
}
