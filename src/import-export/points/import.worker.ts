import { parentPort, workerData } from "node:worker_threads";
import { storedZone } from "../../../query/zone.js";
import { FormatError } from "../format-error.js";
import type { ReadBatch } from "./batch-builder.js";
import type { FromImport, ImportStart, ToImport } from "./import-messages.js";
import { localTimeIn } from "./local-time.js";
import { type FilePosition, readHistory } from "./read-history.js";
import type { TargetAnswer } from "./row-taker.js";

/** Reads one history file in its own thread, because parsing keeps a core busy for minutes. */

const batchesMax = 3;
const { file, position, bounds, timezone } = workerData as ImportStart;
const port = parentPort;
if (port === null) throw new Error("import.worker runs in a worker thread only");

const post = (message: FromImport, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);
let under = 0;
let wakeWriter: () => void = () => undefined;
let wakeAnswer: (answers: readonly TargetAnswer[]) => void = () => undefined;
let wakeReset: () => void = () => undefined;

port.on("message", (message: ToImport) => {
  if (message.kind === "resolved") wakeAnswer(message.answers);
  else if (message.kind === "reset") wakeReset();
  else {
    under--;
    wakeWriter();
  }
});

const listBuffers = ({ targetAt, times, values, lines }: ReadBatch): ArrayBuffer[] =>
  [targetAt, times, values, lines].map((column) => column.buffer as ArrayBuffer);

try {
  await readHistory(
    file,
    position,
    { local: localTimeIn(storedZone(timezone)), bounds },
    {
      resolve: (names) =>
        new Promise((resolve) => {
          wakeAnswer = resolve;
          post({ kind: "resolve", names });
        }),
      batch: async (batch: ReadBatch, reached: FilePosition) => {
        under++;
        post({ kind: "batch", batch, position: reached }, listBuffers(batch));
        while (under >= batchesMax) {
          await new Promise<void>((resolve) => {
            wakeWriter = resolve;
          });
        }
      },
      reset: () =>
        new Promise((resolve) => {
          wakeReset = resolve;
          post({ kind: "reset" });
        }),
    },
  );
  post({ kind: "end" });
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  post({ kind: "failed", message, format: error instanceof FormatError });
} finally {
  port.close();
}
