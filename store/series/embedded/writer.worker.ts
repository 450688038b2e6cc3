import { parentPort, workerData } from "node:worker_threads";
import { serveCalls } from "./calls.js";
import { asStoreError } from "./failures.js";
import type { Definitions, WriterCalls, WriterEvent, WriterOptions } from "./protocol.js";
import { openWriter } from "./writer.js";

if (parentPort === null) throw new Error("series-writer.worker runs in a worker thread only");
const port = parentPort;
const tell = (event: WriterEvent): void => port.postMessage(event);

try {
  const writer = await openWriter(workerData as WriterOptions, {
    onParts: (parts) =>
      tell({ event: "parts", parts: parts.map(({ start, stop, path }) => ({ start, stop, path })) }),
    onDamage: (damage) => tell({ event: "damage", damage }),
    onGap: (gap) => tell({ event: "gap", gap }),
    onCatalogLost: ({ message }) => {
      tell({ event: "ended", message });
      // From within: ending a thread from outside, within a call of libSQL, takes the process with it.
      process.exit();
    },
  });
  serveCalls<WriterCalls>(port, writer.handlers, (prelude) => {
    if (prelude !== null) writer.define(prelude as Definitions);
  });
  tell({ event: "ready" });
} catch (error) {
  // An error thrown out of a thread would lose its code.
  const { code, message } = asStoreError(error, "open series store");
  tell({ event: "failed", code, message });
}
